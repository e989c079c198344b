package endpoint

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"frontpage/redisrepo/site"
)

// taken takes n slots, which must be free.
func taken(t *testing.T, s *slots, kind, n int) {
	t.Helper()
	for i := range n {
		began := time.Now()
		if refused := s.acquire(t.Context(), kind, netip.Addr{}); refused != nil || time.Since(began) > 0 {
			t.Fatalf("slot %d: got %v after %v, want a slot at once", i, refused, time.Since(began))
		}
	}
}

// asking acquires a slot in the background. The result is sent when the operation has a slot or is refused.
func asking(ctx context.Context, s *slots, kind int) <-chan *refusal {
	result := make(chan *refusal, 1)
	go func() { result <- s.acquire(ctx, kind, netip.Addr{}) }()
	synctest.Wait()
	return result
}

// refusedLate waits for the refusal of an operation that asked when it began, and checks that its patience was over.
func refusedLate(t *testing.T, result <-chan *refusal, began time.Time) {
	t.Helper()
	if refused := <-result; refused != overloaded || time.Since(began) != slotPatience {
		t.Errorf("got %v after %v, want a refusal after %v", refused, time.Since(began), slotPatience)
	}
}

// admitted waits for the slot of an operation.
func admitted(t *testing.T, result <-chan *refusal) {
	t.Helper()
	if refused := <-result; refused != nil {
		t.Errorf("got %v, want a slot", refused)
	}
}

// ended releases the slots of n operations.
func ended(s *slots, kind, n int) {
	for range n {
		s.release(kind, netip.Addr{})
	}
}

func pending(t *testing.T, results ...<-chan *refusal) {
	t.Helper()
	synctest.Wait()
	for i, result := range results {
		select {
		case refused := <-result:
			t.Errorf("operation %d: got %v, want it to wait", i, refused)
		default:
		}
	}
}

// unused checks that all slots are free and that nothing waits.
func unused(t *testing.T, s *slots, n int) {
	t.Helper()
	if s.free != n || len(s.addresses) != 0 || s.busy != [kinds]int{} || s.waiting[mutations].Len() != 0 || s.waiting[queries].Len() != 0 {
		t.Errorf("got %d free slots, %v busy, %d and %d waiting, want %d free slots", s.free, s.busy, s.waiting[0].Len(), s.waiting[1].Len(), n)
	}
}

func TestSlotsAreBoundedAndEachKindHasAShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(NewAccounts(), 8)
		taken(t, s, queries, 6)
		third := asking(t.Context(), s, queries)
		pending(t, third) // two slots are free
		taken(t, s, mutations, 2)
		vote := asking(t.Context(), s, mutations)
		pending(t, third, vote)
		ended(s, queries, 1) // the mutation goes first, although it came last
		admitted(t, vote)
		pending(t, third)
		ended(s, queries, 1)
		admitted(t, third)
		ended(s, mutations, 3)
		taken(t, s, queries, 1)
		ended(s, queries, 6)
		unused(t, s, 8)
		taken(t, s, mutations, 6)
		vote = asking(t.Context(), s, mutations)
		pending(t, vote)
		taken(t, s, queries, 2)
		ended(s, mutations, 1)
		admitted(t, vote)
		ended(s, mutations, 6)
		ended(s, queries, 2)
		unused(t, s, 8)
	})
}

func TestOperationsWaitInOrderAndForALimitedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(NewAccounts(), 1)
		taken(t, s, queries, 1)
		first, second := asking(t.Context(), s, queries), asking(t.Context(), s, queries)
		ended(s, queries, 1)
		admitted(t, first)
		pending(t, second)
		began := time.Now()
		refusedLate(t, second, began)
		ended(s, queries, 1)
		unused(t, s, 1)
	})
}

// An operation that may not even wait is refused as late as one that waited.
func TestQueueOfWaitingOperationsIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(NewAccounts(), 1)
		taken(t, s, queries, 1)
		var waiting []<-chan *refusal
		for range waitingPerSlot {
			waiting = append(waiting, asking(t.Context(), s, queries))
		}
		if !s.full(queries) || s.full(mutations) {
			t.Errorf("got full: %v for queries and %v for mutations, want it for queries alone", s.full(queries), s.full(mutations))
		}
		began := time.Now()
		beyond := asking(t.Context(), s, queries)
		ended(s, queries, waitingPerSlot)
		pending(t, beyond)
		for _, result := range waiting {
			admitted(t, result)
		}
		refusedLate(t, beyond, began)
		ended(s, queries, 1)
		unused(t, s, 1)
	})
}

