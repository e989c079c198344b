package endpoint

import (
	"net/netip"
	"runtime"
	"slices"
)

// maxSending is how many streams of an address may be sending at a time, most of them waiting for the store or for a client that
// does not read. Each holds events in memory.
const maxSending = 64

// turns let half of the CPUs read unknown documents, begin subscriptions and make events. Thousands may be due at once, and
// requests find another CPU idle. (With all of them a request would not only wait in a queue: Go then looks for data on
// connections every 10 ms only.) Addresses take turns.
type turns struct {
	*Accounts              // its mu guards the fields below
	free      int          // unused CPUs
	next      []netip.Addr // those with work that waits for a CPU, in the order of their turns
}

// turn is work of an address.
type turn struct {
	turns   *turns
	address netip.Addr
	working bool // it has a CPU
}

func newTurns(accounts *Accounts) *turns {
	return &turns{Accounts: accounts, free: max(1, runtime.GOMAXPROCS(0)/2)}
}

// do runs f when it is the address' turn. f calls wait for what may block.
func (t *turns) do(address netip.Addr, f func(k *turn)) {
	k := &turn{turns: t, address: address}
	k.begin()
	defer k.end()
	f(k)
}

// begin waits until fewer than maxSending of the address have begun, and for a CPU.
func (k *turn) begin() {
	t := k.turns
	t.mu.Lock()
	if a := accountOf(t.addresses, k.address); a.sending < maxSending {
		a.sending++
		t.mu.Unlock()
	} else {
		t.await(&a.begins) // the place of one that has ended
	}
	k.work()
}

// await unlocks mu, and waits in a queue.
func (t *turns) await(queue *[]chan struct{}) {
	granted := make(chan struct{})
	*queue = append(*queue, granted)
	t.mu.Unlock()
	<-granted
}

// grant lets the first one of a queue go on.
func grant(queue *[]chan struct{}) {
	close((*queue)[0])
	*queue = (*queue)[1:]
}

// end gives up the CPU, if the turn has one, and the place of one that has begun.
func (k *turn) end() {
	k.rest()
	t := k.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	a := accountOf(t.addresses, k.address)
	if len(a.begins) > 0 {
		grant(&a.begins)
		return
	}
	a.sending--
	dropUnused(t.addresses, k.address)
}

// work waits for a CPU.
func (k *turn) work() {
	t := k.turns
	k.working = true
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return
	}
	a := accountOf(t.addresses, k.address)
	if len(a.works) == 0 {
		t.next = append(t.next, k.address)
	}
	t.await(&a.works)
}

// rest gives the CPU to the next address, until work.
func (k *turn) rest() {
	if !k.working {
		return
	}
	k.working = false
	t := k.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.next) == 0 {
		t.free++
		return
	}
	address := t.next[0]
	t.next = slices.Delete(t.next, 0, 1)
	a := t.addresses[address]
	if grant(&a.works); len(a.works) > 0 {
		t.next = append(t.next, address)
	}
}

// step lets requests go first that are ready to run.
func (k *turn) step() { runtime.Gosched() }

// wait runs f, which may block, without a CPU.
func (k *turn) wait(f func()) {
	k.rest()
	f()
	k.work()
}
