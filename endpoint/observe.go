package endpoint

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Observer is notified of each operation, over all transports. Each function may be nil. Many goroutines call them, and
// requests wait for them.
type Observer struct {
	// Begin is called when an operation arrives, before it is read. It returns the operation's context.
	Begin func(context.Context) context.Context
	// End is called once for each Begin: when the response is about to be sent or, for a subscription, when the
	// subscription is open. The context is the operation's, so ViewerOf knows the caller.
	End func(context.Context, Outcome)
}

// Outcome is the result of an operation, or of a request that was rejected before one was read.
type Outcome struct {
	Name      string // of the operation in a valid document; empty if it has none. The client chose it: more than 100 bytes are cut
	Kind      string // query, mutation or subscription; empty if the document is not valid
	Code      string // of the first error; empty without errors
	Transport string // OverHTTP, OverEvents or OverSocket
	Source    Source
	Began     time.Time     // when the request had been read, or was refused before that
	Duration  time.Duration // until the response was made: slow clients do not lengthen it
	Bytes     int           // of the response's body as it is sent, compressed or not
}

// The transports of operations.
const (
	OverHTTP   = "http"
	OverEvents = "sse"
	OverSocket = "websocket"
)

// Source says where a response comes from.
type Source int

// The sources of responses.
const (
	Refused  Source = iota // the operation did not run
	Executed               // it ran
	Shared                 // it ran for another request
)

// receive makes an operation of a request that arrives.
func (e *executor) receive(ctx context.Context, transport string) *operation {
	o := &operation{exec: e, ctx: ctx}
	if len(e.observers) == 0 {
		return o
	}
	o.observed, o.outcome.Transport = true, transport
	for _, by := range e.observers {
		if by.Begin != nil {
			o.ctx = by.Begin(o.ctx)
		}
	}
	return o
}

// read starts the clock when the request has been read.
func (o *operation) read() {
	if o.observed {
		o.outcome.Began = time.Now()
	}
}

// shares notes that the response is another request's.
func (o *operation) shares() { o.outcome.Source = Shared }

// responds notes a response that is about to be sent, and how many bytes it has.
func (o *operation) responds(f *finished, bytes int) {
	source := max(o.outcome.Source, Executed) // or Shared
	if f.refused != nil {
		source = Refused
	}
	o.end(source, f.code, bytes)
}

// begun notes that a subscription is open, or why it is not.
func (o *operation) begun(s *subscription) {
	switch {
	case s.watch != nil:
		o.end(Executed, "", 0)
	case s.first != nil:
		o.end(Refused, firstCode(s.first.Errors), 0)
	default:
		o.end(Refused, codeUnavailable, 0) // the client left
	}
}

// end notifies the observers, unless it has before.
func (o *operation) end(source Source, code string, bytes int) {
	if !o.observed {
		return
	}
	o.observed = false
	outcome := &o.outcome
	outcome.Source, outcome.Code, outcome.Bytes = source, code, bytes
	now := time.Now()
	if outcome.Began.IsZero() {
		outcome.Began = now
	}
	outcome.Duration = now.Sub(outcome.Began)
	if o.prepared != nil {
		outcome.Name, outcome.Kind = cutTo(o.prepared.operation.Name, maxAlias), string(o.prepared.operation.Operation)
	}
	for _, by := range o.exec.observers {
		if by.End != nil {
			by.End(o.ctx, *outcome)
		}
	}
}

// firstCode returns the code of the first of the errors that a client sees.
func firstCode(errs gqlerror.List) string {
	if len(errs) == 0 {
		return ""
	}
	code, _ := errs[0].Extensions["code"].(string)
	return code
}

// Stats are counters since an endpoint was created, and its present state. Operations are reported to
// Options.Observers.
type Stats struct {
	Streams       map[string]int // open now, by transport
	Subscriptions int            // open now
	Watched       int            // articles, one counting once for each subscription that watches it
	StreamBytes   int            // of memory that open streams take, roughly
	StreamLimit   int64          // of StreamBytes

	Events     map[string]Events // sent, by transport
	EventsMade map[Source]uint64 // answers about a change: Executed for one, or Shared with others

	// By kind of operation: query or mutation.
	AtWork, Waiting map[string]int
	Shed            map[string]uint64 // refused since too many waited, or for too long
	MaxConcurrent   int               // limit of AtWork; 0: none

	RateRefusals map[RateRefusal]uint64
	Caches       map[string]CacheStats // documents, requests, answers and events
}

