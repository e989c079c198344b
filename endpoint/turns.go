package endpoint

import (
	"net/netip"
	"runtime"
	"sync"
	"time"
)

const (
	// maxWait is how long a stream may wait for the store, or for a client that does not read, before another
	// stream gets its slot.
	maxWait = 20 * time.Millisecond
	// maxLate is how many streams of an address may wait for longer. Each holds events in memory.
	maxLate = 64
)

// turns lets streams send their events and begin their operations, a few at a time. Thousands may be due at once,
// and requests must not wait for them: with half of the CPUs a request finds another one idle. (With all of them
// it would not only wait in a queue: Go then looks for data on connections every 10 ms only.) Addresses take turns,
// and so do the streams of an address.
type turns struct {
	mu        sync.Mutex
	addresses map[netip.Addr]*addressTurns
	next      []*addressTurns // those with a stream that may send, in the order of their turns
	free      int             // unused slots
}

// addressTurns are the streams of an address that wait for their turn.
type addressTurns struct {
	address netip.Addr
	waiting []sender
	late    int  // streams that wait for longer than maxWait
	listed  bool // in turns.next
}

// sender is a stream with something to send. It calls step before each event, and wait for what may block.
type sender interface{ send(k *slot) }

// slot allows a stream to send events.
type slot struct {
	turns *turns
	of    *addressTurns // of the stream that sends

	timer *time.Timer // calls giveUp
	late  bool        // another stream has the slot now
}

func newTurns() *turns {
	return &turns{addresses: map[netip.Addr]*addressTurns{}, free: max(1, runtime.GOMAXPROCS(0)/2)}
}

// do runs f when it is the address' turn, and returns after it.
func (t *turns) do(address netip.Addr, f func(k *slot)) {
	s := &task{run: f, done: make(chan struct{})}
	t.add(address, s)
	<-s.done
	if s.cause != nil {
		panic(s.cause)
	}
}

// task runs a function in a turn.
type task struct {
	run   func(*slot)
	cause any // what run panicked with
	done  chan struct{}
}

// send implements sender.
func (t *task) send(k *slot) {
	defer close(t.done)
	defer func() { t.cause = recover() }()
	t.run(k)
}

// add has s send its events when it is its turn.
func (t *turns) add(address netip.Addr, s sender) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.addresses[address]
	if a == nil {
		a = &addressTurns{address: address}
		t.addresses[address] = a
	}
	a.waiting = append(a.waiting, s)
	t.list(a)
	t.start()
}

// list gives an address a turn, if it has a stream that may send.
func (t *turns) list(a *addressTurns) {
	if !a.listed && len(a.waiting) > 0 && a.late < maxLate {
		a.listed = true
		t.next = append(t.next, a)
	}
	if len(a.waiting) == 0 && a.late == 0 {
		delete(t.addresses, a.address)
	}
}

// start uses a free slot, if a stream waits for one.
func (t *turns) start() {
	if t.free > 0 && len(t.next) > 0 {
		t.free--
		go t.work()
	}
}

// work uses a slot until no stream waits for it, or until another goroutine got it.
func (t *turns) work() {
	k := &slot{turns: t}
	k.timer = time.AfterFunc(time.Hour, k.giveUp)
	k.timer.Stop()
	for s := t.take(k); s != nil; s = t.take(k) {
		s.send(k)
		if k.late {
			k.back()
			return
		}
	}
}

// take returns the stream whose turn it is. Without one, it frees the slot.
func (t *turns) take(k *slot) sender {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.next) == 0 {
		t.free++
		return nil
	}
	a := t.next[0]
	t.next = t.next[1:]
	s := a.waiting[0]
	a.waiting = a.waiting[1:]
	a.listed = false
	k.of = a
	t.list(a)
	return s
}

// step lets requests go first that are ready to run.
func (k *slot) step() { runtime.Gosched() }

// wait runs f, which may block. If it does, the slot is another stream's from then on.
func (k *slot) wait(f func()) {
	if k.late {
		f()
		return
	}
	k.timer.Reset(maxWait)
	defer func() { k.late = !k.timer.Stop() }()
	f()
}

// giveUp passes the slot on.
func (k *slot) giveUp() {
	k.turns.mu.Lock()
	defer k.turns.mu.Unlock()
	k.of.late++
	k.turns.free++
	k.turns.start()
}

// back ends the turn of a stream that was late.
func (k *slot) back() {
	k.turns.mu.Lock()
	defer k.turns.mu.Unlock()
	k.of.late--
	k.turns.list(k.of)
	k.turns.start()
}
