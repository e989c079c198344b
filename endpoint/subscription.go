package endpoint

import (
	"context"
	"crypto/sha256"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/99designs/gqlgen/graphql"

	"frontpage/endpoint/plan"
	"frontpage/redisrepo/live"
	"frontpage/redisrepo/site"
)

// subscription is a running subscription over either transport. The path of an event:
//
//  1. A watched article changes, and the channel Wake of its watch has a value.
//  2. The transport, once its client can take more, calls take. For each changed article it makes an answer, or finds
//     one that another subscription with the same question has made.
//  3. Right before writing, the transport calls renew, which makes the answer again if the article has changed.
//  4. After writing, done ends the deliveries.
//
// Only the resolver of a subscription is called by gqlgen. Its channel stays empty: an answer is made by the compiled
// operation, of an article's newest state, so changes between two events become one event.
type subscription struct {
	*operation
	streams  *streams
	pure     bool              // no field needs more than the event has, so making an answer never waits
	shared   bool              // the answer depends on the article alone: subscriptions with the same question share it
	question [sha256.Size]byte // hash of the document and the name of the operation
	watch    *live.Watch       // nil if the subscription could not begin: first says why
	first    *graphql.Response

	mu     sync.Mutex // held while events are made and sent
	closed bool       // guarded by mu
}

type subscriptionKey struct{}

// event is an article to send, and the answer about its state, or an event of the change feed, which has no article and
// is never made again.
type event struct {
	delivery live.Delivery
	answer
}

// answer is what a subscription answers about one state of an article.
type answer struct {
	article *site.Article // nil for an event of the change feed
	body    []byte        // nil if there is nothing to send
	failed  bool          // a field has an error: the answer is not shared
}

// begin starts a subscription. The caller closes it.
func (s *streams) begin(o *operation) *subscription {
	sub := &subscription{operation: o, streams: s}
	sub.ctx = context.WithValue(o.ctx, subscriptionKey{}, sub)
	response := o.exec.gqlgen(sub.ctx)
	if sub.watch == nil {
		sub.first = o.respondTo(sub.ctx, response)
		return sub
	}
	sub.pure = o.prepared.dependence >= OnEvent
	sub.question = sha256.Sum256([]byte(string(o.onError) + " " + o.asked.Operation.Name + " " + o.asked.RawQuery))
	sub.shrink()
	return sub
}

// shrink drops what events do not need of the operation: a subscription may stay open for days.
func (s *subscription) shrink() {
	s.asked.Extensions = nil
	needed := eventVariables(s.asked.Operation)
	variables := maps.Clone(s.asked.Variables) // equal requests have them in common
	maps.DeleteFunc(variables, func(name string, _ any) bool { return !needed[name] })
	s.asked.Variables = variables
	s.shared = s.prepared.dependence == OnArticle && len(needed) == 0
}

// close ends the subscription. It waits for events that are being sent.
func (s *subscription) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch != nil && !s.closed {
		s.watch.Close()
	}
	s.closed = true
	s.streams.dismiss(s.operation)
}

// Watched passes the watch of a subscription to the transport. The resolver of the subscription returns its results.
func Watched[T any](ctx context.Context, watch *live.Watch, err error) (<-chan T, error) {
	if err != nil {
		return nil, err
	}
	s := ctx.Value(subscriptionKey{}).(*subscription)
	s.watch = watch
	graphql.GetFieldContext(ctx).Args = nil // gqlgen keeps them for as long as the subscription lasts
	return nil, nil
}

type lastEventKey struct{}

// LastEvent returns the id of the last event that the client of a subscription received, or an empty string.
func LastEvent(ctx context.Context) string {
	id, _ := ctx.Value(lastEventKey{}).(string)
	return id
}

// IsEvent reports whether ctx belongs to an event of a subscription.
func IsEvent(ctx context.Context) bool { return ctx.Value(subscriptionKey{}) != nil }

// maxBatch is how many bytes of events are made before they are sent. More would wait in memory for a client that
// does not read.
const maxBatch = 16 << 10

