package endpoint

import (
	"net/netip"
	"slices"
	"testing"
)

// turn records that it was its address' turn, after it may.
type turn struct {
	may  chan struct{}
	done func()
}

func (t turn) send(k *slot) {
	k.wait(func() { <-t.may })
	t.done()
}

func TestAddressesTakeTurns(t *testing.T) {
	t.Parallel()
	all := newTurns()
	all.free = 1
	now := make(chan struct{})
	close(now)
	var order []string
	finished := make(chan struct{})
	add := func(address, name string, last bool) {
		all.add(netip.MustParseAddr(address), turn{now, func() {
			order = append(order, name)
			if last {
				close(finished)
			}
		}})
	}
	first := make(chan struct{})
	began := make(chan struct{})
	all.add(netip.MustParseAddr("10.0.0.1"), sendFunc(func(*slot) { close(began); <-first }))
	<-began
	add("10.0.0.1", "a", false)
	add("10.0.0.1", "a", false)
	add("10.0.0.1", "a", true)
	add("10.0.0.2", "b", false)
	add("10.0.0.3", "c", false)
	close(first)
	<-finished
	if want := []string{"a", "b", "c", "a", "a"}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
}

type sendFunc func(*slot)

func (f sendFunc) send(k *slot) { f(k) }

func TestWaitingStreamPassesItsSlotOn(t *testing.T) {
	t.Parallel()
	all := newTurns()
	all.free = 1
	address := netip.MustParseAddr("10.0.0.1")
	blocked := make(chan struct{})
	ended := make(chan struct{}, 2*maxLate)
	for range maxLate {
		all.add(address, turn{blocked, func() { ended <- struct{}{} }})
	}
	for range 3 { // while maxLate streams of the address are blocked, its others wait
		all.add(address, turn{blocked, func() { ended <- struct{}{} }})
	}
	other := make(chan struct{})
	all.add(netip.MustParseAddr("10.0.0.2"), sendFunc(func(*slot) { close(other) }))
	<-other
	close(blocked)
	for range maxLate + 3 {
		<-ended
	}
	done := make(chan struct{})
	all.add(address, sendFunc(func(*slot) { close(done) }))
	<-done
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.next) != 0 {
		t.Errorf("got %d addresses that wait, want none", len(all.next))
	}
}
