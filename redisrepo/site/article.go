// Package site has the values and rules of a site: articles, votes, groups, names, links, pages and cursors, the worth
// of votes, and refusals. It uses no Redis, and nothing in it blocks.
package site

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Article is the state of an article at one moment. It is never modified, so requests may share it.
type Article struct {
	ID        ArticleID
	Title     string
	Link      *string // http or https, see HasWebScheme; nil if the article is only a text
	Text      *string // nil if the article is only a link
	Poster    User
	CreatedAt time.Time // posting time, UTC; whole seconds, except for articles of legacy clients
	Score     float64   // posting time, Unix seconds, plus what the votes are worth, see Rules.Worth
	Votes     int       // net: Upvotes minus Downvotes
	Upvotes   int
	Downvotes int
	Groups    []GroupName // sorted; without Interesting

	EditedAt *time.Time // when the title or the text was last changed, UTC; nil if never

	IsInteresting bool
	VotingEndsAt  time.Time // the last second in which votes are accepted

	DeletedAt *time.Time // UTC; nil unless the article is deleted
	DeletedBy *UserName  // the poster or a moderator; nil unless the article is deleted
	Removal   *Removal   // why a moderator deleted it, or last changed it with a reason; nil: none did

	Stored Stored
}

// Stored describes how an article is stored. Most of it is not in the API.
type Stored struct {
	PosterVotes bool    // whether the poster's own vote counts and can be changed
	PostedAt    float64 // CreatedAt as Redis stores it, Unix seconds
	Revision    int64   // number of changes, except those by legacy clients
	Edits       int64   // number of changes of Title or Text
	Recorded    bool    // whether all votes were in the histories of their voters when it was read
	Voided      bool    // whether moderators have taken votes out of the counts; may be true although all are back
}

// Number is the article's bare number.
func (a *Article) Number() int { return int(a.ID) }

// Revision is the number of changes of the article, its posting included.
func (a *Article) Revision() int { return int(a.Stored.Revision) }

// User is a poster or voter. Every valid name is a user.
type User struct{ Name UserName }

// ID is the user's global id, such as user:alice.
func (u User) ID() string { return u.ShownName().Member() }

// ShownName returns the user's name for display.
func (u User) ShownName() UserName { return UserName(u.Name.Shown()) }

// Bytes estimates the memory of the article.
func (a *Article) Bytes() int {
	n := 400 + len(a.Title) + len(a.Poster.Name)
	for _, text := range []*string{a.Link, a.Text} {
		if text != nil {
			n += len(*text)
		}
	}
	for _, name := range a.Groups {
		n += 16 + len(name)
	}
	return n
}

// Clone returns a copy that shares no memory: an article may share memory with the page that it was read with.
func (a *Article) Clone() *Article {
	b := *a
	b.Title, b.Poster.Name = strings.Clone(a.Title), UserName(strings.Clone(string(a.Poster.Name)))
	if a.Link != nil {
		b.Link = new(strings.Clone(*a.Link))
	}
	if a.Text != nil {
		b.Text = new(strings.Clone(*a.Text))
	}
	b.Groups = GroupNames(GroupText(a.Groups))
	if a.DeletedBy != nil {
		b.DeletedBy = new(UserName(strings.Clone(string(*a.DeletedBy))))
	}
	if a.Removal != nil {
		b.Removal, _ = ParseRemoval(a.Removal.Text())
		b.Removal.FromReport = a.Removal.FromReport
	}
	return &b
}

// ParseNumber parses a number of a hash; a missing one is 0.
func ParseNumber(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(s, 64)
	if err == nil && !(math.Abs(n) <= MaxExact) { // also NaN
		err = strconv.ErrRange
	}
	return n, err
}

// MaxExact is the largest number of a hash: up to here whole numbers are exact in a double, in which
// Redis and Lua compute.
const MaxExact = 1 << 53

// DateTime is the layout for [time.Time.Format] of UTC times in responses, extensions of errors and events for
// webhooks: with exactly three digits of milliseconds.
const DateTime = "2006-01-02T15:04:05.000Z"

// UnixTime rounds to microseconds, the finest resolution of a double for Unix times.
func UnixTime(seconds float64) time.Time {
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
}

// Fields of an article's hash. Legacy clients write the first five only.
const (
	FieldTitle     = "title"
	FieldLink      = "link"
	FieldPoster    = "poster"
	FieldTime      = "time"
	FieldVotes     = "votes"
	FieldText      = "text"
	FieldDownvotes = "downvotes"
	FieldGroups    = "groups"    // names separated by spaces; missing if only legacy clients wrote the hash
	FieldRevision  = "revision"  // number of changes
	FieldCast      = "cast"      // net votes that are in the histories of their voters; missing if they are not all there
	FieldUncounted = "uncounted" // "1" if the poster's own vote is recorded, but does not count

	// Only edited articles have the next two. Edition is in regrouped ones, too.
	FieldEdits   = "edits"   // number of changes of the title or the text
	FieldEdited  = "edited"  // time of the last one, Unix seconds
	FieldEdition = "edition" // revision that the last change of the title, the text or the groups made

	FieldVoided = "voided" // number of votes that do not count; missing: none

	FieldMilestone = "milestone" // the highest of Rules.Milestones that the net votes have reached; missing: none

	FieldWhy = "why" // why a moderator deleted or changed it: see Removal; missing: none did, or without a reason

	// Only deleted articles have the next three.
	FieldDeleted   = "deleted" // Unix seconds
	FieldDeletedBy = "deleted_by"
	FieldReported  = "reported" // "1" if a moderator deleted it because of reports
)

// ValidUTF8 replaces invalid bytes, as JSON does.
func ValidUTF8(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// Number is a number as scripts and hashes have it.
func Number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// IsListed reports whether the list of groups includes a group while it has articles.
func IsListed(name GroupName) bool {
	canonical, err := ParseGroupName(string(name))
	return err == nil && canonical == name && name != Interesting
}

// Value returns the value at a pointer, and the zero value for nil. It is the inverse of Optional.
func Value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Optional returns a pointer to a text, or nil for an empty one.
func Optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Seconds is a duration as an argument of a script, in whole seconds.
func Seconds(d time.Duration) int64 { return int64(d / time.Second) }

// Collect returns the value of each element, in their order.
func Collect[E, V any](elements []E, value func(E) V) []V {
	values := make([]V, len(elements))
	for i, element := range elements {
		values[i] = value(element)
	}
	return values
}