func TestNoSlotsMeansNoBound(t *testing.T) {
	t.Parallel()
	s := newSlots(NewAccounts(), 0)
	for range 1000 {
		if refused := s.acquire(t.Context(), queries, netip.Addr{}); refused != nil || s.full(queries) {
			t.Fatalf("got %v, want no bound", refused)
		}
	}
	ended(s, queries, 1)
}

// An address has a share: what it asks beyond that waits, and no other address does.
func TestAnAddressHasAShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(NewAccounts(), 0)
		free := s.free
		greedy, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		acquire := func(kind int, address netip.Addr) <-chan *refusal {
			result := make(chan *refusal, 1)
			go func() { result <- s.acquire(t.Context(), kind, address) }()
			synctest.Wait()
			return result
		}
		for range perAddress {
			admitted(t, acquire(queries, greedy))
		}
		waiting := acquire(queries, greedy)
		pending(t, waiting)
		for _, kind := range []int{queries, mutations} {
			admitted(t, acquire(kind, other))
		}
		s.release(queries, greedy)
		admitted(t, waiting)

		began := time.Now()
		late := make([]<-chan *refusal, waitingPerAddress)
		for i := range late {
			late[i] = acquire(queries, greedy)
		}
		more := acquire(queries, greedy)
		s.mu.Lock() // they leave once their time is up
		got := s.waiting[queries].Len()
		s.mu.Unlock()
		if got != len(late) {
			t.Errorf("%d operations of an address wait, want at most %d", got, len(late))
		}
		for _, result := range append(late, more) {
			refusedLate(t, result, began)
		}
		for range perAddress {
			s.release(queries, greedy)
		}
		s.release(queries, other)
		s.release(mutations, other)
		unused(t, s, free)
	})
}

func TestAServiceThatActsForUsersTakesNoShare(t *testing.T) {
	t.Parallel()
	address := netip.MustParseAddr("192.0.2.1")
	for via, want := range map[site.UserName]netip.Addr{"": address, "bot": {}} {
		if got := (&executor{}).sharing(context.WithValue(t.Context(), viewerKey{}, &Viewer{Address: address, Via: via})); got != want {
			t.Errorf("via %q: got %v, want %v", via, got, want)
		}
	}
}

// What waits for something else has no CPU. While as much of one address waits as may, its other work does not begin.
func TestWhatWaitsGivesItsTurnToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := newTurns(NewAccounts())
		all.cpus = make(chan struct{}, 1)
		slow := netip.MustParseAddr("10.0.0.1")
		blocked := make(chan struct{})
		begun, ended := 0, 0
		for range maxSending + 3 {
			go all.do(slow, func(k *turn) {
				begun++
				k.wait(func() { <-blocked })
				ended++
			})
		}
		synctest.Wait()
		other := false
		all.do(netip.MustParseAddr("10.0.0.2"), func(*turn) { other = true })
		if begun != maxSending || !other {
			t.Errorf("%d turns of an address have begun, want %d; another address had its turn: %v, want it", begun, maxSending, other)
		}
		close(blocked)
		synctest.Wait()
		if ended != maxSending+3 {
			t.Errorf("%d turns have ended, want all", ended)
		}
		unusedTurns(t, all)
	})
}

func TestAPanicEndsItsTurn(t *testing.T) {
	t.Parallel()
	all := newTurns(NewAccounts())
	for _, wait := range []bool{false, true} {
		func() {
			defer func() { _ = recover() }()
			all.do(netip.MustParseAddr("10.0.0.1"), func(k *turn) {
				if wait {
					k.wait(func() { panic("while it waits") })
				}
				panic("while it works")
			})
		}()
		unusedTurns(t, all)
	}
}

// unusedTurns checks that no address has work.
func unusedTurns(t *testing.T, all *turns) {
	t.Helper()
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.cpus) != 0 || len(all.addresses) != 0 {
		t.Errorf("got %d CPUs in use and %d accounts, want none", len(all.cpus), len(all.addresses))
	}
}
