// Package require ends a test if a call that it needs fails, or if something does not happen in time.
package require

import (
	"testing"
	"time"
)

// Timeout is the maximum wait for what takes seconds on an idle machine: a busy one needs longer.
const Timeout = 10 * time.Minute

// NoError ends the test with err, unless it is nil.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value takes the results of a call. The function that it returns gives the value, or ends the test with err:
//
//	s := require.Value(store.Open(ctx, options))(t)
func Value[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		NoError(t, err)
		return value
	}
}

// Must is Value where there is no test, such as for a package variable. It panics on an error.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Eventually waits until done returns true, and fails the test after Timeout. what says what the test waits for.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	late := time.After(Timeout)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("not within %v: %s", Timeout, what)
		}
	}
}
