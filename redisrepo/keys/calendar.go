package keys

import (
	"strconv"
	"strings"

	"frontpage/redisrepo/site"
)

// RankingKeys appends the keys of what follows from an article's votes besides score:, in the order that the scripts
// expect. They depend on its posting time.
func RankingKeys(keys []string, p Partition, posted site.Hour) []string {
	return append(TopKeys(keys, p, posted, ""), p.Front(), p.Best(), p.Events())
}

// TopKeys appends the keys of the calendar of all articles or of a group, for an article.
func TopKeys(keys []string, p Partition, posted site.Hour, name site.GroupName) []string {
	return append(keys, p.Clock(name), p.Top("h", int64(posted), name), p.Top("d", posted.Day(), name), p.Top("m", posted.Month(), name))
}

const (
	// CastPrefix begins the keys of the lists of users' votes.
	CastPrefix = "cast:"
	// TopPrefix begins the keys of the lists of calendars.
	TopPrefix = "top:"
	// PeakPrefix begins the fields with the peaks of lists.
	PeakPrefix = "p:"
)

// ParseList parses the unit and the number of a list, such as d:20715.
func ParseList(text string) (unit string, number int64, ok bool) {
	unit, digits, _ := strings.Cut(text, ":")
	number, err := strconv.ParseInt(digits, 10, 64)
	return unit, number, err == nil && (unit == "h" || unit == "d" || unit == "m")
}

// FieldCastSince is the field of meta: with castRecord and the rules under which it is right.
const FieldCastSince = "cast_since"
