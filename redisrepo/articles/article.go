// Package articles reads articles and their voters.
package articles

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Articles reads articles and their voters, and caches parts of them.
type Articles struct {
	// GroupTexts caches the groups of articles, as in their hashes. A script must be given all the keys that it uses, so a
	// write to an article that is not cached may need a second call. Cached values may be outdated: scripts compare them.
	GroupTexts *lru.Cache[site.ArticleID, string]

	// Forgotten is the posting time before which the voters of articles were forgotten under an earlier, shorter voting
	// window, Unix seconds. Votes on them are refused, although voting may be open by now.
	Forgotten atomic.Int64

	// OnRead is called with each state that this process reads or writes.
	OnRead func(*site.Article)

	store *wire.Store
}

// New returns Articles for a site.
func New(store *wire.Store) (*Articles, error) {
	groups, err := lru.New[site.ArticleID, string](groupsCacheSize)
	return &Articles{GroupTexts: groups, OnRead: func(*site.Article) {}, store: store}, err
}

// CanVote reports whether Vote would accept a vote of the user now: the article is not deleted, its voting
// window is open, its voters are not forgotten, and it is not the user's own if the poster's vote does not
// count. It uses this process's clock, so within seconds of the end of the window it may disagree with Vote,
// which uses the clock of Redis.
func (r *Articles) CanVote(user site.UserName, a *site.Article) bool {
	return a.DeletedAt == nil && !r.store.Now().Truncate(time.Second).After(a.VotingEndsAt) && !r.VotersForgotten(a) && (a.Stored.PosterVotes || user != a.Poster.Name)
}

// Decoded is an article with the values of its Link, Text and Groups, in one allocation instead of four.
type Decoded struct {
	site.Article
	link, text string
	fewGroups  [2]site.GroupName // enough for most articles
}

// Decode decodes an article's hash into a. Upvotes are derived from votes and downvotes, so that they include the
// votes of legacy clients.
func (r *Articles) Decode(id site.ArticleID, h Hash, a *Decoded) error {
	var err error
	var numbers [4]float64
	for i, text := range [...]string{h.Time, h.Votes, h.Downvotes, h.Revision} {
		if numbers[i], err = site.ParseNumber(text); err != nil {
			return fmt.Errorf("%v: %s: %w", id, [...]string{"time", "votes", "downvotes", "revision"}[i], err)
		}
	}
	postedAt := numbers[0]
	a.Article = site.Article{
		ID:        id,
		Title:     h.Title,
		Poster:    site.User{Name: site.UserOf(h.Poster)},
		CreatedAt: site.UnixTime(postedAt),
	}
	a.Stored.PostedAt, a.Stored.PosterVotes = postedAt, h.Uncounted != "1"
	a.Stored.Voided = h.Voided != ""
	if h.Edits != "" {
		edits, err := site.ParseNumber(h.Edits)
		edited, errAt := site.ParseNumber(h.Edited)
		if err := errors.Join(err, errAt); err != nil {
			return fmt.Errorf("%v: edits: %w", id, err)
		}
		a.Stored.Edits, a.EditedAt = int64(edits), new(site.UnixTime(edited))
	}
	a.link, a.text = h.Link, h.Text
	s := State{Revision: int64(numbers[3]), Votes: numbers[1], Downvotes: numbers[2]}
	if h.Groups != "" {
		s.Groups = site.AppendGroupNames(a.fewGroups[:0], h.Groups)
	}
	if h.Deleted != "" {
		if s.Deleted, err = ParseDeletion(h.Deleted, h.DeletedBy); err != nil {
			return fmt.Errorf("%v: deleted: %w", id, err)
		}
	}
	if h.Why != "" {
		if a.Removal, err = site.ParseRemoval(h.Why); err != nil {
			return fmt.Errorf("%v: %w", id, err)
		}
		a.Removal.FromReport = h.Reported == "1"
	}
	if site.HasWebScheme(h.Link) { // legacy clients check nothing
		a.Link = &a.link
	}
	if h.Text != "" {
		a.Text = &a.text
	}
	// The scripts compare whole seconds: this is the last one within the window.
	a.VotingEndsAt = site.UnixTime(math.Floor(postedAt + r.store.Rules.VotingWindow.Seconds()))
	r.Apply(&a.Article, s)
	a.Stored.Recorded = h.cast != "" && h.cast == h.Votes
	return nil
}

// ObserveReply observes the article whose hash is the second element of a script's reply.
func (r *Articles) ObserveReply(id site.ArticleID, a wire.Reply) (*site.Article, error) {
	h, err := HashIn(a)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", id, err)
	}
	return r.observe(id, h, new(Decoded))
}

// observe decodes an article's hash as Redis returned it into a, caches the article's groups, and passes its
// state on to the watches.
func (r *Articles) observe(id site.ArticleID, h Hash, a *Decoded) (*site.Article, error) {
	if err := r.Decode(id, h, a); err != nil {
		return nil, err
	}
	if cached, ok := r.GroupTexts.Get(id); !ok || cached != h.Groups {
		r.GroupTexts.Add(id, strings.Clone(h.Groups)) // not the whole reply
	}
	r.OnRead(&a.Article)
	return &a.Article, nil
}

// State is the mutable part of an article.
type State struct {
	Revision         int64
	Votes, Downvotes float64
	Groups           []site.GroupName
	Deleted          *Deletion // nil unless the article is deleted
}

// Deletion is when and by whom an article was deleted.
type Deletion struct {
	at time.Time
	by site.UserName
}

// ParseDeletion parses the fields of a deleted article's hash: when, Unix seconds, and by whom.
func ParseDeletion(at, by string) (*Deletion, error) {
	seconds, err := site.ParseNumber(at)
	return &Deletion{at: site.UnixTime(seconds), by: site.UserOf(by)}, err
}

// Apply sets the state of an article that has not been shared yet.
func (r *Articles) Apply(a *site.Article, s State) {
	a.Stored.Revision = s.Revision
	r.SetVotes(a, s.Votes, s.Downvotes)
	a.DeletedAt, a.DeletedBy = nil, nil
	if s.Deleted != nil {
		a.DeletedAt, a.DeletedBy = &s.Deleted.at, &s.Deleted.by
	}
	a.Groups = s.Groups
}

// SetVotes sets the votes and the derived Upvotes, Score and IsInteresting.
func (r *Articles) SetVotes(a *site.Article, votes, downvotes float64) {
	a.Stored.Recorded = false // until it is read
	a.Score = a.Stored.PostedAt + r.store.Rules.Worth(votes)
	a.Votes, a.Downvotes = int(votes), int(downvotes)
	a.Upvotes = a.Votes + a.Downvotes
	a.IsInteresting = a.Votes >= r.store.Rules.InterestingVotes
}