// Events counts events of subscriptions, and the bytes of their answers.
type Events struct{ Sent, Bytes uint64 }

// RateRefusal is a rule whose limit an operation would have exceeded.
type RateRefusal struct {
	Rule      string
	ByAddress bool // the quota was an address's, not a user's
}

// CacheStats say how full a cache is.
type CacheStats struct{ Entries, Bytes int }

// sentEvents counts what streams send.
type sentEvents struct {
	sockets, streams eventCounts
	shared, executed atomic.Uint64
}

type eventCounts struct{ sent, bytes atomic.Uint64 }

// add counts events that go to a client in one write.
func (s *sentEvents) add(transport string, events, bytes int) {
	counts := &s.sockets
	if transport == OverEvents {
		counts = &s.streams
	}
	counts.sent.Add(uint64(events)) // #nosec G115 -- never negative
	counts.bytes.Add(uint64(bytes)) // #nosec G115 -- never negative
}

func (c *eventCounts) read() Events { return Events{c.sent.Load(), c.bytes.Load()} }

// rateRules are the rules of Rates.
var rateRules = [...]string{RuleCost, RuleVotes, RulePosts, RuleChanges, RuleReports}

// refusals count the charges that a rule had no room for: of users, and of addresses.
type refusals [len(rateRules)]struct{ users, addresses atomic.Uint64 }

// count counts what a bill's charges exceed.
func (r *refusals) count(b bill) {
	for i, charge := range b.charges {
		refused := &r[slices.Index(rateRules[:], charge.Rule)]
		switch {
		case b.balances[i].Wait == 0:
		case charge.User == "":
			refused.addresses.Add(1)
		default:
			refused.users.Add(1)
		}
	}
}

// Stats returns the present numbers.
func (h *Handler) Stats() Stats {
	streams, slots, shares := h.streams, h.exec.slots, h.exec.shares
	s := Stats{
		Streams: map[string]int{OverEvents: 0, OverSocket: 0}, StreamLimit: streams.limits.Memory,
		Events:     map[string]Events{OverSocket: streams.sent.sockets.read(), OverEvents: streams.sent.streams.read()},
		EventsMade: map[Source]uint64{Executed: streams.sent.executed.Load(), Shared: streams.sent.shared.Load()},
		AtWork:     map[string]int{}, Waiting: map[string]int{}, Shed: map[string]uint64{}, MaxConcurrent: slots.limit,
	}
	streams.mu.Lock()
	maps.Copy(s.Streams, streams.opened)
	s.Subscriptions, s.Watched, s.StreamBytes = streams.total.subscriptions, streams.total.watched, streams.total.held
	for kind, name := range kindNames {
		s.AtWork[name] = slots.busy[kind]
		s.Waiting[name] = slots.waiting[kind].Len() + shares.waiting[kind].Len()
		s.Shed[name] = slots.shed[kind] + shares.shed[kind]
	}
	streams.mu.Unlock()
	s.RateRefusals = map[RateRefusal]uint64{}
	for i, rule := range rateRules {
		s.RateRefusals[RateRefusal{rule, false}] = h.meter.refused[i].users.Load()
		s.RateRefusals[RateRefusal{rule, true}] = h.meter.refused[i].addresses.Load()
	}
	s.Caches = map[string]CacheStats{
		"documents": h.exec.known.stats(), "requests": h.exec.requests.known.stats(), "events": h.streams.answers.stats(),
	}
	if h.exec.queries != nil {
		results, bytes := h.exec.queries.Size()
		s.Caches["answers"] = CacheStats{results, bytes}
	}
	return s
}

// kindNames are the names of the kinds of operations that take slots.
var kindNames = [kinds]string{mutations: "mutation", queries: "query"}

// stats says how full the cache is.
func (c *byteCache[K, V]) stats() CacheStats {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return CacheStats{c.entries.Len(), c.bytes}
}
