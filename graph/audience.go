package graph

import (
	"sync"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/redisrepo"
)

// audience are the subscriptions that ask the same about an article. The answer
// is made once for all of them: a thousand that watch one front page cost the
// writing of a thousand messages, and not a thousand executions.
type audience struct {
	key     audienceKey
	members int // the mutex of streams guards it

	mu      sync.Mutex
	answers map[redisrepo.ArticleID]event
}

// audienceKey is a document by its place in the cache of documents: a text is
// there once.
type audienceKey struct {
	document  *ast.QueryDocument
	operation string
}

// event is an article as it stood, and the answer about it.
type event struct {
	article *redisrepo.Article
	body    []byte
}

// made is what was made for another of the audience.
func (a *audience) made(article *redisrepo.Article) (event, bool) {
	if a == nil {
		return event{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.answers[article.ID]
	return e, e.article == article
}

func (a *audience) keep(e event) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.answers) >= audienceAnswers {
		clear(a.answers) // those of articles that nobody watches any more are among them
	}
	a.answers[e.article.ID] = e
}

// audienceAnswers bounds what an audience keeps.
const audienceAnswers = 1000

// join finds the audience of a subscription; nil when the answer is for its
// viewer, or for its moment.
func (s *streams) join(o *operation) *audience {
	if !same(o.asked.Operation.SelectionSet) {
		return nil
	}
	key := audienceKey{o.asked.Doc, o.asked.Operation.Name}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.audiences[key]
	if a == nil {
		a = &audience{key: key, answers: map[redisrepo.ArticleID]event{}}
		s.audiences[key] = a
	}
	a.members++
	return a
}

func (s *streams) leave(a *audience) {
	if a == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.members--; a.members == 0 {
		delete(s.audiences, a.key)
	}
}

// sameForAll are the fields that an article's state decides by itself, by type.
var sameForAll = map[string]map[string]bool{
	"Subscription": {"articleChanged": true, "articlePosted": true},
	"Article": {
		"id": true, "number": true, "title": true, "link": true, "text": true, "poster": true, "createdAt": true,
		"score": true, "votes": true, "upvotes": true, "downvotes": true, "isInteresting": true, "groups": true, "votingEndsAt": true,
	},
	"User":  {"id": true, "name": true},
	"Group": {"id": true, "name": true},
	"Node":  {"id": true},
}

// same reports whether a selection is answered the same for everybody who asks
// about one state of an article. A directive may depend on variables.
func same(set ast.SelectionSet) bool {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if len(s.Directives) > 0 || s.Name != "__typename" && !sameForAll[s.ObjectDefinition.Name][s.Name] || !same(s.SelectionSet) {
				return false
			}
		case *ast.InlineFragment:
			if len(s.Directives) > 0 || !same(s.SelectionSet) {
				return false
			}
		case *ast.FragmentSpread:
			if len(s.Directives) > 0 || !same(s.Definition.SelectionSet) {
				return false
			}
		}
	}
	return true
}
