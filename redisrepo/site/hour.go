package site

import (
	"math"
)

// The calendar has the articles by net votes in lists by posting time: one for each hour, day and month.

// Hour is a number of hours since 1970.
type Hour int64

// maxTime bounds times, Unix seconds, as hour.lua does.
const maxTime = 9e12

// SecondOf is a posting time in whole seconds.
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
