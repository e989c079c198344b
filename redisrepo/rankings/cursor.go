package rankings

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	gohash "hash"
	"strconv"

	"frontpage/redisrepo/site"
)

// A cursor of a ranking decides how much is read for the page after it, so only Frontpage can make one: instead of a
// checksum it ends with a code that depends on a key of the site, which is in meta:.

// rankedCursor is where a page of a ranking starts, after an article.
type rankedCursor struct {
	instant int64 // Unix seconds
	row     int   // number of articles before; 0: the start of the list
	rankedItem
}

// sealSize is how many bytes of an HMAC-SHA-256 a cursor ends with.
const sealSize = 12

// rankedSeal makes and checks the cursors of a ranking.
type rankedSeal struct {
	list string
	mac  gohash.Hash
}

func (r *Rankings) rankedSeal(l RankedList) rankedSeal {
	return rankedSeal{l.name(), hmac.New(sha256.New, []byte(*r.store.CursorKey.Load()))}
}

// sum returns the code of a cursor's text.
func (s rankedSeal) sum(text []byte) []byte {
	s.mac.Reset()
	s.mac.Write(text)
	return s.mac.Sum(nil)[:sealSize]
}

func (s rankedSeal) cursor(c rankedCursor) string {
	text := fmt.Append(make([]byte, 0, 128), s.list, site.CursorSeparator, c.instant, site.CursorSeparator, c.row, site.CursorSeparator, c.key, site.CursorSeparator, c.member)
	return base64.RawURLEncoding.EncodeToString(append(text, s.sum(text)...))
}

// parts returns the parts of a cursor. field is the argument that held it.
func (s rankedSeal) parts(field, cursor string) ([]string, error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(data) < sealSize {
		return nil, site.NotACursor(field)
	}
	text, sum := data[:len(data)-sealSize], data[len(data)-sealSize:]
	if !hmac.Equal(sum, s.sum(text)) {
		return nil, site.DamagedCursor(field)
	}
	return site.CursorParts(field, s.list, text)
}

// rankedCursors returns the function that decodes cursors of the list.
func (r *Rankings) rankedCursors(l RankedList) func(field, text string) (rankedCursor, error) {
	return func(field, text string) (c rankedCursor, err error) {
		parts, err := r.rankedSeal(l).parts(field, text)
		if err != nil {
			return c, err
		}
		if len(parts) == 4 {
			var errs [3]error
			c.instant, errs[0] = strconv.ParseInt(parts[0], 10, 64)
			c.row, errs[1] = strconv.Atoi(parts[1])
			c.key, errs[2] = strconv.ParseInt(parts[2], 10, 64)
			c.member = parts[3]
			// The clocks of two processes may differ, but not by a day.
			if cmp.Or(errs[:]...) == nil && c.row > 0 && c.instant >= 0 && c.instant <= r.store.Now().Add(site.Day).Unix() {
				if l.formula == RankGravity && c.row >= MaxGravityRows {
					return c, site.Refuse(site.Invalid, field, "a ranking by GRAVITY ends after %d articles: ask for a shorter time", MaxGravityRows)
				}
				return c, nil
			}
		}
		return c, site.Refuse(site.Invalid, field, "%s is not a cursor of a ranking", field)
	}
}
