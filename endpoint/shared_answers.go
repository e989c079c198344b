package endpoint

import (
	"crypto/sha256"
	"sync"

	"frontpage/redisrepo"
)

// answerBytes is how many bytes of answers are kept. Each is needed only until it was sent to all watchers.
const answerBytes = 16 << 20

// perAnswer is what an answer takes besides its text, bytes.
const perAnswer = 256

// sharedAnswers are answers that many subscriptions have in common. Each is made once: a thousand watchers of
// one page cost a thousand writes, and not a thousand executions.
type sharedAnswers struct {
	made   *byteCache[answerKey, answer]
	mu     sync.Mutex
	makers map[[sha256.Size]byte]*subscription // by question
}

// answerKey is the question of a subscription, see subscription.question, and the article that it is about.
type answerKey struct {
	question [sha256.Size]byte
	article  redisrepo.ArticleID
}

func newSharedAnswers() *sharedAnswers {
	return &sharedAnswers{
		made:   newByteCache[answerKey, answer](answerBytes, perAnswer),
		makers: map[[sha256.Size]byte]*subscription{},
	}
}

// get returns the answer about this state of an article, if it was made. The oldest answers are dropped first,
// used or not.
func (s *sharedAnswers) get(key answerKey, article *redisrepo.Article) (answer, bool) {
	a, _ := s.made.peek(key)
	return a, a.article == article
}

func (s *sharedAnswers) add(key answerKey, a answer) {
	s.made.add(key, a, perAnswer+cap(a.body))
}

// maker returns the subscription that makes the answers to a question: sub, unless there is another one.
func (s *sharedAnswers) maker(sub *subscription) *subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.makers[sub.question] == nil {
		s.makers[sub.question] = sub
	}
	return s.makers[sub.question]
}

// resign lets another subscription make the answers.
func (s *sharedAnswers) resign(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.makers[sub.question] == sub {
		delete(s.makers, sub.question)
	}
}
