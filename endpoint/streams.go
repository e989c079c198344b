package endpoint

import (
	"context"
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
	// Memory is what all subscriptions and WebSockets may hold, bytes. Those of one address, and of one user, may hold
	// a fifth of it.
	Memory int64
}

// DefaultStreamLimits leave room for a company that shares one address.
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
	stopping bool // no stream may open
	waves    [waves]wave
	last     int            // the wave that got the latest stream
	opened   map[string]int // open streams, by transport
}

// waves is how many groups of streams are ended one after another when the server stops.
const waves = 128

// wave is a group of streams that end together.
type wave struct {
	open   int
	ending context.Context
	end    context.CancelFunc
}

func newStreams(accounts *Accounts, limits StreamLimits, schema Schema) *streams {
	s := &streams{
		Accounts: accounts, limits: limits, opened: map[string]int{},
		turns: newTurns(accounts), opening: make(chan struct{}, 16*runtime.GOMAXPROCS(0)),
		reading: make(chan struct{}, 16*runtime.GOMAXPROCS(0)),
		answers: newByteCache[answerKey, answer](answerBytes, perAnswer), watchedBy: schema.Watched,
	}
	for i := range s.waves {
		s.waves[i].ending, s.waves[i].end = context.WithCancel(context.Background())
	}
	return s
}

// enter counts a stream of the client's address, and the bytes that it takes without subscriptions. The stream has to
// close when ending is done. leave counts it out; it is nil if the stream must not open.
func (s *streams) enter(ctx context.Context, transport string, bytes int) (ending context.Context, leave func(), refused *refusal) {
	client := Viewer{Address: ViewerOf(ctx).Address} // who it is may not be known yet
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil, nil, &refusal{code: codeUnavailable, message: "the server is stopping: connect again", status: http.StatusServiceUnavailable}
	}
	if a := s.addresses[client.Network()]; a != nil && a.streams >= s.limits.PerAddress {
		return nil, nil, tooManyStreams("your address", s.limits.PerAddress)
	}
	w := weight{bytes: bytes}
	if refused := s.add(client, w); refused != nil {
		return nil, nil, refused
	}
	accountOf(s.addresses, client.Network()).streams++
	s.opened[transport]++
	s.open.Add(1)
	s.last = (s.last + 1) % waves
	in := &s.waves[s.last]
	in.open++
	return in.ending, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		accountOf(s.addresses, client.Network()).streams--
		s.remove(client, w)
		s.opened[transport]--
		in.open--
		s.open.Done()
	}, nil
}

// enterViewer counts a user's stream. Anonymous clients are limited by address only.
func (s *streams) enterViewer(ctx context.Context) (leave func(), refused *refusal) {
	name := ViewerOf(ctx).Name
	if name == "" {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := accountOf(s.users, name)
	if a.streams >= s.limits.PerViewer {
		return nil, tooManyStreams(string(name), s.limits.PerViewer)
	}
	a.streams++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		a.streams--
		dropUnused(s.users, name)
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

func tooManyStreams(owner string, allowed int) *refusal {
	return &refusal{
		code: codeStreamLimit, message: "too many open streams for " + owner + ": close one", status: http.StatusTooManyRequests,
		asked: int64(allowed) + 1, allowed: int64(allowed),
	}
}

// maxPause is the longest time between the ends of two streams when the server stops.
const maxPause = 100 * time.Millisecond

// shutdown ends all streams, one after another over the given time, so that their clients do not all connect to
// another server at one moment. A few streams take less time: at most maxPause each. It returns when all are closed
// or ctx ends.
func (s *streams) shutdown(ctx context.Context, over time.Duration) error {
	s.mu.Lock()
	s.stopping = true
	streams, groups := 0, 0
	for i := range s.waves {
		streams += s.waves[i].open
		groups += min(s.waves[i].open, 1)
	}
	s.mu.Unlock()
	pause := min(over, time.Duration(streams-1)*maxPause) / time.Duration(max(groups-1, 1))
	var next <-chan time.Time // when the next wave ends; nil: now
	for i := range s.waves {
		w := &s.waves[i]
		s.mu.Lock()
		empty := w.open == 0
		s.mu.Unlock()
		if !empty && next != nil {
			select {
			case <-next:
			case <-ctx.Done():
			}
		}
		w.end()
		if !empty && pause > 0 {
			next = time.After(pause)
		}
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
