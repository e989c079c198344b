package rankings

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	gohash "hash"
	"math"
	"slices"
	"strconv"

	"frontpage/redisrepo/site"
)

const (
	daySeconds   = 24 * site.HourSeconds
	monthSeconds = site.MonthDays * daySeconds
)

// maxLists is the maximum number of lists that one call of ranked.lua reads: 34 years of months.
const maxLists = 400

// notFolded is the fold pointer of a calendar without one.
const notFolded = math.MinInt64

// noDay is after all days.
const noDay = math.MaxInt32

// calendarRun is consecutive lists of the calendar.
type calendarRun struct {
	kind  string // h, d or m
	first int64
	count int64
}

// calendarPart is what lists of the calendar are to cover.
type calendarPart struct {
	low, high int64 // first and last posting time, Unix seconds
	folded    int64 // the last day whose articles are in lists of 32 days instead of hours, or notFolded
	now       int64 // no article is newer; Unix seconds
	// near is the time around which articles of a list may have keys that differ much for the same votes, so that short
	// lists are read there.
	near int64
	days int64 // how far from near days are read instead of 32 days, seconds
}

// lists returns lists without common articles that have all articles of the part: those of hours for days that are not
// folded, and few for the others, since naming one takes Redis as long as looking at an article. Of a period that is less than half inside the part, shorter lists are taken, as most
// articles of the whole list would be looked at in vain.
func (c calendarPart) lists() (runs []calendarRun) {
	if c.low > c.high {
		return nil
	}
	first, last := site.FloorDiv(c.low, daySeconds), site.FloorDiv(c.high, daySeconds)
	if unfolded := max(first, c.folded+1); unfolded <= last {
		runs = addRun(runs, "h", max(site.FloorDiv(c.low, site.HourSeconds), 24*unfolded), site.FloorDiv(c.high, site.HourSeconds))
	}
	if c.folded == notFolded {
		return runs
	}
	last = min(last, c.folded)
	for m := site.FloorDiv(first, site.MonthDays); m <= site.FloorDiv(last, site.MonthDays) && first <= last; m++ {
		end := min((m+1)*monthSeconds, (c.folded+1)*daySeconds)
		if c.splits(m*monthSeconds, end) {
			runs = addRun(runs, "d", max(first, m*site.MonthDays), min(last, m*site.MonthDays+site.MonthDays-1))
		} else {
			runs = addRun(runs, "m", m, m)
		}
	}
	return runs
}

// splits reports whether shorter lists are read for the times from start to before end, also if they are within a
// distance of days from near.
func (c calendarPart) splits(start, end int64) bool {
	inside := min(end-1, c.high) - max(start, c.low) + 1
	return 2*inside < min(end-1, c.now)-start+1 || c.days > 0 && start < c.near+c.days && end > c.near-c.days
}

func addRun(runs []calendarRun, kind string, from, to int64) []calendarRun {
	if n := len(runs) - 1; n >= 0 && runs[n].kind == kind && runs[n].first+runs[n].count == from {
		runs[n].count += to - from + 1
		return runs
	}
	return append(runs, calendarRun{kind, from, to - from + 1})
}

// chunks splits runs into parts of up to size lists, at least one.
func chunks(runs []calendarRun, size int64) (parts [][]calendarRun) {
	parts = [][]calendarRun{nil}
	left := size
	for _, run := range runs {
		for run.count > 0 {
			if left == 0 {
				parts, left = append(parts, nil), size
			}
			some := calendarRun{run.kind, run.first, min(run.count, left)}
			parts[len(parts)-1] = append(parts[len(parts)-1], some)
			left -= some.count
			run.first, run.count = run.first+some.count, run.count-some.count
		}
	}
	return slices.Clip(parts)
}

const daysUnfolded = 8 // days before today that have lists of hours

// LastFolded returns the newest day that can be folded, in days since 1970.
func (r *Rankings) LastFolded() int64 { return r.store.ThisHour().Day() - daysUnfolded - 1 }

// calendarsCacheSize is the number of calendars, of partitions and their groups, of which a process remembers the state.
const calendarsCacheSize = 10_000

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
