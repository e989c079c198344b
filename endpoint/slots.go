package endpoint

import (
	"container/list"
	"context"
	"math"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"time"
)

const (
	// slotPatience is how long an operation waits for a slot. Every refusal takes as long: a client that comes back at
	// once cannot keep the server busy with refusals.
	slotPatience = 500 * time.Millisecond
	// waitingPerSlot is how many operations of a kind may wait, for each slot. Each holds a few kilobytes.
	waitingPerSlot = 32
	// waitingPerAddress is how many operations of one address may wait for its share.
	waitingPerAddress = 128
	// unreadBytes is how much of the responses to one address may be on its way before its next operation waits. A client
	// that does not read holds a response until the server's WriteTimeout.
	unreadBytes = 16 << 20
)

// perAddress is how many operations of a kind of one address are at work at a time, while the rate of cost counts them: with
// half of the CPUs, those of others find another one idle. With more, others would also wait for several commands in Redis.
var perAddress = max(1, runtime.GOMAXPROCS(0)/2)

// Kinds of operations. Each has a quarter of the slots for itself, and a freed slot goes to a mutation first.
const (
	mutations = iota
	queries
	kinds
)

// slots bound the queries and mutations at work. Under more load than the server can carry, operations wait for a slot
// first, and then some are refused, so that the others take not much longer than usual.
type slots struct {
	*Accounts      // its mu guards the fields below uncounted
	limit     int  // 0: none
	allowed   int  // for one kind
	longest   int  // that the operations of one kind may wait
	uncounted bool // addresses have no shares

	free    int
	busy    [kinds]int
	shed    [kinds]uint64    // how many were refused
	waiting [kinds]list.List // of waiter
}

// waiter is an operation that waits for a slot.
type waiter struct {
	address netip.Addr
	granted chan struct{} // is closed when it gets one
}

// newSlots makes n slots. If n is 0, only the share of each address is bounded.
func newSlots(accounts *Accounts, n int) *slots {
	const unbounded = math.MaxInt32
	if n == 0 {
		return &slots{Accounts: accounts, allowed: unbounded, longest: unbounded, free: unbounded}
	}
	return &slots{Accounts: accounts, limit: n, allowed: n - n/4, longest: waitingPerSlot * n, free: n}
}

// acquire takes a slot for an operation, which must release it. With the zero address it counts for no address.
func (s *slots) acquire(ctx context.Context, kind int, address netip.Addr) *refusal {
	s.mu.Lock()
	// Those that wait although there is a slot wait for others of their address.
	if s.available(kind, address) {
		s.take(kind, address, 1)
		s.mu.Unlock()
		return nil
	}
	if a := s.addresses[address]; s.waiting[kind].Len() >= s.longest || a != nil && a.waiting >= waitingPerAddress {
		s.mu.Unlock()
		return s.await(ctx, kind, nil, nil)
	}
	granted := make(chan struct{})
	place := s.waiting[kind].PushBack(waiter{address, granted})
	s.count(address, func(a *account) { a.waiting++ })
	s.mu.Unlock()
	return s.await(ctx, kind, granted, place)
}

// await waits until a slot is granted, and refuses an operation whose patience ends, or its context. granted and place are
// nil if it may not even wait for a slot.
func (s *slots) await(ctx context.Context, kind int, granted <-chan struct{}, place *list.Element) *refusal {
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
	if place != nil {
		s.leave(kind, place)
	}
	if ctx.Err() != nil {
		return wasCancelled()
	}
	s.shed[kind]++
	return overloaded
}

// release returns the slot of an operation.
func (s *slots) release(kind int, address netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(kind, address, -1)
	s.grant()
}

// sends counts the bytes of a response to an address from before it is sent, and -bytes afterwards.
func (s *slots) sends(address netip.Addr, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(address, func(a *account) { a.unread += bytes })
	if bytes < 0 {
		s.grant()
	}
}

// grant gives free slots to operations that wait.
func (s *slots) grant() {
	for kind := range kinds {
		for place := s.waiting[kind].Front(); place != nil && s.free > 0; {
			next := place.Next()
			if w := place.Value.(waiter); s.available(kind, w.address) {
				s.take(kind, w.address, 1)
				s.leave(kind, place)
				close(w.granted)
			}
			place = next
		}
	}
}

func (s *slots) available(kind int, address netip.Addr) bool {
	if s.free == 0 || s.busy[kind] >= s.allowed {
		return false
	}
	a := s.addresses[address]
	return a == nil || a.running[kind] < perAddress && a.unread < unreadBytes
}

// take takes n slots, or returns -n.
func (s *slots) take(kind int, address netip.Addr, n int) {
	s.free -= n
	s.busy[kind] += n
	s.count(address, func(a *account) { a.running[kind] += n })
}

// leave removes an operation from those that wait.
func (s *slots) leave(kind int, place *list.Element) {
	w := s.waiting[kind].Remove(place).(waiter)
	s.count(w.address, func(a *account) { a.waiting-- })
}

// count changes the account of an address. The zero address has none.
func (s *slots) count(address netip.Addr, by func(*account)) {
	if address.IsValid() && !s.uncounted {
		change(s.addresses, address, by)
	}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting[kind].Len() >= s.longest
}

// overloaded refuses an operation that got no slot.
var overloaded = &refusal{
	code: codeUnavailable, message: "the server is busy: try again", status: http.StatusServiceUnavailable, wait: retryAfter,
}

// refusedByOverload is overloaded as it is sent. It is made once, since it is sent when there is no time.
var refusedByOverload = overloaded.alone()

// maxSending is how many streams of an address may be sending at a time, most of them waiting for the store or for a client that
// does not read. Each holds events in memory.
const maxSending = 64

// turns let half of the CPUs read unknown documents, begin subscriptions and make events. Thousands may be due at once, and
// requests find another CPU idle. (With all of them a request would not only wait in a queue: Go then looks for data on
// connections every 10 ms only.)
type turns struct {
	*Accounts
	cpus chan struct{} // has an element for each CPU in use
}

func newTurns(accounts *Accounts) *turns {
	return &turns{Accounts: accounts, cpus: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// do runs f with a CPU, when fewer than maxSending calls for the address have begun. f calls wait for what may block.
func (t *turns) do(address netip.Addr, f func(k *turn)) {
	var sending chan struct{}
	t.mu.Lock()
	change(t.addresses, address, func(a *account) {
		if a.sending == nil {
			a.sending = make(chan struct{}, maxSending)
		}
		a.turns++
		sending = a.sending
	})
	t.mu.Unlock()
	sending <- struct{}{}
	defer func() {
		<-sending
		t.mu.Lock()
		defer t.mu.Unlock()
		change(t.addresses, address, func(a *account) { a.turns-- })
	}()
	k := &turn{cpus: t.cpus}
	k.work()
	defer k.rest()
	f(k)
}

// turn is a call that has begun.
type turn struct {
	cpus    chan struct{}
	working bool // it has a CPU
}

// work waits for a CPU.
func (k *turn) work() {
	k.cpus <- struct{}{}
	k.working = true
}

// rest gives the CPU to another turn, until work.
func (k *turn) rest() {
	if k.working {
		k.working = false
		<-k.cpus
	}
}

// wait runs f, which may block, without a CPU.
func (k *turn) wait(f func()) {
	k.rest()
	f()
	k.work()
}
