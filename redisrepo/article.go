package redisrepo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Article is an article as it stood at one moment. It is complete and is never
// changed afterwards: many requests may share one.
type Article struct {
	ID        ArticleID
	Title     string
	Link      *string // nil when the article is a text only
	Text      *string // nil when the article is a link only
	Poster    User
	CreatedAt time.Time // posting time, UTC; whole seconds, except for articles of the book's Python
	Score     float64   // Unix seconds of posting plus VoteScore for every net vote
	Votes     int       // net: Upvotes minus Downvotes
	Upvotes   int
	Downvotes int
	Groups    []GroupName // sorted; without the group of the interesting ones

	IsInteresting bool
	VotingEndsAt  time.Time // the last second in which a vote is accepted

	DeletedAt *time.Time // UTC; nil unless it is deleted
	DeletedBy *UserName  // the poster, or a moderator; nil unless it is deleted

	posterVotes bool    // whether the poster's own vote is counted and can be changed
	posted      float64 // CreatedAt as Redis has it, Unix seconds
	revision    int64   // how often it was changed, but for what the book's code did
}

// Number is the article's bare number.
func (a *Article) Number() int { return int(a.ID) }

// CanVote reports whether a vote of user would change something now: the window
// is open, the article is not deleted, and it is not the user's own under the
// rule that the poster's vote is not counted. A clock that is off by seconds may
// disagree with Vote, which asks Redis for the time.
func (r *Repo) CanVote(user UserName, a *Article) bool {
	return a.DeletedAt == nil && !r.now().Truncate(time.Second).After(a.VotingEndsAt) && (a.posterVotes || user != a.Poster.Name)
}

// User is somebody who posts or votes. Every valid name is a user.
type User struct{ Name UserName }

// ID is the user's global id, which is also the member that stands for the user
// in the sets of voters.
func (u User) ID() string { return u.Name.member() }

// Fields of an article's hash. The book's code writes the first five alone.
const (
	fieldTitle     = "title"
	fieldLink      = "link"
	fieldPoster    = "poster"
	fieldTime      = "time"
	fieldVotes     = "votes"
	fieldText      = "text"
	fieldDownvotes = "downvotes"
	fieldGroups    = "groups"    // names separated by blanks; a hash without it was written by the book's code
	fieldRevision  = "revision"  // how many changes there were
	fieldUncounted = "uncounted" // "1" when the poster's own vote is recorded, but not counted

	// Only a deleted article has the next two.
	fieldDeleted   = "deleted" // Unix seconds
	fieldDeletedBy = "deleted_by"
)

// decode makes an article of its hash. A field that is missing reads as zero or
// empty. upvotes are derived, so a vote cast by the book's code counts there too.
func (r *Repo) decode(id ArticleID, hash map[string]string) (*Article, error) {
	posted, err := parseNumber(hash[fieldTime])
	if err != nil {
		return nil, fmt.Errorf("%v: time: %w", id, err)
	}
	votes, err := parseNumber(hash[fieldVotes])
	if err != nil {
		return nil, fmt.Errorf("%v: votes: %w", id, err)
	}
	downvotes, err := parseNumber(hash[fieldDownvotes])
	if err != nil {
		return nil, fmt.Errorf("%v: downvotes: %w", id, err)
	}
	revision, err := parseNumber(hash[fieldRevision])
	if err != nil {
		return nil, fmt.Errorf("%v: revision: %w", id, err)
	}
	s := standing{revision: int64(revision), votes: votes, downvotes: downvotes, groups: strings.Fields(hash[fieldGroups])}
	if deleted := hash[fieldDeleted]; deleted != "" {
		if s.deleted, err = parseDeletion(deleted, hash[fieldDeletedBy]); err != nil {
			return nil, fmt.Errorf("%v: deleted: %w", id, err)
		}
	}
	a := &Article{
		ID:          id,
		Title:       hash[fieldTitle],
		Link:        optional(hash[fieldLink]),
		Text:        optional(hash[fieldText]),
		Poster:      User{Name: userOf(hash[fieldPoster])},
		CreatedAt:   unixTime(posted),
		posterVotes: hash[fieldUncounted] != "1",
		posted:      posted,
	}
	// Scripts compare in whole seconds: the last one that is not past the window.
	a.VotingEndsAt = unixTime(math.Floor(posted + r.rules.VotingWindow.Seconds()))
	r.stand(a, s)
	return a, nil
}

// written decodes an article from the hash that a script replied, and
// remembers its groups.
func (r *Repo) written(id ArticleID, a reply, at int) (*Article, error) {
	hash, err := a.hash(at)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", id, err)
	}
	return r.learn(id, hash)
}

// learn decodes what Redis just said about an article, and takes note of it.
func (r *Repo) learn(id ArticleID, hash map[string]string) (*Article, error) {
	r.remember(id, hash)
	article, err := r.decode(id, hash)
	if err == nil {
		r.live.saw(article)
	}
	return article, err
}

func (r *Repo) remember(id ArticleID, hash map[string]string) {
	if text, ours := hash[fieldGroups]; ours {
		r.groups.Add(id, text)
	}
}

// standing is what of an article changes.
type standing struct {
	revision         int64
	votes, downvotes float64
	groups           []string
	deleted          *deletion // nil unless it is
}

// deletion is when and by whom an article was deleted.
type deletion struct {
	at time.Time
	by UserName
}

func parseDeletion(at, by string) (*deletion, error) {
	seconds, err := parseNumber(at)
	return &deletion{at: unixTime(seconds), by: userOf(by)}, err
}

// stand puts a standing into an article that nobody has seen yet.
func (r *Repo) stand(a *Article, s standing) {
	a.revision = s.revision
	a.Score = a.posted + float64(r.rules.VoteScore)*s.votes
	a.Votes, a.Upvotes, a.Downvotes = int(s.votes), int(s.votes+s.downvotes), int(s.downvotes)
	a.IsInteresting = a.Votes >= r.rules.InterestingVotes
	a.DeletedAt, a.DeletedBy = nil, nil
	if s.deleted != nil {
		a.DeletedAt, a.DeletedBy = &s.deleted.at, &s.deleted.by
	}
	a.Groups = nil
	for _, name := range s.groups {
		a.Groups = append(a.Groups, GroupName(name))
	}
}

func parseNumber(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(s, 64)
	if err == nil && math.Abs(n) > maxExact {
		err = strconv.ErrRange
	}
	return n, err
}

// maxExact bounds the numbers of a hash: whole numbers up to here are exact in
// a double, which is what Redis and Lua compute in.
const maxExact = 1 << 53

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// unixTime rounds to microseconds, the finest that a double holds for Unix times.
func unixTime(seconds float64) time.Time {
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
}
