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
	shared   bool              // the answer depends on the article alone: subscriptions with the same question share it
	question [sha256.Size]byte // hash of the document and the name of the operation
	posts    bool              // new articles are watched for, so that deleted ones are passed over
	watch    *redisrepo.Watch  // nil when the subscription could not begin: first says why
	first    *graphql.Response
	articles chan *redisrepo.Article // what next answers about
	next     graphql.ResponseHandler
}

// event is an article to send, and the answer about its state.
type event struct {
	delivery redisrepo.Delivery
	answer
}

// answer is what a subscription answers about one state of an article.
type answer struct {
	article *redisrepo.Article
	body    []byte
	failed  bool // a field has an error: the answer is not shared
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
	sub.question = sha256.Sum256([]byte(o.asked.Operation.Name + " " + o.asked.RawQuery))
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

// take makes an event for each article that has news.
func (s *subscription) take() []event {
	var events []event
	for d, ok := s.watch.Take(); ok; d, ok = s.watch.Take() {
		id := d.Newest().ID
		if slices.ContainsFunc(events, func(e event) bool { return e.article.ID == id }) {
			d.Done(true) // renew sends it
			break
		}
		e := event{delivery: d}
		e.answer = s.make(&e.delivery)
		events = append(events, e)
	}
	return events
}

// renew returns what to send for an event, made again if its article has changed.
// It is nil when there is nothing to send.
func (s *subscription) renew(e *event) []byte {
	if e.delivery.Newest() != e.article {
		e.answer = s.make(&e.delivery)
	}
	return e.body
}

// make answers about an article, by a shared answer if there is one. The body is
// nil when there is nothing to send, as when the subscription has ended.
func (s *subscription) make(d *redisrepo.Delivery) answer {
	if !s.shared {
		s.streams.readSlots <- struct{}{}
		defer func() { <-s.streams.readSlots }()
		return s.execute(d.Newest())
	}
	key := answerKey{s.question, d.Newest().ID}
	if made, ok := s.streams.answers.of(key, d.Newest()); ok {
		return made
	}
	s.streams.makeSlots <- struct{}{}
	defer func() { <-s.streams.makeSlots }()
	// All watchers of an article wake at once. The first to get a slot has made the
	// answer, and meanwhile the article may have changed.
	article := d.Newest()
	if made, ok := s.streams.answers.of(key, article); ok {
		return made
	}
	a := s.execute(article)
	if a.body != nil && !a.failed {
		s.streams.answers.keep(key, a)
	}
	return a
}

func (s *subscription) execute(article *redisrepo.Article) answer {
	if s.posts && article.DeletedAt != nil {
		return answer{article: article}
	}
	select {
	case s.articles <- article:
	case <-s.ctx.Done():
		return answer{article: article}
	}
	response := s.next(s.ctx)
	if response == nil {
		return answer{article: article}
	}
	body := appendResponse(make([]byte, 0, len(response.Data)+16), response)
	return answer{article, body, len(response.Errors) > 0}
}

// done ends the deliveries of events. Take returns an article with a failed field
// again at its next change.
func done(events []event) {
	for i := range events {
		events[i].delivery.Done(!events[i].failed)
	}
}
