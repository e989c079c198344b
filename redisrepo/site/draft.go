package site

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of drafts. Characters are Unicode code points.
const (
	MaxTitle          = 200    // characters, after trimming
	MaxLink           = 2_000  // bytes
	MaxText           = 10_000 // characters
	maxIdempotencyKey = 100    // characters
)

// Draft is an article as submitted by a client. Post checks it.
type Draft struct {
	Title          string   // 1 to 200 characters after trimming, no control characters
	Link           *string  // absolute http or https URL of at most 2,000 bytes
	Text           *string  // at most 10,000 characters; a link or a text is required
	Groups         []string // names of at most 10 groups
	IdempotencyKey *string  // 1 to 100 characters; a repeat within 24 hours finds the first post
}

// Submission is a checked draft.
type Submission struct {
	Title, Link, Text string
	Groups            []GroupName
}

// draftRules are the differences between the checks of a post and of an import.
type draftRules struct {
	IsControl func(rune) bool // whether a title, link or text must not contain the character
	needsBody bool            // whether a link or a text is required
}

var (
	// PostRules are the rules of posts.
	PostRules = draftRules{IsControl: unicode.IsControl, needsBody: true}
	// ImportRules are those of imports. An imported article was accepted by another site under its own rules:
	// it may be a title alone, and may contain the control characters U+0080 to U+009F, which are common in
	// text that was once decoded wrongly.
	ImportRules = draftRules{IsControl: func(c rune) bool { return c < ' ' || c == 0x7f }}
)

// Check returns what to store, or a Refusal with all errors of the draft.
func (d Draft) Check(rules draftRules) (Submission, error) {
	var s Submission
	var refusals, broken Refusal
	s.Title, broken = rules.CheckTitle(d.Title)
	refusals = append(refusals, broken...)
	s.Link, broken = rules.CheckLink(d.Link)
	refusals = append(refusals, broken...)
	s.Text, broken = rules.CheckText(d.Text)
	refusals = append(refusals, broken...)
	if rules.needsBody && s.Link == "" && s.Text == "" {
		refusals = append(refusals, Refuse(Invalid, "link", "a link or a text is required")...)
	}
	if k := d.IdempotencyKey; k != nil {
		switch n := utf8.RuneCountInString(*k); {
		case n == 0:
			refusals = append(refusals, Refuse(Invalid, "idempotencyKey", "the idempotency key is empty: it has 1 to %d characters", maxIdempotencyKey)...)
		case n > maxIdempotencyKey:
			refusals = append(refusals, Refuse(TooLong, "idempotencyKey", "an idempotency key has at most %d characters, this one has %d", maxIdempotencyKey, n)...)
		}
	}
	s.Groups, broken = CheckGroups(d.Groups)
	if refusals = append(refusals, broken...); len(refusals) > 0 {
		return Submission{}, refusals
	}
	return s, nil
}

func (r draftRules) CheckTitle(given string) (string, Refusal) {
	if strings.TrimSpace(given) == "" {
		return "", Refuse(Invalid, "title", "the title is empty: it has 1 to %d characters", MaxTitle)
	}
	return checkLine("title", given, MaxTitle, r.IsControl, r.needsBody)
}

// CheckLink trims and checks a link. No link is an empty one. The Refusal is Invalid or TooLong.
func (r draftRules) CheckLink(given *string) (string, Refusal) {
	if given == nil {
		return "", nil
	}
	link := strings.TrimSpace(*given)
	switch {
	case len(link) > MaxLink:
		return link, Refuse(TooLong, "link", "the link has at most %d bytes, this one has %d", MaxLink, len(link))
	case link != "" && !IsWebLink(link, r.IsControl):
		return link, Refuse(Invalid, "link", "the link is not an absolute http or https URL: %s", Shown(link))
	case r.needsBody && link != "" && !isASCII(string(HostOf(link))):
		return link, Refuse(Invalid, "link", "the host of the link contains a character that no host has: %s", Shown(link))
	}
	return link, nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c > unicode.MaxASCII })
}

// CheckText checks a text. A blank one, or none, is empty. The Refusal is Invalid or TooLong.
func (r draftRules) CheckText(given *string) (string, Refusal) {
	return checkNote("text", Value(given), MaxText, r.IsControl)
}

// IsWebLink reports whether a browser can follow a link: it has http or https, and a host. It does not check the path:
// browsers follow many paths that net/url rejects.
func IsWebLink(link string, isControl func(rune) bool) bool {
	if !HasWebScheme(link) {
		return false
	}
	if !utf8.ValidString(link) || strings.ContainsFunc(link, func(c rune) bool { return c == ' ' || isControl(c) }) {
		return false
	}
	u, err := url.Parse("//" + AuthorityOf(link))
	if err != nil || u.Hostname() == "" {
		return false
	}
	return strings.HasPrefix(u.Host, "[") || !strings.Contains(u.Hostname(), ":") // only an IPv6 address has colons
}

// HasWebScheme reports whether a link has the scheme http or https, and not one that browsers execute, such as
// javascript:.
func HasWebScheme(link string) bool {
	scheme, _, found := strings.Cut(link, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// maxGroupNames is the maximum length of a list of names: a request has room for many thousands.
const maxGroupNames = 100

// CheckGroups returns the sorted canonical names of the groups of an article, as the scripts store them, or a Refusal.
func CheckGroups(names []string) ([]GroupName, Refusal) {
	groups, broken := ParseGroups("groups", names)
	if len(groups) > MaxGroups {
		broken = TooManyGroups("groups", len(groups))
	}
	slices.Sort(groups) // drafts that differ in their order only are the same
	return groups, broken
}

// ParseGroups returns the canonical names without repeats, in the given order, or a Refusal with an error for
// each invalid name. If the list is too long, it does not check the names.
func ParseGroups(field string, names []string) (_ []GroupName, broken Refusal) {
	if len(names) > maxGroupNames {
		return nil, Refuse(TooLong, field, "at most %d groups can be named at once, these are %d", maxGroupNames, len(names))
	}
	groups := make([]GroupName, 0, len(names))
	seen := make(map[GroupName]bool, len(names))
	for i, s := range names {
		name, err := ParseGroupName(s)
		var bad Refusal
		switch {
		case errors.As(err, &bad):
			broken = append(broken, &Error{Code: bad[0].Code, Message: bad[0].Message, Field: []string{field, fmt.Sprint(i)}})
		case strings.ContainsFunc(string(name), isInvisible) && field != "remove":
			broken = append(broken, Refuse(Invalid, fmt.Sprintf("%s.%d", field, i), "the group %s contains an invisible character", Shown(s))...)
		case name == Interesting:
			broken = append(broken, Refuse(Invalid, fmt.Sprintf("%s.%d", field, i), "the group %q is maintained automatically: articles enter and leave it by their votes", Interesting)...)
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

// TooManyGroups returns the refusal of n groups in an argument.
func TooManyGroups(field string, n int) Refusal {
	return Refuse(TooLong, field, "an article is in at most %d groups, these are %d", MaxGroups, n)
}

// Digest identifies the content of the submission.
func (s Submission) Digest() string {
	h := sha256.New()
	for _, part := range []string{s.Title, s.Link, s.Text, GroupText(s.Groups)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
