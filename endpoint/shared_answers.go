package endpoint

import (
	"crypto/sha256"

	"frontpage/redisrepo/site"
)

// answerBytes is how many bytes of answers are kept. Each is needed only until it was sent to all watchers.
const answerBytes = 16 << 20

// perAnswer is what an answer takes besides its text, bytes.
const perAnswer = 256

// sharedAnswers are answers that many subscriptions have in common. Each is made once: a thousand watchers of
// one page cost a thousand writes, and not a thousand executions.
type sharedAnswers struct{ made *byteCache[answerKey, answer] }

// answerKey is the question of a subscription, see subscription.question, and the article that it is about.
type answerKey struct {
	question [sha256.Size]byte
	article  site.ArticleID
}

func newSharedAnswers() *sharedAnswers {
	return &sharedAnswers{newByteCache[answerKey, answer](answerBytes, perAnswer)}
}

// get returns the answer about this state of an article, if it was made. The oldest answers are dropped first,
// used or not.
func (s *sharedAnswers) get(key answerKey, article *site.Article) (answer, bool) {
	a, _ := s.made.peek(key)
	return a, a.article == article
}

func (s *sharedAnswers) add(key answerKey, a answer) {
	s.made.add(key, a, perAnswer+cap(a.body))
}
