package wire

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/site"
)

// Entry is an entry of the log of changes, as append.lua of package views writes it. Numbers are text, as in the log.
type Entry struct {
	Kind                              string
	Article                           site.ArticleID
	Revision, Votes, Downvotes, Score string           // after the change; Votes are net
	By                                string           // name of the user who made the change; may be empty
	To                                string           // position after a vote, net votes of a milestone, and else the groups
	Time, At                          string           // of the article's posting, and of the change, Unix seconds
	Groups, Left                      []site.GroupName // of the article after the change, and those that it left
	Why                               site.Why         // the moderator's reason for the change
}

// EntryOf decodes an entry. One without an article is an error: no script wrote it.
func EntryOf(m redis.XMessage) (Entry, error) {
	text := Fields(m.Values).Text
	id, err := site.ParseArticleID(text("article"))
	if err != nil {
		return Entry{}, fmt.Errorf("an entry of the log about article %q: %w", text("article"), err)
	}
	return Entry{
		Kind: text("kind"), Article: id, Revision: text("revision"), Votes: text("votes"), Downvotes: text("downvotes"),
		Score: text("score"), By: text("by"), To: text("to"), Time: text("time"), At: text("at"),
		Groups: site.GroupNames(text("groups")), Left: site.GroupNames(text("left")),
		Why: site.Why{Ground: site.Ground(text("ground")), Basis: text("basis"), Reason: text("reason")},
	}, nil
}

// IsHidden reports whether an entry of the log is not an event of the change feed.
func IsHidden(m redis.XMessage) bool {
	return m.Values["kind"] == site.KindImported || m.Values["kind"] == site.KindNoticed
}

// Fields are the fields of an entry of a stream.
type Fields map[string]any

// Text returns a field, empty if it is missing.
func (f Fields) Text(name string) string {
	text, _ := f[name].(string)
	return text
}

// EntryID is the id of an entry of a stream.
type EntryID struct{ Milliseconds, Sequence uint64 }

// ParseEntryID parses an id as Redis replies it. A part that is not a number is 0.
func ParseEntryID(id string) (e EntryID) {
	milliseconds, sequence, _ := strings.Cut(id, "-")
	e.Milliseconds, _ = strconv.ParseUint(milliseconds, 10, 64)
	e.Sequence, _ = strconv.ParseUint(sequence, 10, 64)
	return e
}

// Compare orders ids by time.
func (e EntryID) Compare(other EntryID) int {
	return cmp.Or(cmp.Compare(e.Milliseconds, other.Milliseconds), cmp.Compare(e.Sequence, other.Sequence))
}

// Before returns the greatest id before this one, which must not be 0-0.
func (e EntryID) Before() EntryID {
	if e.Sequence--; e.Sequence == math.MaxUint64 {
		e.Milliseconds--
	}
	return e
}

func (e EntryID) String() string {
	return strconv.FormatUint(e.Milliseconds, 10) + "-" + strconv.FormatUint(e.Sequence, 10)
}
