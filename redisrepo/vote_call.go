package redisrepo

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// voteCall is the part of a call of vote.lua that is the same for all votes on an article, and what this process knows of the
// article, so that the script need not reply with its whole hash. The script compares the title, but not the text: if another
// process edited that, an article from here is right but for its text.
type voteCall struct {
	article *site.Article // some state of it; nil if this process knows none
	words   []any         // of the command, up to those of a vote
}

// newVoteCall returns the call for an article that was read with a posting time, as its hash has it, or for an unknown one.
func (r *Repo) newVoteCall(id site.ArticleID, article *site.Article, time string) *voteCall {
	known := ""
	if article != nil {
		known = time + "\n" + site.GroupText(article.Groups) + "\n" + article.Title
	}
	p := r.Store.Partition(id)
	scriptKeys := []string{
		p.Article(id),             // KEYS[1] article
		p.Voted(id),               // KEYS[2] voted
		p.Downvoted(id),           // KEYS[3] downvoted
		p.Ranking(site.ByScore),   // KEYS[4] scores
		p.Events(),                // KEYS[5] events
		p.Group(site.Interesting), // KEYS[6] interesting
		p.Void(id),                // KEYS[7] void
	}
	args := []any{
		id.String(), // ARGV[1] member
		known,       // ARGV[2] known
	}
	return &voteCall{article, wire.ScriptWords(r.voting.script, scriptKeys, args)}
}

// voteWords returns the words of a whole command. The front page of savedHour is believed to be saved.
func (r *Repo) voteWords(id site.ArticleID, c *voteCall, b ballot, savedHour int64) []any {
	words := append(make([]any, 0, len(c.words)+6), c.words...)
	if b.bucket != "" {
		n := words[2].(int)
		words = slices.Insert(words, 3+n, any(r.Store.Partition(id).Audit(id))) // KEYS[8] audit
		words[2] = n + 1
	}
	words = append(words,
		positionTexts[b.vote+1], // ARGV[3] position
		b.voter.Member(),        // ARGV[4] voter
		savedHour,               // ARGV[5] saved_hour
	)
	if now := r.Store.ScriptNow(); now != "" || b.bucket != "" {
		words = append(words, now) // ARGV[6] now
	}
	if b.bucket != "" {
		words = append(words, b.bucket) // ARGV[7] bucket
	}
	return words
}

// positionTexts are the positions from Down on, as vote.lua takes them.
var positionTexts = [...]any{"-1", "0", "1"}

// Elements of the reply OK of vote.lua.
const (
	hashBefore     = 4
	positionBefore = 5

	fixedPosition = 2 // instead of a position
)

// voted returns an article after a vote, and remembers it for the next ones if the reply has its hash.
func (r *Repo) voted(id site.ArticleID, call *voteCall, answer wire.Reply) (*site.Article, error) {
	if before, ok := answer[hashBefore].([]any); ok {
		hash, err := articles.HashIn(wire.Reply{nil, before})
		if err != nil {
			return nil, err
		}
		article := new(articles.Decoded)
		if err := r.Articles.Decode(id, hash, article); err != nil {
			return nil, err
		}
		call = r.newVoteCall(id, &article.Article, hash.Time)
		r.voting.calls.add(id, call)
		r.Articles.GroupTexts.Add(id, strings.Clone(hash.Groups))
	}
	if call.article == nil {
		return nil, fmt.Errorf("vote on %v: the script's reply %v has no hash", id, answer)
	}
	article := *call.article
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
func (c *voteCall) size() int { return c.article.Bytes() + len(c.article.Title) + 600 }
