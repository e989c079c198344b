package redisrepo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Article is the state of an article at one moment. It is never modified, so requests may share it.
type Article struct {
	ID        ArticleID
	Title     string
	Link      *string // nil if the article is only a text
	Text      *string // nil if the article is only a link
	Poster    User
	CreatedAt time.Time // posting time, UTC; whole seconds, except for articles of legacy clients
	Score     float64   // posting time, Unix seconds, plus VoteScore for every net vote
	Votes     int       // net: Upvotes minus Downvotes
	Upvotes   int
	Downvotes int
	Groups    []GroupName // sorted; without Interesting

	IsInteresting bool
	VotingEndsAt  time.Time // the last second in which votes are accepted

	DeletedAt *time.Time // UTC; nil unless the article is deleted
	DeletedBy *UserName  // the poster or a moderator; nil unless the article is deleted

	posterVotes bool    // whether the poster's own vote counts and can be changed
	postedAt    float64 // CreatedAt as Redis stores it, Unix seconds
	revision    int64   // number of changes, except those by legacy clients
}

// Number is the article's bare number.
func (a *Article) Number() int { return int(a.ID) }

// CanVote reports whether Vote would accept a vote of the user now: the window is open, the article is
// not deleted, and it is not the user's own article if the poster's vote does not count. It uses this
// process's clock, so within seconds of the end it may disagree with Vote, which uses the clock of Redis.
func (r *Repo) CanVote(user UserName, a *Article) bool {
	return a.DeletedAt == nil && !r.now().Truncate(time.Second).After(a.VotingEndsAt) && (a.posterVotes || user != a.Poster.Name)
}

// User is a poster or voter. Every valid name is a user.
type User struct{ Name UserName }

// ID is the user's global id, such as user:alice. It is also the user's member in the sets of voters.
func (u User) ID() string { return u.Name.member() }

// Fields of an article's hash. Legacy clients write the first five only.
const (
	fieldTitle     = "title"
	fieldLink      = "link"
	fieldPoster    = "poster"
	fieldTime      = "time"
	fieldVotes     = "votes"
	fieldText      = "text"
	fieldDownvotes = "downvotes"
	fieldGroups    = "groups"    // names separated by spaces; missing if only legacy clients wrote the hash
	fieldRevision  = "revision"  // number of changes
	fieldUncounted = "uncounted" // "1" if the poster's own vote is recorded, but does not count

	// Only deleted articles have the next two.
	fieldDeleted   = "deleted" // Unix seconds
	fieldDeletedBy = "deleted_by"
)

// decode decodes an article's hash. Missing fields read as zero or empty. Upvotes are derived from
// votes and downvotes, so that they include the votes of legacy clients.
func (r *Repo) decode(id ArticleID, hash map[string]string) (*Article, error) {
	postedAt, err := parseNumber(hash[fieldTime])
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
	s := state{revision: int64(revision), votes: votes, downvotes: downvotes, groups: strings.Fields(hash[fieldGroups])}
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
		CreatedAt:   unixTime(postedAt),
		posterVotes: hash[fieldUncounted] != "1",
		postedAt:    postedAt,
	}
	// The scripts compare whole seconds: this is the last one within the window.
	a.VotingEndsAt = unixTime(math.Floor(postedAt + r.rules.VotingWindow.Seconds()))
	r.apply(a, s)
	return a, nil
}

// observeReply observes the article whose hash is element i of a script's reply.
func (r *Repo) observeReply(id ArticleID, a reply, i int) (*Article, error) {
	hash, err := a.hash(i)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", id, err)
	}
	return r.observe(id, hash)
}

// observe decodes an article's hash as Redis returned it, caches the article's groups, and passes its
// state on to the watches.
func (r *Repo) observe(id ArticleID, hash map[string]string) (*Article, error) {
	if text, ok := hash[fieldGroups]; ok {
		r.groups.Add(id, text)
	}
	article, err := r.decode(id, hash)
	if err == nil {
		r.live.observe(article)
	}
	return article, err
}

// state is the mutable part of an article.
type state struct {
	revision         int64
	votes, downvotes float64
	groups           []string
	deleted          *deletion // nil unless the article is deleted
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

// apply sets the state of an article that has not been shared yet.
func (r *Repo) apply(a *Article, s state) {
	a.revision = s.revision
	a.Score = a.postedAt + float64(r.rules.VoteScore)*s.votes
	a.Votes, a.Downvotes = int(s.votes), int(s.downvotes)
	a.Upvotes = a.Votes + a.Downvotes
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

// parseNumber parses a number of a hash; a missing one is 0.
func parseNumber(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(s, 64)
	if err == nil && !(math.Abs(n) <= maxExact) { // also NaN
		err = strconv.ErrRange
	}
	return n, err
}

// maxExact is the largest number of a hash: up to here whole numbers are exact in a double, in which
// Redis and Lua compute.
const maxExact = 1 << 53

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// unixTime rounds to microseconds, the finest resolution of a double for Unix times.
func unixTime(seconds float64) time.Time {
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
}
