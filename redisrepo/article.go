package redisrepo

import (
	"errors"
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
	Link      *string // http or https, see hasWebScheme; nil if the article is only a text
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

	posterVotes bool    // whether the poster's own vote counts and can be changed
	postedAt    float64 // CreatedAt as Redis stores it, Unix seconds
	revision    int64   // number of changes, except those by legacy clients
	edits       int64   // number of changes of Title or Text
	recorded    bool    // whether all votes were in the histories of their voters when it was read
}

// Number is the article's bare number.
func (a *Article) Number() int { return int(a.ID) }

// Revision is the number of changes of the article, its posting included.
func (a *Article) Revision() int { return int(a.revision) }

// CanVote reports whether Vote would accept a vote of the user now: the window is open, the voters
// are not forgotten, the article is not deleted, and it is not the user's own article if the poster's vote does not count. It uses this
// process's clock, so within seconds of the end it may disagree with Vote, which uses the clock of Redis.
func (r *Repo) CanVote(user UserName, a *Article) bool {
	return a.DeletedAt == nil && !r.now().Truncate(time.Second).After(a.VotingEndsAt) && !r.votersForgotten(a) && (a.posterVotes || user != a.Poster.Name)
}

// User is a poster or voter. Every valid name is a user.
type User struct{ Name UserName }

// ID is the user's global id, such as user:alice. It is also the user's member in the sets of voters.
func (u User) ID() string { return u.Name.member() }

// decoded is an article with what its Link, Text and Groups point to: one allocation instead of four.
type decoded struct {
	Article
	link, text string
	fewGroups  [2]GroupName // enough for most articles
}

// decode decodes an article's hash into a. Upvotes are derived from votes and downvotes, so that they include the
// votes of legacy clients.
func (r *Repo) decode(id ArticleID, h hash, a *decoded) error {
	postedAt, err := parseNumber(h.time)
	if err != nil {
		return fmt.Errorf("%v: time: %w", id, err)
	}
	votes, err := parseNumber(h.votes)
	if err != nil {
		return fmt.Errorf("%v: votes: %w", id, err)
	}
	downvotes, err := parseNumber(h.downvotes)
	if err != nil {
		return fmt.Errorf("%v: downvotes: %w", id, err)
	}
	revision, err := parseNumber(h.revision)
	if err != nil {
		return fmt.Errorf("%v: revision: %w", id, err)
	}
	a.Article = Article{
		ID:        id,
		Title:     h.title,
		Poster:    User{Name: userOf(h.poster)},
		CreatedAt: unixTime(postedAt),
	}
	a.postedAt, a.posterVotes = postedAt, h.uncounted != "1"
	if h.edits != "" {
		if a.edits, a.EditedAt, err = parseEdits(h.edits, h.edited); err != nil {
			return fmt.Errorf("%v: edits: %w", id, err)
		}
	}
	a.link, a.text = h.link, h.text
	s := state{revision: int64(revision), votes: votes, downvotes: downvotes}
	if h.groups != "" {
		s.groups = appendGroupNames(a.fewGroups[:0], h.groups)
	}
	if h.deleted != "" {
		if s.deleted, err = parseDeletion(h.deleted, h.deletedBy); err != nil {
			return fmt.Errorf("%v: deleted: %w", id, err)
		}
	}
	if hasWebScheme(h.link) { // legacy clients check nothing
		a.Link = &a.link
	}
	if h.text != "" {
		a.Text = &a.text
	}
	// The scripts compare whole seconds: this is the last one within the window.
	a.VotingEndsAt = unixTime(math.Floor(postedAt + r.rules.VotingWindow.Seconds()))
	r.apply(&a.Article, s)
	a.recorded = h.cast != "" && h.cast == h.votes
	return nil
}

// observeReply observes the article whose hash is the second element of a script's reply.
func (r *Repo) observeReply(id ArticleID, a reply) (*Article, error) {
	h, err := hashIn(a)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", id, err)
	}
	return r.observe(id, h, new(decoded))
}

// observe decodes an article's hash as Redis returned it into a, caches the article's groups, and passes its
// state on to the watches.
func (r *Repo) observe(id ArticleID, h hash, a *decoded) (*Article, error) {
	if err := r.decode(id, h, a); err != nil {
		return nil, err
	}
	if h.grouped {
		place := placement{h.groups, hourOf(a.postedAt)}
		if cached, ok := r.groups.Get(id); !ok || cached != place {
			place.groups = strings.Clone(h.groups) // not the whole reply
			r.groups.Add(id, place)
		}
	}
	r.onRead(&a.Article)
	return &a.Article, nil
}

// Bytes returns about how many bytes the article takes.
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

// clone returns a copy that keeps nothing else in memory: an article may share its memory with the page that it was
// read with.
func (a *Article) clone() *Article {
	b := *a
	b.Title, b.Poster.Name = strings.Clone(a.Title), UserName(strings.Clone(string(a.Poster.Name)))
	if a.Link != nil {
		b.Link = new(strings.Clone(*a.Link))
	}
	if a.Text != nil {
		b.Text = new(strings.Clone(*a.Text))
	}
	b.Groups = groupNames(groupText(a.Groups))
	if a.DeletedBy != nil {
		b.DeletedBy = new(UserName(strings.Clone(string(*a.DeletedBy))))
	}
	return &b
}

// state is the mutable part of an article.
type state struct {
	revision         int64
	votes, downvotes float64
	groups           []GroupName
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

func parseEdits(edits, edited string) (int64, *time.Time, error) {
	n, err := parseNumber(edits)
	seconds, errAt := parseNumber(edited)
	return int64(n), new(unixTime(seconds)), errors.Join(err, errAt)
}

// apply sets the state of an article that has not been shared yet.
func (r *Repo) apply(a *Article, s state) {
	a.revision = s.revision
	r.setVotes(a, s.votes, s.downvotes)
	a.DeletedAt, a.DeletedBy = nil, nil
	if s.deleted != nil {
		a.DeletedAt, a.DeletedBy = &s.deleted.at, &s.deleted.by
	}
	a.Groups = s.groups
}

// setVotes sets the votes and what follows from them.
func (r *Repo) setVotes(a *Article, votes, downvotes float64) {
	a.recorded = false // until it is read
	a.Score = a.postedAt + r.rules.Worth(votes)
	a.Votes, a.Downvotes = int(votes), int(downvotes)
	a.Upvotes = a.Votes + a.Downvotes
	a.IsInteresting = a.Votes >= r.rules.InterestingVotes
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

// unixTime rounds to microseconds, the finest resolution of a double for Unix times.
func unixTime(seconds float64) time.Time {
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
}
