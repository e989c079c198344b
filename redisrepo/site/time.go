package site

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
)

// timeForm is the form of a time by https://scalars.graphql.org/chillicream/date-time.html.
var timeForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// timeMistakes are forms that other programs write, and what to do about them. The first that a text has is reported.
var timeMistakes = []struct {
	form   *regexp.Regexp
	advice string
}{
	{regexp.MustCompile(`\d,\d`), "put a point before the digits after the seconds"},
	{regexp.MustCompile(`\.\d{10}`), "at most nine digits may follow the seconds"},
	{regexp.MustCompile(`^\d+-\d+-\d+ +\d`), "put a T between the date and the time"},
	{regexp.MustCompile(`^\d+-\d+-\d+[Tt]24:`), "write midnight as 00:00:00 of the next day"},
	{regexp.MustCompile(`[Tt]\d+:\d+:60`), "the seconds are 00 to 59, in a leap second, too"},
	{regexp.MustCompile(`^\d+-\d+-\d+[Tt][\d:.]+$`), "end it with Z, for UTC, or with an offset such as +02:00"},
}

// ParseTime parses a time in RFC 3339 with none to nine digits after the seconds and any offset
// (https://scalars.graphql.org/chillicream/date-time.html), and returns it in UTC, where the year may be -1 or 10000.
// The error says what to write instead.
func ParseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	if err == nil && timeForm.MatchString(text) {
		return t.UTC(), nil
	}
	advice := "write a date that exists, T, hours, minutes and seconds in two digits, and Z or an offset such as +02:00"
	for _, m := range timeMistakes {
		if m.form.MatchString(text) {
			advice = m.advice
			break
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is not a time such as 2026-01-31T12:00:00Z: %s", text, advice)
}

// The calendar has the articles by net votes in lists by posting time: one for each hour, day and month.

// Hour is a number of hours since 1970.
type Hour int64

// maxTime bounds times, Unix seconds, as hour.lua does.
const maxTime = 9e12

// IsTime reports whether a number may be a time, Unix seconds: no infinite one, for example.
func IsTime(seconds float64) bool { return math.Abs(seconds) <= maxTime }

// SecondOf returns a posting time in whole seconds.
func SecondOf(postedAt float64) int64 { return int64(math.Floor(postedAt)) }

// HourOf is the hour of a posting time, Unix seconds.
func HourOf(time float64) Hour {
	return Hour(math.Floor(max(-maxTime, min(maxTime, time)) / HourSeconds))
}

// HourOfText is HourOf for a time as Redis replies it.
func HourOfText(time string) Hour {
	seconds, err := ParseNumber(time)
	if err != nil {
		return 0
	}
	return HourOf(seconds)
}

// Day is the day of the hour, since 1970.
func (h Hour) Day() int64 { return FloorDiv(int64(h), 24) }

// Month is the number of the hour's period of MonthDays, since 1970.
func (h Hour) Month() int64 { return FloorDiv(h.Day(), MonthDays) }

// FloorDiv is a / b, rounded down.
func FloorDiv(a, b int64) int64 {
	if a%b < 0 {
		return a/b - 1
	}
	return a / b
}

// Units are the units of the lists of calendars.
const Units = "dhm"

// NumberOf is the number of the list of a unit that an article of the hour belongs to.
func (h Hour) NumberOf(unit rune) int64 {
	switch unit {
	case 'd':
		return h.Day()
	case 'm':
		return h.Month()
	default:
		return int64(h)
	}
}
