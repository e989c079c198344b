package graph

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strconv"
	"time"
)

// bucketTime is how long an address has the same bucket: long enough to see one
// that votes for many, and no longer than voting is open by default.
const bucketTime = 7 * 24 * time.Hour

// buckets conceal addresses from those who look for fraud: of two votes of a
// week they can see whether they came from one address, and not from which. The
// secret is the salt; without one there are no buckets.
type buckets []byte

// of is the bucket of an address now, 12 hex digits: HMAC-SHA256 of the week and
// the address.
func (secret buckets) of(address netip.Addr) string {
	if len(secret) == 0 || !address.IsValid() {
		return ""
	}
	week := time.Now().Unix() / int64(bucketTime/time.Second)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(strconv.FormatInt(week, 10) + " " + address.String()))
	return hex.EncodeToString(mac.Sum(nil)[:6])
}
