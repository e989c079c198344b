package redisrepo

import (
	"math"
	"strings"
)

// The calendar has the articles by net votes in lists by posting time: one for each hour, day and month.

// placement is what the keys of an article depend on.
type placement struct {
	groups string // as the text in its hash
	posted hour
}

// hour is a number of hours since 1970.
type hour int64

// maxTime bounds times, Unix seconds, as hour_of in shared.lua does.
const maxTime = 9e12

// hourOf is the hour of a posting time, Unix seconds.
func hourOf(time float64) hour {
	return hour(math.Floor(max(-maxTime, min(maxTime, time)) / hourSeconds))
}

// hourOfText is hourOf for a time as Redis replies it. A script that gets the hour of an invalid one replies STALE.
func hourOfText(time string) hour {
	seconds, err := parseNumber(time)
	if err != nil {
		return 0
	}
	return hourOf(seconds)
}

// thisHour is the hour of the clock.
func (r *Repo) thisHour() hour { return hourOf(float64(r.now().Unix())) }

func (h hour) day() int64 { return floorDiv(int64(h), 24) }

// month is the number of a period of monthDays.
func (h hour) month() int64 { return floorDiv(h.day(), monthDays) }

func floorDiv(a, b int64) int64 {
	if a%b < 0 {
		return a/b - 1
	}
	return a / b
}

// has reports whether a feature is on.
func (r *Repo) has(feature string) bool { return strings.Contains(r.on, feature) }

// rankingKeys appends the keys of what follows from an article's votes besides score:, in the order that the scripts
// expect. They depend on its posting time.
func rankingKeys(keys []string, p partition, posted hour) []string {
	return append(topKeys(keys, p, posted, ""), p.front(), p.best(), p.events())
}

// topKeys appends the keys of the calendar of all articles or of a group, for an article.
func topKeys(keys []string, p partition, posted hour, name GroupName) []string {
	return append(keys, p.clock(name), p.top("h", int64(posted), name), p.top("d", posted.day(), name), p.top("m", posted.month(), name))
}

// groupTopKeys appends the keys of the calendars of groups, if they have any. Interesting has none.
func (r *Repo) groupTopKeys(keys []string, p partition, posted hour, names ...GroupName) []string {
	if !r.has("group_top") {
		return keys
	}
	for _, name := range names {
		if name != Interesting {
			keys = topKeys(keys, p, posted, name)
		}
	}
	return keys
}
