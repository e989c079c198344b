package endpoint

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/99designs/gqlgen/graphql"

	"frontpage/redisrepo"
)

// subscription is a running subscription over either transport. The path of an event:
//
//  1. A watched article changes, and the channel Wake of its watch has a value.
//  2. The transport, once its client can take more, calls take. For each changed article it makes an answer, or finds
//     one that another subscription with the same question has made.
//  3. Right before writing, the transport calls renew, which makes the answer again if the article has changed.
//  4. After writing, done ends the deliveries.
//
// To make an answer, the article is sent to gqlgen through the channel that the resolver got from Watched,
// and gqlgen is asked for the next response. Nothing waits in that channel: changes between two events become
// one event.
type subscription struct {
	*operation
	streams  *streams
	shared   bool              // the answer depends on the article alone: subscriptions with the same question share it
	question [sha256.Size]byte // hash of the document and the name of the operation
	posts    bool              // it watches for new articles and skips deleted ones
	watch    *redisrepo.Watch  // nil if the subscription could not begin: first says why
	first    *graphql.Response
	articles chan *redisrepo.Article // next takes an article from it and answers about it
	next     graphql.ResponseHandler
}

type subscriptionKey struct{}

// event is an article to send, and the answer about its state.
type event struct {
	delivery redisrepo.Delivery
	answer
}

// answer is what a subscription answers about one state of an article.
type answer struct {
	article *redisrepo.Article
	body    []byte // nil if there is nothing to send
	failed  bool   // a field has an error: the answer is not shared
}

// begin starts a subscription. The caller closes it.
func (s *streams) begin(o *operation) *subscription {
	sub := &subscription{operation: o, streams: s, articles: make(chan *redisrepo.Article, 1)}
	sub.next, sub.ctx = o.exec.DispatchOperation(context.WithValue(o.ctx, subscriptionKey{}, sub), o.asked)
	if sub.watch == nil {
		sub.first = sub.next(sub.ctx)
		return sub
	}
	sub.shared = s.sameForAll != nil && s.sameForAll(o.asked.Operation.SelectionSet)
	sub.question = sha256.Sum256([]byte(o.asked.Operation.Name + " " + o.asked.RawQuery))
	sub.posts = sub.watch.OfPosts()
	// gqlgen does not set the field of the subscription, and errors below it would lack it in their paths.
	root := rootFields(o.asked)[0]
	sub.ctx = graphql.WithFieldContext(sub.ctx, &graphql.FieldContext{Object: root.ObjectDefinition.Name, Field: root})
	return sub
}

func (s *subscription) close() {
	if s.watch != nil {
		s.watch.Close()
	}
}

// Watched is called by the resolver of a subscription, which returns its results. It hands the watch to the
// transport, which sends articles to the channel.
func Watched(ctx context.Context, watch *redisrepo.Watch, err error) (<-chan *redisrepo.Article, error) {
	if err != nil {
		return nil, err
	}
	s := ctx.Value(subscriptionKey{}).(*subscription)
	s.watch = watch
	return s.articles, nil
}

// IsEvent reports whether ctx belongs to an event of a subscription.
func IsEvent(ctx context.Context) bool { return ctx.Value(subscriptionKey{}) != nil }

// take makes an event for each article that has changed.
func (s *subscription) take() []event {
	var events []event
	for d, ok := s.watch.Take(); ok; d, ok = s.watch.Take() {
		id := d.Newest().ID
		if slices.ContainsFunc(events, func(e event) bool { return e.article.ID == id }) {
			d.Done(true) // renew sends this change
			break
		}
		e := event{delivery: d}
		e.answer = s.make(&e.delivery)
		events = append(events, e)
	}
	return events
}

// renew returns what to send for an event, which it makes again if the article has changed.
func (s *subscription) renew(e *event) []byte {
	if e.delivery.Newest() != e.article {
		e.answer = s.make(&e.delivery)
	}
	return e.body
}

// make returns the answer about the newest state of an article, a shared one if possible.
func (s *subscription) make(d *redisrepo.Delivery) answer {
	if !s.shared {
		s.streams.readSlots <- struct{}{}
		defer func() { <-s.streams.readSlots }()
		return s.execute(d.Newest())
	}
	article := d.Newest()
	key := answerKey{s.question, article.ID}
	if made, ok := s.streams.answers.get(key, article); ok {
		return made
	}
	s.streams.makeSlots <- struct{}{}
	defer func() { <-s.streams.makeSlots }()
	// All watchers of an article wake at once. The first one to get a slot may have made the answer
	// meanwhile, or the article may have changed.
	article = d.Newest()
	if made, ok := s.streams.answers.get(key, article); ok {
		return made
	}
	a := s.execute(article)
	if a.body != nil && !a.failed {
		s.streams.answers.add(key, a)
	}
	return a
}

// execute makes the answer about an article.
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

// done ends the deliveries of events. An article with a failed field is sent again at its next change.
func done(events []event) {
	for i := range events {
		events[i].delivery.Done(!events[i].failed)
	}
}
