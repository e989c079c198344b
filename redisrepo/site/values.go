package site

import (
	"strconv"
	"strings"
	"time"
)

// ValidUTF8 replaces invalid bytes, as JSON does.
func ValidUTF8(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// Number is a number as scripts and hashes have it.
func Number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// IsListed reports whether a group is in the list of groups while it has articles.
func IsListed(name GroupName) bool {
	canonical, err := ParseGroupName(string(name))
	return err == nil && canonical == name && name != Interesting
}

// Value is the opposite of optional.
func Value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// Optional is nil for an empty text.
func Optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Seconds is a duration as an argument of a script, in whole seconds.
func Seconds(d time.Duration) int64 { return int64(d / time.Second) }
