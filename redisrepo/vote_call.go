package redisrepo

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// voteCall is the part of a call of vote.lua that is the same for all votes on an article, and what this process needs
// to know of the article if the script does not reply with its whole hash.
type voteCall struct {
	groups  string           // as the hash lists them, or did: the script compares
	names   []site.GroupName // the same
	article *site.Article    // some state of it: what never changes is right; nil if this process knows none
	time    string           // its posting time as the script replied it
	isExact bool             // whether its hash has the posting time in the same form
	posted  site.Hour        // for which the keys are
	words   []any            // of the command, up to the keys of the votes
	upvote  []any            // the same for upvote.lua
	args    []any            // of both commands, up to the votes

	isUnusual atomic.Bool // whether upvote.lua would leave the next vote to vote.lua, by the last reply
}

// newVoteCall returns the call for an article. What it knows of it is that of another call, if there is one.
func (r *Repo) newVoteCall(id site.ArticleID, place site.Placement, other *voteCall) *voteCall {
	c := &voteCall{groups: place.Groups, names: site.GroupNames(place.Groups), posted: place.Posted}
	title := ""
	if other != nil && other.article != nil {
		c.article, c.time, c.isExact, title = other.article, other.time, other.isExact, other.article.Title
	}
	p := r.Store.Partition(id)
	scriptKeys := append(make([]string, 0, 16),
		p.Article(id),               // KEYS[1] article
		p.Voted(id),                 // KEYS[2] voted
		p.Downvoted(id),             // KEYS[3] downvoted
		p.Ranking(site.ByTime),      // KEYS[4] times
		p.Ranking(site.ByScore),     // KEYS[5] scores
		p.Changes(r.Store.Database), // KEYS[6] changes
		p.Audit(id),                 // KEYS[7] audit
	)
	scriptKeys = lists.GroupKeys(scriptKeys, p, site.Interesting) // KEYS[8], [9] and [10]
	if r.Store.On != "" {
		scriptKeys = keys.RankingKeys(scriptKeys, p, c.posted) // KEYS[11] to [17]
	}
	for _, name := range c.names {
		scriptKeys = append(scriptKeys, p.Listing(site.ByScore, name)) // KEYS[18...]
	}
	scriptKeys = r.Rankings.GroupTopKeys(scriptKeys, p, c.posted, c.names...)
	c.words = append(make([]any, 0, 3+len(scriptKeys)), "evalsha", r.voting.vote.Hash(), len(scriptKeys))
	for _, key := range scriptKeys {
		c.words = append(c.words, key)
	}
	c.upvote = r.upvoteStart(c)
	c.args = []any{
		id.String(), // ARGV[1] member
		c.groups,    // ARGV[2] groups
		c.time,      // ARGV[3] known_time
		title,       // ARGV[4] known_title
	}
	return c
}

// voteWords returns the words of a whole command.
func (r *Repo) voteWords(id site.ArticleID, c *voteCall, b ballot) []any {
	words := append(make([]any, 0, len(c.words)+len(c.args)+4), c.words...)
	if r.Store.Has("cast") {
		words = append(words, r.Store.Partition(id).Cast(b.voter, c.posted.Month()))
		words[2] = len(words) - 3
	}
	words = append(words, c.args...)
	return append(words,
		r.Store.ScriptNow(),                      // ARGV[5] now
		positionTexts[b.vote+1]+b.voter.Member(), // ARGV[6]
		b.bucket, // ARGV[7]
	)
}

// isUpvote reports whether upvote.lua will probably do for a call.
func (r *Repo) isUpvote(c *voteCall, b ballot) bool {
	return b.vote == site.Up && b.bucket == "" && !b.reads && c.article != nil && c.isExact &&
		c.article.Poster.Name != b.voter && !c.isUnusual.Load() && (!r.Store.Has("calendar") || c.posted.Day() > r.Rankings.LastFolded())
}

// Indexes of keys of vote.lua, less one.
const (
	keyScores, keyChanges, keyInteresting, keyClock, keyHours, keyEvents = 4, 5, 7, 10, 11, 16

	firstWithout, firstWith = 10, 17 // the first listing, without features and with some
)

