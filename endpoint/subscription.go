package endpoint

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/99designs/gqlgen/graphql"

	"frontpage/redisrepo"
)

type subscriptionKey struct{}

// subscription is one that runs. Its events are taken when they can be shown and
// not before, so that each is as new as can be.
type subscription struct {
	*operation
	streams  *streams
	shared   bool // whether others may ask the same, which is
	asks     [sha256.Size]byte
	posts    bool             // whether it is told of new articles, and so of none that is deleted
	watch    *redisrepo.Watch // nil when it could not be begun, which first says
	first    *graphql.Response
	articles chan *redisrepo.Article // what next answers about
	next     graphql.ResponseHandler
}

// event is an article as it stood, and the answer about it.
type event struct {
	article *redisrepo.Article
	body    []byte
	failed  bool // in a field: it is to be made again
}

// begin starts a subscription. Its end is close.
func (s *streams) begin(o *operation) *subscription {
	sub := &subscription{operation: o, streams: s, articles: make(chan *redisrepo.Article, 1)}
	sub.next, sub.ctx = o.exec.DispatchOperation(context.WithValue(o.ctx, subscriptionKey{}, sub), o.asked)
	if sub.watch == nil {
		sub.first = sub.next(sub.ctx)
		return sub
	}
	sub.shared = s.sameForAll(o.asked.Operation.SelectionSet)
	sub.asks = sha256.Sum256([]byte(o.asked.Operation.Name + " " + o.asked.RawQuery))
	// gqlgen leaves this field out of the paths of what fails below it.
	root := rootFields(o.asked)[0]
	sub.posts = sub.watch.OfPosts()
	sub.ctx = graphql.WithFieldContext(sub.ctx, &graphql.FieldContext{Object: root.ObjectDefinition.Name, Field: root})
	return sub
}

func (s *subscription) close() {
	if s.watch != nil {
		s.watch.Close()
	}
}

// Watched is what the resolver of a subscription returns: the transport fills
// the channel.
func Watched(ctx context.Context, watch *redisrepo.Watch, err error) (<-chan *redisrepo.Article, error) {
	if err != nil {
		return nil, err
	}
	s := ctx.Value(subscriptionKey{}).(*subscription)
	s.watch = watch
	return s.articles, nil
}

// IsEvent reports whether ctx is that of an event.
func IsEvent(ctx context.Context) bool { return ctx.Value(subscriptionKey{}) != nil }

// take makes the events that there are now, of each article one.
func (s *subscription) take() []event {
	var events []event
	for article := s.watch.Take(); article != nil; article = s.watch.Take() {
		again := func(e event) bool { return e.article.ID == article.ID }
		if slices.ContainsFunc(events, again) {
			break // renew shows it
		}
		events = append(events, s.make(article))
	}
	return events
}

// renew makes an event that was taken anew if it has become outdated.
func (s *subscription) renew(e *event) []byte {
	if article := s.watch.Newer(e.article); article != nil {
		*e = s.make(article)
	}
	return e.body
}

// make answers about an article, unless the answer is there already. The body is
// nil when there is nothing to tell, as when the subscription has ended.
func (s *subscription) make(article *redisrepo.Article) event {
	if !s.shared {
		s.streams.reading <- struct{}{}
		defer func() { <-s.streams.reading }()
		return s.execute(article)
	}
	key := answerKey{s.asks, article.ID}
	if made, ok := s.streams.answers.of(key, article); ok {
		return made
	}
	s.streams.turns <- struct{}{}
	defer func() { <-s.streams.turns }()
	// All who watch an article wake together: the first that had its turn has made
	// the answer, and by now there may be news.
	if newer := s.watch.Newer(article); newer != nil {
		article = newer
	}
	if made, ok := s.streams.answers.of(key, article); ok {
		return made
	}
	e := s.execute(article)
	if e.body != nil && !e.failed {
		s.streams.answers.keep(key, e)
	}
	return e
}

func (s *subscription) execute(article *redisrepo.Article) event {
	if s.posts && article.DeletedAt != nil {
		return event{article: article}
	}
	select {
	case s.articles <- article:
	case <-s.ctx.Done():
		return event{article: article}
	}
	answer := s.next(s.ctx)
	if answer == nil {
		return event{article: article}
	}
	body := appendAnswer(make([]byte, 0, len(answer.Data)+16), answer)
	return event{article, body, len(answer.Errors) > 0}
}

// shown is called behind each round: what failed is shown again with other news.
func (s *subscription) shown(round []event) {
	for _, e := range round {
		if e.failed {
			s.watch.Again(e.article)
		}
	}
	s.watch.Shown()
}
