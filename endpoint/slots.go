package endpoint

import (
	"container/list"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// slotPatience is how long an operation waits for a slot. Every refusal takes as long: a client that comes back at
	// once cannot keep the server busy with refusals.
	slotPatience = 500 * time.Millisecond
	// waitingPerSlot is how many operations of a kind may wait, for each slot. Each holds a few kilobytes.
	waitingPerSlot = 32
)

// Kinds of operations. Each has a quarter of the slots for itself, and a freed slot goes to a mutation first.
const (
	mutations = iota
	queries
	kinds
)

// slots bound the queries and mutations at work. Under more load than the server can carry, operations wait for a slot
// first, and then some are refused, so that the others take not much longer than usual.
type slots struct {
	allowed int // for one kind
	longest int // that the operations of one kind may wait

	mu      sync.Mutex
	free    int
	busy    [kinds]int
	shed    [kinds]uint64    // how many were refused
	waiting [kinds]list.List // of chan struct{}, which is closed when the operation gets a slot
}

// newSlots makes n slots. If n is 0, nil is returned, which does not bound anything.
func newSlots(n int) *slots {
	if n == 0 {
		return nil
	}
	return &slots{allowed: n - n/4, longest: waitingPerSlot * n, free: n}
}

// acquire takes a slot for an operation, which must release it.
func (s *slots) acquire(ctx context.Context, kind int) *refusal {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	if s.waiting[kind].Len() == 0 && s.available(kind) {
		s.take(kind)
		s.mu.Unlock()
		return nil
	}
	if s.waiting[kind].Len() >= s.longest {
		s.mu.Unlock()
		return s.refuse(ctx, kind)
	}
	granted := make(chan struct{})
	place := s.waiting[kind].PushBack(granted)
	s.mu.Unlock()

	patience := time.NewTimer(slotPatience)
	defer patience.Stop()
	select {
	case <-granted:
		return nil
	case <-patience.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-granted: // at the last moment
		return nil
	default:
	}
	s.waiting[kind].Remove(place)
	if ctx.Err() != nil {
		return wasCancelled()
	}
	s.shed[kind]++
	return overloaded
}

// release returns the slot of an operation.
func (s *slots) release(kind int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.busy[kind]--
	for kind := range kinds {
		for s.waiting[kind].Len() > 0 && s.available(kind) {
			s.take(kind)
			close(s.waiting[kind].Remove(s.waiting[kind].Front()).(chan struct{}))
		}
	}
}

func (s *slots) available(kind int) bool { return s.free > 0 && s.busy[kind] < s.allowed }

func (s *slots) take(kind int) {
	s.free--
	s.busy[kind]++
}

// likelyKind returns the kind of a request's operation. It may be wrong about one with the word mutation in a name or a
// text, or with escaped letters.
func likelyKind(request string) int {
	if strings.Contains(request, "mutation") {
		return mutations
	}
	return queries
}

// full reports whether an operation would be refused.
func (s *slots) full(kind int) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting[kind].Len() >= s.longest
}

// refuse refuses an operation that may not even wait for a slot.
func (s *slots) refuse(ctx context.Context, kind int) *refusal {
	patience := time.NewTimer(slotPatience)
	defer patience.Stop()
	select {
	case <-patience.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shed[kind]++
		return overloaded
	case <-ctx.Done():
		return wasCancelled()
	}
}

// overloaded refuses an operation that got no slot.
var overloaded = &refusal{
	code: codeUnavailable, message: "the server is busy: try again", status: http.StatusServiceUnavailable, wait: retryAfter,
}

// refusedByOverload is overloaded as it is sent. It is made once, since it is sent when there is no time.
var refusedByOverload = overloaded.alone()
