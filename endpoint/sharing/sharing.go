// Package sharing merges equal reads of concurrent callers into one.
package sharing

import (
	"context"
	"sync"
	"time"
)

// perResult is what a result takes besides its value, bytes.
const perResult = 512

// Results are the results of reads, by key. A result serves the callers that wait for its read and, for a short
// time, later ones.
//
// No caller gets a result whose read began longer ago than the lifetime, or before the version last changed. So a
// caller that can know of a change gets a result that includes it, if the version changes before it is announced.
type Results[K comparable, V any] struct {
	lifetime time.Duration
	maxBytes int
	version  func() uint64

	mu     sync.RWMutex
	recent generation[K, V] // begun since turned
	older  generation[K, V] // begun before: all of them are too old at the next turn
	turned time.Time
}

type generation[K comparable, V any] struct {
	results map[K]*result[V]
	bytes   int
}

// result is a read and its outcome.
type result[V any] struct {
	version uint64
	began   time.Time
	cancel  context.CancelFunc // ends the read
	done    chan struct{}      // closed when the read has ended

	// Set before done is closed.
	value V
	ok    bool // whether the read returned: it may have panicked

	// Guarded by Results.mu.
	callers int // that wait for the read
	bytes   int
}

// New returns empty results. version must return another number after each change of the data. If the results exceed
// maxBytes, all are dropped.
func New[K comparable, V any](lifetime time.Duration, maxBytes int, version func() uint64) *Results[K, V] {
	s := &Results[K, V]{lifetime: lifetime, maxBytes: maxBytes, version: version}
	s.reset()
	return s
}

// Do returns the result of a read with this key, its own or another caller's.
//
// read returns a value and its size in bytes. A negative size marks a failure, which only the callers that wait for the
// read get. The context of read has the values of ctx, and ends when all these callers have given up. If ctx ends while
// Do waits for another caller's read, Do returns ctx.Err().
func (s *Results[K, V]) Do(ctx context.Context, key K, read func(context.Context) (value V, bytes int)) (V, error) {
	for {
		if value, ok := s.Get(key); ok {
			return value, nil
		}
		r, shared := s.join(ctx, key)
		if shared != nil {
			s.lead(ctx, shared, key, r, read)
			return r.value, nil
		}
		select {
		case <-r.done:
			if r.ok {
				return r.value, nil
			}
		case <-ctx.Done():
			s.leave(key, r)
			var none V
			return none, ctx.Err()
		}
	}
}

// Get returns the value of a key if its read has ended and it is not too old. It does not wait.
func (s *Results[K, V]) Get(key K) (value V, ok bool) {
	s.mu.RLock()
	r := s.fresh(key, time.Now())
	s.mu.RUnlock()
	if r == nil {
		return value, false
	}
	select {
	case <-r.done:
		return r.value, r.ok
	default:
		return value, false
	}
}

// fresh returns the result for a key, unless it is too old.
func (s *Results[K, V]) fresh(key K, now time.Time) *result[V] {
	r := s.recent.results[key]
	if r == nil {
		r = s.older.results[key]
	}
	if r == nil || now.Sub(r.began) >= s.lifetime || r.version != s.version() {
		return nil
	}
	return r
}

// join returns a result to wait for. If it is a new one, the caller has to read in the context that join returns.
func (s *Results[K, V]) join(ctx context.Context, key K) (*result[V], context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if r := s.fresh(key, now); r != nil {
		r.callers++
		return r, nil
	}
	if now.Sub(s.turned) >= s.lifetime {
		s.older, s.recent, s.turned = s.recent, generation[K, V]{results: map[K]*result[V]{}}, now
	}
	s.recent.remove(key, s.recent.results[key])
	shared, cancel := context.WithCancel(context.WithoutCancel(ctx)) // #nosec G118 -- lead calls it, or leave
	r := &result[V]{version: s.version(), began: now, cancel: cancel, done: make(chan struct{}), callers: 1}
	s.recent.results[key] = r
	s.grow(&s.recent, r, perResult)
	return r, shared
}

// lead reads for all callers that wait. It goes on without the caller that leads while others wait.
func (s *Results[K, V]) lead(ctx, shared context.Context, key K, r *result[V], read func(context.Context) (V, int)) {
	stop := context.AfterFunc(ctx, func() { s.leave(key, r) })
	bytes := -1
	defer func() {
		stop()
		r.cancel()
		s.end(key, r, bytes)
	}()
	r.value, bytes = read(shared)
	r.ok = true
}

// end keeps the result of a read that did not fail.
func (s *Results[K, V]) end(key K, r *result[V], bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range []*generation[K, V]{&s.recent, &s.older} {
		switch {
		case g.results[key] != r: // dropped, or replaced by a later one
		case bytes < 0:
			g.remove(key, r)
		default:
			s.grow(g, r, bytes)
		}
	}
	close(r.done)
}

// leave counts out a caller. The last one ends the read.
func (s *Results[K, V]) leave(key K, r *result[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.callers--; r.callers > 0 {
		return
	}
	r.cancel()
	s.recent.remove(key, r)
	s.older.remove(key, r)
}

// grow adds to the bytes of a result. If there are too many, all results are dropped: they would soon be too old.
func (s *Results[K, V]) grow(g *generation[K, V], r *result[V], bytes int) {
	r.bytes += bytes
	g.bytes += bytes
	if s.recent.bytes+s.older.bytes > s.maxBytes {
		s.reset()
	}
}

func (s *Results[K, V]) reset() {
	s.recent, s.older = generation[K, V]{results: map[K]*result[V]{}}, generation[K, V]{}
}

// remove removes a result, if it is there.
func (g *generation[K, V]) remove(key K, r *result[V]) {
	if r != nil && g.results[key] == r {
		delete(g.results, key)
		g.bytes -= r.bytes
	}
}

// Size returns the number of results, including reads under way, and their size in bytes.
func (s *Results[K, V]) Size() (results, bytes int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.recent.results) + len(s.older.results), s.recent.bytes + s.older.bytes
}
