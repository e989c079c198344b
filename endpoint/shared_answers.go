package endpoint

import (
	"crypto/sha256"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

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
	made  *simplelru.LRU[answerKey, answer]
	bytes int // of all of them
}

// answerKey is what is asked, as the hash of the document's text and the name of
// the operation, and about which article.
type answerKey struct {
	question [sha256.Size]byte
	article  redisrepo.ArticleID
}

// perAnswer is what an answer takes besides its text, bytes.
const perAnswer = 256

func newAnswers() *answers {
	a := &answers{}
	var err error
	a.made, err = simplelru.NewLRU(answerBytes/perAnswer, func(_ answerKey, e answer) { a.bytes -= perAnswer + cap(e.body) })
	if err != nil {
		panic(err) // the size above
	}
	return a
}

// of is the answer about this state of an article, if it was made.
func (a *answers) of(key answerKey, article *redisrepo.Article) (answer, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	e, _ := a.made.Peek(key) // the oldest are dropped, used or not: an answer is for a moment
	return e, e.article == article
}

func (a *answers) keep(key answerKey, e answer) {
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
