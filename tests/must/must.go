// Package must ends a test if a call that it needs fails, or if something does not happen in time.
package must

import (
	"testing"
	"time"
)

// Patience is the maximum wait for what takes seconds on an idle machine: a busy one needs longer.
const Patience = 10 * time.Minute

// Do ends the test with err, unless it is nil.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get takes the results of a call. The function that it returns gives the value, or ends the test with err:
//
//	s := must.Get(store.Open(ctx, options))(t)
func Get[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Have is Get where there is no test, such as for a package variable. It panics on an error.
func Have[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Soon waits until done returns true, and fails the test after Patience. what says what the test waits for.
func Soon(t testing.TB, what string, done func() bool) {
	t.Helper()
	late := time.After(Patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("not within %v: %s", Patience, what)
		}
	}
}
