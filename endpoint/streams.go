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

// StreamLimits bound open streams. A stream is a WebSocket or a response of server-sent events.
type StreamLimits struct {
	PerAddress int           // streams of one IPv4 address, or one /64 of IPv6
	PerViewer  int           // streams of one user
	Operations int           // simultaneous operations on one WebSocket
	Ping       time.Duration // interval in which each side shows that it is alive, and maximum time for one write
}

// DefaultStreamLimits leave room for a company that shares one address.
func DefaultStreamLimits() StreamLimits {
	return StreamLimits{PerAddress: 10_000, PerViewer: 100, Operations: 100, Ping: 12 * time.Second}
}

// streams are all open streams of this process, and what their subscriptions share.
type streams struct {
	limits   StreamLimits
	stopping context.Context // ends all streams
	stop     context.CancelFunc

	sameForAll func(ast.SelectionSet) bool // see Schema; nil if no answer is shared
	answers    *sharedAnswers
	// A slot is taken while an answer is made: makeSlots for shared ones, readSlots for those that read more than
	// the article. Otherwise thousands of events would delay votes.
	makeSlots, readSlots chan struct{}

	mu        sync.Mutex
	open      sync.WaitGroup
	addresses map[netip.Addr]int
	viewers   map[redisrepo.UserName]int
}

func newStreams(limits StreamLimits, sameForAll func(ast.SelectionSet) bool) *streams {
	s := &streams{
		limits: limits, addresses: map[netip.Addr]int{}, viewers: map[redisrepo.UserName]int{},
		makeSlots: make(chan struct{}, runtime.GOMAXPROCS(0)), readSlots: make(chan struct{}, 16*runtime.GOMAXPROCS(0)),
		answers: newSharedAnswers(), sameForAll: sameForAll,
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s
}

// enter counts a stream of the client's address. leave counts it out; it is nil if the stream must not open.
func (s *streams) enter(req *http.Request) (leave func(), refused *refusal) {
	address := ViewerOf(req.Context()).Network()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Err() != nil {
		return nil, &refusal{code: codeUnavailable, message: "the server is stopping: connect again", status: http.StatusServiceUnavailable}
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

// enterViewer counts a user's stream. Anonymous clients are limited by address only.
func (s *streams) enterViewer(ctx context.Context) (leave func(), refused *refusal) {
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

func tooManyStreams(owner string, allowed int) *refusal {
	return &refusal{
		code: codeStreamLimit, message: "too many open streams for " + owner + ": close one", status: http.StatusTooManyRequests,
		asked: int64(allowed) + 1, allowed: int64(allowed),
	}
}

// shutdown ends all streams. It returns when they are closed or ctx ends.
func (s *streams) shutdown(ctx context.Context) error {
	s.mu.Lock() // enter counts no stream after this
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
