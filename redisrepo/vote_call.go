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

// voteCall is the part of a call of vote.lua that is the same for all votes on an article, and what this process needs
// to know of the article if the script does not reply with its whole hash.
type voteCall struct {
	groups  string           // as the hash lists them, or did: the script compares
	names   []site.GroupName // the same
	article *site.Article    // some state of it: what never changes is right; nil if this process knows none
	time    string           // its posting time as the hash has it
	words   []any            // of the command, up to those of a vote
}

// newVoteCall returns the call for an article in some groups. It reuses what another call knows of the article, if there is one.
func (r *Repo) newVoteCall(id site.ArticleID, e expected, other *voteCall) *voteCall {
	c := &voteCall{groups: e.groups, names: site.GroupNames(e.groups)}
	title := ""
	if other != nil && other.article != nil {
		c.article, c.time, title = other.article, other.time, other.article.Title
	}
	p := r.Store.Partition(id)
	scriptKeys := append(make([]string, 0, 16),
		p.Article(id),                            // KEYS[1]
		p.Voted(id),                              // KEYS[2]
		p.Downvoted(id),                          // KEYS[3]
		p.Ranking(site.ByScore),                  // KEYS[4]
		p.Events(),                               // KEYS[5]
		p.Group(site.Interesting),                // KEYS[6]
		p.Listing(site.ByTime, site.Interesting), // KEYS[7]
		p.Void(id),                               // KEYS[8]
		p.Listing(site.ByScore, site.Interesting), // KEYS[9]
	)
	for _, name := range c.names {
		scriptKeys = append(scriptKeys, p.Listing(site.ByScore, name)) // KEYS[10...]
	}
	c.words = wire.ScriptWords(r.voting.script, scriptKeys, []any{
		id.String(), // ARGV[1]
		c.groups,    // ARGV[2]
		c.time,      // ARGV[3]
		title,       // ARGV[4]
	})
	return c
}

// voteWords returns the words of a whole command. The front page of savedHour is believed to be saved.
func (r *Repo) voteWords(id site.ArticleID, c *voteCall, b ballot, savedHour int64) []any {
	words := append(make([]any, 0, len(c.words)+7), c.words...)
	addKey := func(key string) {
		n := words[2].(int)
		words = slices.Insert(words, 3+n, any(key))
		words[2] = n + 1
	}
	if b.bucket != "" {
		addKey(r.Store.Partition(id).Audit(id))
	}
	words = append(words,
		positionTexts[b.vote+1], // ARGV[5]
		b.voter.Member(),        // ARGV[6]
		savedHour,               // ARGV[7]
	)
	if now := r.Store.ScriptNow(); now != "" || b.bucket != "" {
		words = append(words, now) // ARGV[8]
	}
	if b.bucket != "" {
		words = append(words, b.bucket) // ARGV[9]
	}
	return words
}

// positionTexts are the positions from Down on, as vote.lua takes them.
var positionTexts = [...]any{"-1", "0", "1"}

// Elements of the reply OK of vote.lua.
const (
	restOfArticle  = 4
	positionBefore = 5

	fixedPosition = 2 // instead of a position
)

// voted returns an article after votes, and remembers its call for the next ones unless that is the remembered one.
func (r *Repo) voted(id site.ArticleID, call, remembered *voteCall, answer wire.Reply) (*site.Article, error) {
	if rest, ok := answer[restOfArticle].([]any); ok {
		hash, err := articles.HashIn(wire.Reply{nil, rest})
		if err != nil {
			return nil, err
		}
		article := new(articles.Decoded)
		if err := r.Articles.Decode(id, hash, article); err != nil {
			return nil, err
		}
		call = r.newVoteCall(id, expected{groups: call.groups}, &voteCall{article: &article.Article, time: strings.Clone(hash.Time)})
	}
	if call.article == nil {
		return nil, fmt.Errorf("vote on %v: the script's reply %v has no hash", id, answer)
	}
	if call != remembered {
		r.voting.calls.add(id, call)
		r.Articles.GroupTexts.Add(id, call.groups)
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
	n := 500 + 50*len(c.words) + 2*len(c.groups) + 2*len(c.article.Title)
	for _, text := range []*string{c.article.Link, c.article.Text} {
		if text != nil {
			n += len(*text)
		}
	}
	return n
}
