package redisrepo

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what is posted. Characters are Unicode code points.
const (
	maxTitle          = 200    // characters, after trimming
	maxLink           = 2_000  // bytes
	maxText           = 10_000 // characters
	maxIdempotencyKey = 100    // characters
)

// Draft is what somebody wants to post, as they sent it. Post checks it.
type Draft struct {
	Title          string   // 1 to 200 characters after trimming, no control characters
	Link           *string  // absolute http or https URL of at most 2,000 bytes
	Text           *string  // at most 10,000 characters; a link or a text is required
	Groups         []string // names of at most 10 groups
	IdempotencyKey *string  // 1 to 100 characters; a repeat within 24 hours finds the first post
}

// submission is a draft that has passed its checks.
type submission struct {
	title, link, text string
	groups            []GroupName
}

// check returns what to store, or all the broken rules at once.
//
// What is imported was accepted by another site, under that site's rules: it may
// be a bare title, and may hold the control characters U+0080 to U+009F, which
// text that was once decoded wrongly is full of.
func (d Draft) check(imported bool) (submission, error) {
	var broken Refusal
	control := unicode.IsControl
	if imported {
		control = func(c rune) bool { return c < ' ' || c == 0x7f }
	}
	s := submission{title: strings.TrimSpace(d.Title)}
	switch n := utf8.RuneCountInString(s.title); {
	case n == 0:
		broken = append(broken, refuse(Invalid, "title", "the title is empty: it has 1 to %d characters", maxTitle)...)
	case n > maxTitle:
		broken = append(broken, refuse(TooLong, "title", "the title has at most %d characters, this one has %d", maxTitle, n)...)
	case !utf8.ValidString(s.title) || strings.ContainsFunc(s.title, control):
		broken = append(broken, refuse(Invalid, "title", "the title holds a control character: write it on one line of plain text")...)
	}
	if d.Link != nil {
		s.link = strings.TrimSpace(*d.Link)
	}
	switch {
	case len(s.link) > maxLink:
		broken = append(broken, refuse(TooLong, "link", "the link has at most %d bytes, this one has %d", maxLink, len(s.link))...)
	case s.link != "" && !isWebLink(s.link, control):
		broken = append(broken, refuse(Invalid, "link", "the link is not an absolute http or https URL: %s", shown(s.link))...)
	}
	if d.Text != nil && strings.TrimSpace(*d.Text) != "" {
		s.text = *d.Text
	}
	switch n := utf8.RuneCountInString(s.text); {
	case n > maxText:
		broken = append(broken, refuse(TooLong, "text", "the text has at most %d characters, this one has %d", maxText, n)...)
	case !utf8.ValidString(s.text) || strings.ContainsFunc(s.text, func(c rune) bool { return control(c) && !strings.ContainsRune("\t\n\r", c) }):
		broken = append(broken, refuse(Invalid, "text", "the text holds a control character other than tab and line break")...)
	}
	if s.link == "" && s.text == "" && !imported {
		broken = append(broken, refuse(Invalid, "link", "a link or a text is required")...)
	}
	if k := d.IdempotencyKey; k != nil {
		if n := utf8.RuneCountInString(*k); n == 0 || n > maxIdempotencyKey {
			broken = append(broken, refuse(Invalid, "idempotencyKey", "an idempotency key has 1 to %d characters, this one has %d", maxIdempotencyKey, n)...)
		}
	}
	groups, err := parseGroups("groups", d.Groups)
	var badGroups Refusal
	if errors.As(err, &badGroups) {
		broken = append(broken, badGroups...)
	} else if len(groups) > MaxGroups {
		broken = append(broken, tooManyGroups("groups", len(groups))...)
	}
	if len(broken) > 0 {
		return submission{}, broken
	}
	slices.Sort(groups) // as the scripts keep them, and so that their order makes no other draft
	s.groups = groups
	return s, nil
}

// isWebLink asks of a link what a browser needs to follow it: http or https and
// a host. Paths are left alone, since browsers follow many that net/url refuses.
func isWebLink(link string, control func(rune) bool) bool {
	scheme, rest, found := strings.Cut(link, "://")
	if !found || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return false
	}
	if !utf8.ValidString(link) || strings.ContainsFunc(link, func(c rune) bool { return c == ' ' || control(c) }) {
		return false
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	u, err := url.Parse("//" + authority)
	return err == nil && u.Hostname() != ""
}

// parseGroups brings names to their canonical form, without repeats, in the
// order given, and refuses all the bad ones at once.
func parseGroups(field string, names []string) ([]GroupName, error) {
	var broken Refusal
	groups := make([]GroupName, 0, len(names))
	seen := make(map[GroupName]bool, len(names))
	for i, s := range names {
		name, err := ParseGroupName(s)
		var bad Refusal
		switch {
		case errors.As(err, &bad):
			broken = append(broken, &Error{Code: bad[0].Code, Message: bad[0].Message, Field: []string{field, fmt.Sprint(i)}})
		case name == Interesting:
			broken = append(broken, refuse(Invalid, fmt.Sprintf("%s.%d", field, i), "the group %q is kept by the votes alone: an article enters and leaves it by itself", Interesting)...)
		case !seen[name]:
			seen[name] = true
			groups = append(groups, name)
		}
	}
	if len(broken) > 0 {
		return nil, broken
	}
	return groups, nil
}

func tooManyGroups(field string, n int) Refusal {
	return refuse(TooLong, field, "an article is in at most %d groups, these are %d", MaxGroups, n)
}
