package site

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxVersions is the maximum number of stored earlier versions of an article: the first, the most voted one of the
// others, and the newest.
const MaxVersions = 20

// Version is the state of an article before an edit.
type Version struct {
	Title string
	Text  *string   // nil if it had none
	By    User      // who replaced it
	Until time.Time // when it was replaced, UTC
	Votes int       // net votes at that time
}

// StoredVersion is a Version in the store and in an export.
type StoredVersion struct {
	// Number is the number of the edit that replaced it; 0 in exports of earlier versions of Frontpage, which have the
	// last versions without a gap.
	Number int64 `json:"number,omitempty"`

	Title string   `json:"title"`
	Text  string   `json:"text,omitempty"`
	By    UserName `json:"by"`    // who replaced it
	Until float64  `json:"until"` // when it was replaced, Unix seconds
	Votes int64    `json:"votes"` // net votes at that time
}

// Version converts the stored version.
func (v StoredVersion) Version() *Version {
	return &Version{Title: v.Title, Text: Optional(v.Text), By: User{Name: v.By}, Until: UnixTime(v.Until), Votes: int(v.Votes)}
}

var errVersion = errors.New("a version of its history is malformed")

// ParseVersion parses a version as edit.lua writes it: time, votes, bytes of the title and user on a line, the title and
// the text after it.
func ParseVersion(value string) (v StoredVersion, err error) {
	line, rest, ok := strings.Cut(value, "\n")
	words := strings.SplitN(line, " ", 4)
	if !ok || len(words) < 4 {
		return v, errVersion
	}
	size, errS := strconv.Atoi(words[2])
	var errT, errV error
	v.Until, errT = ParseNumber(words[0])
	v.Votes, errV = strconv.ParseInt(words[1], 10, 64)
	if errors.Join(errS, errT, errV) != nil || size < 0 || size > len(rest) {
		return v, errVersion
	}
	v.Title, v.Text, v.By = rest[:size], rest[size:], UserOf(words[3])
	return v, nil
}

// VersionNumbers returns the numbers of the edits whose replaced versions a history has, the oldest first.
func VersionNumbers(history map[string]string) (numbers []int64) {
	for field := range history {
		if n, err := strconv.ParseInt(field, 10, 64); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// Format is the inverse of ParseVersion.
func (v StoredVersion) Format() string {
	return fmt.Sprintf("%s %d %d %s\n%s%s", Number(v.Until), v.Votes, len(v.Title), v.By.Member(), v.Title, v.Text)
}
