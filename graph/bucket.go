package graph

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strconv"
	"time"
)

// bucketTime is how long an address keeps its bucket: long enough to notice one that votes for many users,
// and no longer than voting is open by default.
const bucketTime = 7 * 24 * time.Hour

// buckets conceal the addresses of voters from operators who look for fraud: they see whether two votes of
// one week came from the same address, but not from which. The value is the secret key; without one, no
// buckets are recorded.
type buckets []byte

// bucket returns the current bucket of an address, 12 hex digits: HMAC-SHA256 of the week and the address.
func (secret buckets) bucket(address netip.Addr) string {
	if len(secret) == 0 || !address.IsValid() {
		return ""
	}
	week := time.Now().Unix() / int64(bucketTime/time.Second)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(strconv.FormatInt(week, 10) + " " + address.String()))
	return hex.EncodeToString(mac.Sum(nil)[:6])
}
