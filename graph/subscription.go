package graph

import (
	"context"
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
	audience *audience        // nil when its events are its own
	watch    *redisrepo.Watch // nil when it could not be begun, which first says
	first    *graphql.Response
	articles chan *redisrepo.Article // what next answers about
	next     graphql.ResponseHandler
}

// begin starts a subscription. Its end is close.
func (s *streams) begin(o *operation) *subscription {
	sub := &subscription{operation: o, streams: s, articles: make(chan *redisrepo.Article, 1)}
	sub.next, sub.ctx = o.exec.DispatchOperation(context.WithValue(o.ctx, subscriptionKey{}, sub), o.asked)
	if sub.watch == nil {
		sub.first = sub.next(sub.ctx)
	} else {
		sub.audience = s.join(o)
	}
	return sub
}

func (s *subscription) close() {
	if s.watch != nil {
		s.watch.Close()
		s.streams.leave(s.audience)
	}
}

// watched is what the resolver of a subscription returns: the transport fills
// the channel.
func watched(ctx context.Context, watch *redisrepo.Watch, err error) (<-chan *redisrepo.Article, error) {
	if err != nil {
		return nil, err
	}
	s := ctx.Value(subscriptionKey{}).(*subscription)
	s.watch = watch
	return s.articles, nil
}

// subscribed reports whether ctx is that of an event.
func subscribed(ctx context.Context) bool { return ctx.Value(subscriptionKey{}) != nil }

// take makes the events that there are now, of each article one.
func (s *subscription) take() []event {
	var events []event
	for article := s.watch.Take(); article != nil; article = s.watch.Take() {
		again := func(e event) bool { return e.article.ID == article.ID }
		if slices.ContainsFunc(events, again) {
			break // newest shows it
		}
		events = append(events, s.make(article))
	}
	return events
}

// newest is an event that was taken, made anew if it has become outdated.
func (s *subscription) newest(e event) event {
	if article := s.watch.Newer(e.article); article != nil {
		return s.make(article)
	}
	return e
}

// make answers about an article, unless another of the audience has the answer
// already. The body is nil when the subscription has ended.
func (s *subscription) make(article *redisrepo.Article) event {
	if made, ok := s.audience.made(article); ok {
		return made
	}
	s.streams.turns <- struct{}{}
	defer func() { <-s.streams.turns }()
	// All of an audience wake together: the first that had its turn has made it,
	// and by now there may be news.
	if newer := s.watch.Newer(article); newer != nil {
		article = newer
	}
	if made, ok := s.audience.made(article); ok {
		return made
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
	e := event{article, appendAnswer(make([]byte, 0, len(answer.Data)+16), answer)}
	if len(answer.Errors) == 0 {
		s.audience.keep(e)
	}
	return e
}