// upvoteStart returns the command for upvote.lua, up to the key of the vote.
func (r *Repo) upvoteStart(c *voteCall) []any {
	keys, listings := c.words[3:], firstWithout
	words := append(make([]any, 0, len(c.words)), "evalsha", r.voting.upvote.Hash(), 0,
		keys[0], // KEYS[1] article
		keys[1], // KEYS[2] voted
		keys[keyScores],
		keys[keyChanges],
	)
	if r.Store.On != "" {
		listings = firstWith
		words = append(words, keys[keyClock], keys[keyHours], keys[keyEvents]) // KEYS[5] to [7]
	}
	words = append(words, keys[keyInteresting], keys[keyInteresting+1]) // KEYS[8] and [9]
	calendars := listings + len(c.names)
	words = append(words, keys[listings:calendars]...) // KEYS[10...]
	for ; calendars < len(keys); calendars += 4 {
		words = append(words, keys[calendars], keys[calendars+1]) // clock and hours
	}
	words[2] = len(words) - 3
	if r.Store.Has("cast") {
		words[2] = len(words) - 2
	}
	return slices.Clone(words) // without room for more
}

// upvoteWords returns the words of a whole command, for upvote.lua.
func (r *Repo) upvoteWords(id site.ArticleID, c *voteCall, b ballot) []any {
	words := append(make([]any, 0, len(c.upvote)+len(c.args)+3), c.upvote...)
	if r.Store.Has("cast") {
		words = append(words, r.Store.Partition(id).Cast(b.voter, c.posted.Month()))
	}
	words = append(append(words, c.args...), b.voter.Member()) // ARGV[1] to [5]
	if now := r.Store.ScriptNow(); now != "" {
		words = append(words, now) // ARGV[6] now
	}
	return words
}

// positionTexts are the positions from Down on, as an argument of vote.lua begins.
var positionTexts = [...]string{"-1 ", "0 ", "1 "}

// Elements of the reply OK of vote.lua.
const (
	restOfArticle  = 4
	positionBefore = 5

	fixedPosition = 2 // instead of a position
)

// voted returns an article after votes, and remembers its call for the next ones unless that is the remembered one.
func (r *Repo) voted(id site.ArticleID, call, remembered *voteCall, answer wire.Reply) (*site.Article, error) {
	isUnusual := answer.Number(2) > 0 || answer.Number(1)+1 == int64(r.Store.Rules.InterestingVotes)
	if rest, ok := answer[restOfArticle].([]any); ok {
		hash, err := articles.HashIn(rest)
		if err != nil {
			return nil, err
		}
		article := new(articles.Decoded)
		if err := r.Articles.Decode(id, hash, article); err != nil {
			return nil, err
		}
		time := wire.Reply(rest).Text(0)
		call = r.newVoteCall(id, site.Placement{Groups: call.groups, Posted: site.HourOfText(time)}, &voteCall{article: &article.Article, time: time, isExact: hash.Time == time})
	}
	call.isUnusual.Store(isUnusual)
	if call.article == nil {
		return nil, fmt.Errorf("vote on %v: the script's reply %v has no hash", id, answer)
	}
	if call != remembered {
		r.voting.calls.add(id, call)
		r.Articles.Placements.Add(id, site.Placement{Groups: call.groups, Posted: call.posted})
	}
	article := *call.article
	article.Groups = call.names
	article.DeletedAt, article.DeletedBy = nil, nil
	r.Articles.SetVotes(&article, float64(answer.Number(1)), float64(answer.Number(2)))
	article.Stored.Revision = answer.Number(3)
	r.Articles.OnRead(&article)
	return &article, nil
}

// callsCacheSize is the number of articles for which a Repo remembers calls.
const callsCacheSize = 10_000

// maxCallBytes is about how many bytes the calls of voteCalls take.
const maxCallBytes = 32 << 20

// voteCalls are the calls for the articles that were voted on last.
type voteCalls struct {
	mu    sync.Mutex
	calls *simplelru.LRU[site.ArticleID, *voteCall]
	bytes int
}

func newVoteCalls() (*voteCalls, error) {
	v := new(voteCalls)
	var err error
	v.calls, err = simplelru.NewLRU(callsCacheSize, func(_ site.ArticleID, c *voteCall) { v.bytes -= c.size() })
	return v, err
}

// get returns the call for an article, or nil.
func (v *voteCalls) get(id site.ArticleID) *voteCall {
	v.mu.Lock()
	defer v.mu.Unlock()
	c, _ := v.calls.Get(id)
	return c
}

func (v *voteCalls) add(id site.ArticleID, c *voteCall) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls.Remove(id)
	v.bytes += c.size()
	v.calls.Add(id, c)
	for v.bytes > maxCallBytes {
		v.calls.RemoveOldest()
	}
}

// forget drops all calls.
func (v *voteCalls) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls.Purge()
}

// size is about how many bytes a call takes.
func (c *voteCall) size() int {
	n := 500 + 50*(len(c.words)+len(c.args)) + 16*len(c.upvote) + 2*len(c.groups) + 2*len(c.article.Title)
	for _, text := range []*string{c.article.Link, c.article.Text} {
		if text != nil {
			n += len(*text)
		}
	}
	return n
}
