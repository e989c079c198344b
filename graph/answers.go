package graph

import (
	"crypto/sha256"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/redisrepo"
)

// answerBytes is how much of answers is kept, bytes. They are needed for as long
// as it takes to send them to all who ask.
const answerBytes = 16 << 20

// answers are those of events that many subscriptions ask the same about. Each is
// made once: a thousand that watch one front page cost the writing of a thousand
// messages, and not a thousand executions. It is safe for concurrent use.
type answers struct {
	mu    sync.RWMutex
	made  *simplelru.LRU[answerKey, event]
	bytes int // of all of them
}

// answerKey is what is asked, as the hash of the document's text and the name of
// the operation, and about which article.
type answerKey struct {
	asked   [sha256.Size]byte
	article redisrepo.ArticleID
}

// perAnswer is what an answer takes besides its text, bytes.
const perAnswer = 256

// event is an article as it stood, and the answer about it.
type event struct {
	article *redisrepo.Article
	body    []byte
	failed  bool // in a field: it is to be made again
}

func newAnswers() *answers {
	a := &answers{}
	var err error
	a.made, err = simplelru.NewLRU(answerBytes/perAnswer, func(_ answerKey, e event) { a.bytes -= perAnswer + cap(e.body) })
	if err != nil {
		panic(err) // the size above
	}
	return a
}

// of is the answer about this state of an article, if it was made.
func (a *answers) of(key answerKey, article *redisrepo.Article) (event, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	e, _ := a.made.Peek(key) // the oldest are dropped, used or not: an answer is for a moment
	return e, e.article == article
}

func (a *answers) keep(key answerKey, e event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made.Remove(key) // or it would count twice
	size := perAnswer + cap(e.body)
	if size > answerBytes {
		return
	}
	for a.bytes+size > answerBytes {
		a.made.RemoveOldest()
	}
	a.made.Add(key, e)
	a.bytes += size
}

// sameForAll are the fields that an article's state decides by itself, by type.
var sameForAll = map[string]map[string]bool{
	"Subscription": {"articleChanged": true, "articlePosted": true},
	"Article": {
		"id": true, "number": true, "title": true, "link": true, "text": true, "poster": true, "createdAt": true,
		"score": true, "votes": true, "upvotes": true, "downvotes": true, "isInteresting": true, "groups": true,
		"votingEndsAt": true, "deletedAt": true,
	},
	"User":  {"id": true, "name": true},
	"Group": {"id": true, "name": true},
	"Node":  {"id": true},
}

// asksTheSame reports whether a selection is answered the same for everybody who
// asks about one state of an article. A directive may depend on variables.
func asksTheSame(set ast.SelectionSet) bool {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if len(s.Directives) > 0 || s.Name != "__typename" && !sameForAll[s.ObjectDefinition.Name][s.Name] || !asksTheSame(s.SelectionSet) {
				return false
			}
		case *ast.InlineFragment:
			if len(s.Directives) > 0 || !asksTheSame(s.SelectionSet) {
				return false
			}
		case *ast.FragmentSpread:
			if len(s.Directives) > 0 || !asksTheSame(s.Definition.SelectionSet) {
				return false
			}
		}
	}
	return true
}
