package endpoint

import (
	"context"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/redisrepo"
)

// StreamLimits bound what stays open. A stream is a WebSocket, or a response of
// server-sent events.
type StreamLimits struct {
	PerAddress int           // streams of one IPv4 address, or one /64 of IPv6
	PerViewer  int           // streams of one user
	Operations int           // operations at once on one WebSocket
	Ping       time.Duration // interval in which each side shows that it is there, and longest time for one write
}

// DefaultStreamLimits leave room for a company behind one address.
func DefaultStreamLimits() StreamLimits {
	return StreamLimits{PerAddress: 10_000, PerViewer: 100, Operations: 100, Ping: 12 * time.Second}
}

// streams are all that are open in this process.
type streams struct {
	limits    StreamLimits
	stopping  context.Context // ends them all
	stop      context.CancelFunc
	makeSlots chan struct{} // one value for each shared answer that is being made
	readSlots chan struct{} // the same for events that read more than the article
	answers   *answers

	sameForAll func(ast.SelectionSet) bool // see Schema

	mu        sync.Mutex
	open      sync.WaitGroup
	addresses map[netip.Addr]int
	viewers   map[redisrepo.UserName]int
}

func newStreams(limits StreamLimits, sameForAll func(ast.SelectionSet) bool) *streams {
	s := &streams{
		limits: limits, addresses: map[netip.Addr]int{}, viewers: map[redisrepo.UserName]int{},
		// Thousands of events that all want to be made would keep votes waiting.
		makeSlots: make(chan struct{}, runtime.GOMAXPROCS(0)), readSlots: make(chan struct{}, 16*runtime.GOMAXPROCS(0)),
		answers: newAnswers(), sameForAll: sameForAll,
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s
}

// enter counts a stream of an address. leave is nil when it must not open.
func (s *streams) enter(req *http.Request) (leave func(), why *refused) {
	address := ViewerOf(req.Context()).Network()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Err() != nil {
		return nil, &refused{code: codeUnavailable, message: "the server is stopping: connect again", status: http.StatusServiceUnavailable}
	}
	if s.addresses[address] >= s.limits.PerAddress {
		return nil, tooManyStreams("your address", s.limits.PerAddress)
	}
	s.addresses[address]++
	s.open.Add(1)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		decrease(s.addresses, address)
		s.open.Done()
	}, nil
}

// enterViewer counts a stream of a user. Nobody has no limit but the address'.
func (s *streams) enterViewer(ctx context.Context) (leave func(), why *refused) {
	name := ViewerOf(ctx).Name
	if name == "" {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.viewers[name] >= s.limits.PerViewer {
		return nil, tooManyStreams(string(name), s.limits.PerViewer)
	}
	s.viewers[name]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		decrease(s.viewers, name)
	}, nil
}

func decrease[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

func tooManyStreams(whose string, allowed int) *refused {
	return &refused{
		code: codeStreamLimit, message: "there are too many open streams of " + whose + ": close one", status: http.StatusTooManyRequests,
		asked: int64(allowed) + 1, allowed: int64(allowed),
	}
}

// shutdown ends all streams, and returns when they are closed or ctx ends.
func (s *streams) shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
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
