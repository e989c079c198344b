package endpoint

import (
	"context"
	"maps"
	"net/http"
	"runtime"
	"sync"
	"time"
)

// StreamLimits bound open streams. A stream is a WebSocket or a response of server-sent events.
type StreamLimits struct {
	PerAddress int           // streams of one IPv4 address, or one /64 of IPv6
	PerViewer  int           // streams of one user
	Operations int           // simultaneous operations on one WebSocket
	Ping       time.Duration // interval in which each side shows that it is alive, and maximum time for one write

	// Watched articles, an article counting once for each subscription that watches it.
	Watched           int // of all subscriptions
	WatchedPerAddress int
	WatchedPerViewer  int
	// Memory is the maximum memory of all subscriptions and WebSockets, bytes. Those of one address, or of one user, may
	// take a fifth.
	Memory int64
}

// DefaultStreamLimits returns limits that suit a company whose users share one address.
func DefaultStreamLimits() StreamLimits {
	return StreamLimits{
		PerAddress: 6_000, PerViewer: 100, Operations: 100, Ping: 12 * time.Second,
		Watched: 1_000_000, WatchedPerAddress: 250_000, WatchedPerViewer: 10_000, Memory: 256 << 20,
	}
}

// streams are all open streams of this process, and what their subscriptions share.
type streams struct {
	*Accounts // its mu guards the fields below reading, but open
	limits    StreamLimits

	watchedBy func(arguments map[string]any) int
	answers   *byteCache[answerKey, answer] // shared ones, the latest
	sent      sentEvents
	turns     *turns
	opening   chan struct{} // a slot is taken while a subscription is charged, and its articles are read
	reading   chan struct{} // a slot is taken while an answer is made that may read more than the article

	open     sync.WaitGroup
	stopping bool                                   // no stream may open
	ends     map[context.Context]context.CancelFunc // of open streams
	opened   map[string]int                         // open streams, by transport
}

func newStreams(accounts *Accounts, limits StreamLimits, schema Schema) *streams {
	return &streams{
		Accounts: accounts, limits: limits, ends: map[context.Context]context.CancelFunc{}, opened: map[string]int{},
		turns: newTurns(accounts), opening: make(chan struct{}, 16*runtime.GOMAXPROCS(0)),
		reading: make(chan struct{}, 16*runtime.GOMAXPROCS(0)),
		answers: newByteCache[answerKey, answer](answerBytes, perAnswer), watchedBy: schema.Watched,
	}
}

// enter counts a stream of the client's address, and the bytes that it takes without subscriptions. The stream has to
// close when ending is done. leave counts it out; it is nil if the stream must not open.
func (s *streams) enter(ctx context.Context, transport string, bytes int) (ending context.Context, leave func(), refused *refusal) {
	client, w := Viewer{Address: ViewerOf(ctx).Address}, weight{streams: 1, bytes: bytes} // who it is may not be known yet
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil, nil, &refusal{code: codeUnavailable, message: "the server is stopping: connect again", status: http.StatusServiceUnavailable}
	}
	if refused := s.add(client, w); refused != nil {
		return nil, nil, refused
	}
	s.opened[transport]++
	s.open.Add(1)
	ending, end := context.WithCancel(context.Background())
	s.ends[ending] = end
	return ending, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		end()
		delete(s.ends, ending)
		s.count(client, w, -1)
		s.opened[transport]--
		s.open.Done()
	}, nil
}

// enterViewer counts a user's stream. Anonymous clients are limited by address only.
func (s *streams) enterViewer(ctx context.Context) (leave func(), refused *refusal) {
	user, w := Viewer{Name: ViewerOf(ctx).Name}, weight{streams: 1}
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused := s.add(user, w); refused != nil {
		return nil, refused
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count(user, w, -1)
	}, nil
}

// begins runs f, which charges or begins a subscription. Of thousands that come at once, a few use the store at a
// time: the others wait here, and not for a connection that requests need.
func (s *streams) begins(ctx context.Context, timeout time.Duration, f func() *refusal) *refusal {
	select {
	case s.opening <- struct{}{}: // without a timer
	default:
		patience := time.NewTimer(timeout)
		defer patience.Stop()
		select {
		case s.opening <- struct{}{}:
		case <-patience.C:
			return tookTooLong(http.StatusServiceUnavailable)
		case <-ctx.Done():
			return wasCancelled()
		}
	}
	defer func() { <-s.opening }()
	return f()
}

// maxPause is the longest time between the ends of two streams when the server stops.
const maxPause = 100 * time.Millisecond

// shutdown ends all streams, one after another over the given time, so that their clients do not all connect to
// another server at one moment. A few streams take less time: at most maxPause each. It returns when all are closed
// or ctx ends.
func (s *streams) shutdown(ctx context.Context, over time.Duration) error {
	s.mu.Lock()
	s.stopping = true
	open := maps.Clone(s.ends)
	s.mu.Unlock()
	pause := min(over/time.Duration(max(len(open)-1, 1)), maxPause)
	next := time.Now()
	for ending, end := range open {
		if ending.Err() != nil {
			continue // it has closed by itself
		}
		select {
		case <-time.After(time.Until(next)):
		case <-ctx.Done():
		}
		end()
		next = next.Add(pause)
	}
	closed := make(chan struct{})
	go func() {
		s.open.Wait()
		close(closed)
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