// take makes an event for each article that has changed, until they are maxBatch. more says that some are left.
func (s *subscription) take(k *turn) (events []event, more bool) {
	size := 0
	for size < maxBatch {
		d, ok := s.watch.Take()
		switch {
		case !ok && !s.watch.Behind():
			return events, false
		case !ok && len(events) > 0:
			return events, true
		case !ok:
			if !s.catchUp(k) {
				return nil, false
			}
			continue
		}
		if d.Event() == nil {
			id := d.Newest().ID
			if slices.ContainsFunc(events, func(e event) bool { return e.article.ID == id }) {
				d.Done(true) // renew sends this change
				return events, true
			}
		}
		runtime.Gosched() // requests that are ready to run go first
		e := event{delivery: d}
		e.answer = s.make(&e.delivery, k)
		size += len(e.body)
		events = append(events, e)
	}
	return events, true
}

// catchUp reads posts that the client does not have yet. If it fails, it is called again later.
func (s *subscription) catchUp(k *turn) (ok bool) {
	k.wait(func() {
		s.streams.reading <- struct{}{}
		defer func() { <-s.streams.reading }()
		ok = s.watch.CatchUp(s.ctx) == nil
	})
	return ok
}

// cursor is the watch's cursor after an event. An event with a failed field has none: a client that resumes after the last
// id of its stream gets the article again.
func (e *event) cursor() string {
	if e.failed {
		return ""
	}
	return e.delivery.Cursor()
}

// renew returns what to send for an event, which it makes again if the article has changed.
func (s *subscription) renew(e *event, k *turn) []byte {
	if e.delivery.Event() == nil && e.delivery.Newest() != e.article {
		e.answer = s.make(&e.delivery, k)
	}
	return e.body
}

// make returns the answer about the newest state of an article, a shared one if possible.
func (s *subscription) make(d *live.Delivery, k *turn) (a answer) {
	switch {
	case s.shared:
		return s.share(d)
	case s.pure:
		return s.execute(d)
	}
	k.wait(func() {
		s.streams.reading <- struct{}{}
		defer func() { <-s.streams.reading }()
		if edge := d.Event(); edge != nil {
			a = s.executeOn(edge)
		} else {
			a = s.execute(d)
		}
	})
	return a
}

// share returns an answer that all subscriptions with the same question get. Each is made once: a thousand watchers of one
// page cost a thousand writes, and not a thousand executions.
func (s *subscription) share(d *live.Delivery) answer {
	article := d.Newest()
	key := answerKey{s.question, article.ID}
	// The oldest answers are dropped first, used or not.
	if made, _ := s.streams.answers.peek(key); made.article == article {
		s.streams.sent.shared.Add(1)
		return made
	}
	a := s.execute(d)
	if a.body != nil && !a.failed {
		s.streams.answers.add(key, a, perAnswer+cap(a.body))
	}
	return a
}

// execute makes the answer about an article.
func (s *subscription) execute(d *live.Delivery) (a answer) {
	article := d.Newest()
	switch posted := d.Posted(); {
	case posted == nil:
		a = s.executeOn(article)
	case article.DeletedAt == nil:
		a = s.executeOn(posted)
	}
	a.article = article
	return a
}

// executeOn makes the answer about an article or an event.
func (s *subscription) executeOn(value any) answer {
	s.streams.sent.executed.Add(1)
	text := texts.Get().(*[]byte)
	response := s.respondTo(s.ctx, func(ctx context.Context) *graphql.Response {
		return s.prepared.Event(ctx, value, plan.Request{OnError: s.onError, Text: *text})
	})
	if response == nil { // the subscription has ended
		return answer{}
	}
	body := appendResponse(make([]byte, 0, len(response.Data)+16), response)
	useAgain(text, response)
	return answer{body: body, failed: len(response.Errors) > 0}
}

// done ends the deliveries of events. An article with a failed field is sent again at its next change.
func done(events []event) {
	for i := range events {
		events[i].delivery.Done(!events[i].failed)
	}
}
