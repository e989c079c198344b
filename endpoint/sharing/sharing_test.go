package sharing_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"frontpage/endpoint/sharing"
)

const lifetime = 50 * time.Millisecond

// reads are results whose reads the test ends, in the order in which they began.
type reads struct {
	*sharing.Results[string, int]
	version atomic.Uint64
	begun   []chan int // for each read, what it returns; below 0: a failure
	ended   atomic.Int64
}

func newReads() *reads {
	r := &reads{}
	r.Results = sharing.New[string, int](lifetime, 1<<20, r.version.Load)
	return r
}

// call calls Do, and returns a function that waits for what it returns.
func (r *reads) call(ctx context.Context, key string) func() (int, error) {
	var value int
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		value, err = r.Do(ctx, key, func(ctx context.Context) (int, int) {
			end := make(chan int)
			r.begun = append(r.begun, end)
			defer r.ended.Add(1)
			select {
			case value := <-end:
				return value, min(value, 1)
			case <-ctx.Done():
				return -1, -1
			}
		})
	}()
	synctest.Wait()
	return func() (int, error) { <-done; return value, err }
}

func want(t *testing.T, what string, got func() (int, error), value int) {
	t.Helper()
	if v, err := got(); v != value || err != nil {
		t.Errorf("%s: got %d, %v, want %d", what, v, err, value)
	}
}

func (r *reads) wantBegun(t *testing.T, what string, n int) {
	t.Helper()
	if len(r.begun) != n {
		t.Fatalf("%s: got %d reads, want %d", what, len(r.begun), n)
	}
}

func TestCallersWaitForOneRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReads()
		var callers []func() (int, error)
		for range 100 {
			callers = append(callers, r.call(t.Context(), "a"))
		}
		other := r.call(t.Context(), "b")
		r.wantBegun(t, "with two keys", 2)
		if _, ok := r.Get("a"); ok {
			t.Error("got a value before the read has ended")
		}
		r.begun[0] <- 7
		r.begun[1] <- 8
		for _, caller := range append(callers, r.call(t.Context(), "a")) {
			want(t, "a", caller, 7)
		}
		want(t, "b", other, 8)
		r.wantBegun(t, "after the reads", 2)
	})
}

// The lifetime counts from the start of a read, also for callers that would wait for it.
func TestResultsAreNoOlderThanTheLifetime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReads()
		first := r.call(t.Context(), "a")
		<-time.After(lifetime - 1)
		joined := r.call(t.Context(), "a")
		<-time.After(1)
		late := r.call(t.Context(), "a")
		r.wantBegun(t, "a lifetime after the first", 2)
		r.begun[0] <- 1
		r.begun[1] <- 2
		want(t, "first", first, 1)
		want(t, "joined", joined, 1)
		want(t, "late", late, 2)
		<-time.After(lifetime - 1)
		want(t, "at the end of the lifetime", r.call(t.Context(), "a"), 2)
		<-time.After(1)
		if _, ok := r.Get("a"); ok {
			t.Error("got a value after the lifetime")
		}
	})
}

// A caller that comes after a change gets nothing whose read began before it.
func TestResultsOfAnEarlierVersionAreNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReads()
		early := r.call(t.Context(), "a")
		r.version.Add(1)
		after := r.call(t.Context(), "a")
		r.wantBegun(t, "after a change", 2)
		r.begun[1] <- 2
		want(t, "after", after, 2)
		r.begun[0] <- 1 // the earlier read ends last
		want(t, "early", early, 1)
		want(t, "after both", r.call(t.Context(), "a"), 2)
		r.version.Add(1)
		if _, ok := r.Get("a"); ok {
			t.Error("got a value after a change")
		}
	})
}

// A caller that leaves does not end a read for the others. When all have left, the read ends.
func TestReadEndsWithItsLastCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReads()
		leading, leaveLeading := context.WithCancel(t.Context())
		waiting, leaveWaiting := context.WithCancel(t.Context())
		_ = r.call(leading, "a")
		waits, stays := r.call(waiting, "a"), r.call(t.Context(), "a")
		leaveLeading()
		leaveWaiting()
		if _, err := waits(); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v for a caller that left, want that it left", err)
		}
		r.begun[0] <- 4
		want(t, "the one that stays", stays, 4)

		leading, leaveLeading = context.WithCancel(t.Context())
		waiting, leaveWaiting = context.WithCancel(t.Context())
		_, waits = r.call(leading, "b"), r.call(waiting, "b")
		leaveWaiting()
		_, _ = waits()
		leaveLeading()
		synctest.Wait()
		if r.ended.Load() != 2 {
			t.Error("a read goes on although all callers have left")
		}
		next := r.call(t.Context(), "b")
		r.wantBegun(t, "after a read that was ended", 3)
		r.begun[2] <- 5
		want(t, "next", next, 5)
	})
}

func TestPanicOfOneReadHarmsNoOtherCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		results := sharing.New[string, int](lifetime, 1<<20, func() uint64 { return 0 })
		begun, panics := make(chan struct{}), make(chan struct{})
		go func() {
			defer func() { _ = recover() }()
			_, _ = results.Do(t.Context(), "a", func(context.Context) (int, int) {
				close(begun)
				<-panics
				panic("a read")
			})
		}()
		<-begun
		got := make(chan int)
		go func() {
			value, _ := results.Do(t.Context(), "a", func(context.Context) (int, int) { return 6, 1 })
			got <- value
		}()
		synctest.Wait()
		close(panics)
		if value := <-got; value != 6 {
			t.Errorf("got %d, want the value of another read", value)
		}
	})
}

func TestBytesAreBounded(t *testing.T) {
	t.Parallel()
	const maxBytes = 100_000
	var version atomic.Uint64
	results := sharing.New[string, []byte](time.Hour, maxBytes, version.Load)
	random := rand.New(rand.NewPCG(1, 1))
	kept := 0
	for i := range 2000 {
		if random.IntN(100) == 0 {
			version.Add(1)
		}
		size := random.IntN(5000)
		if i%100 == 0 {
			size = 2 * maxBytes
		}
		_, _ = results.Do(t.Context(), fmt.Sprint(i%50), func(context.Context) ([]byte, int) { return make([]byte, size), size })
		bytes := 0
		for key := range 50 {
			value, _ := results.Get(fmt.Sprint(key))
			bytes += len(value)
		}
		kept = max(kept, bytes)
		if _, counted := results.Size(); bytes > maxBytes || bytes > counted || counted > maxBytes {
			t.Fatalf("got %d bytes of values, counted as %d, want at most %d", bytes, counted, maxBytes)
		}
	}
	if kept < maxBytes/2 {
		t.Errorf("got at most %d bytes of values, want the room to be used", kept)
	}
	results = sharing.New[string, []byte](time.Nanosecond, maxBytes, version.Load)
	for i := range 1000 {
		_, _ = results.Do(t.Context(), fmt.Sprint(i), func(context.Context) ([]byte, int) { return nil, 0 })
	}
	if _, bytes := results.Size(); bytes > 10_000 {
		t.Errorf("got %d bytes after the lifetime, want those of few results", bytes)
	}
}
