// Package require ends a test at a failed call, or when a condition is not met in time.
package require

import (
	"testing"
	"time"
)

// Timeout is the maximum wait: much more than an idle machine needs.
const Timeout = 10 * time.Minute

// NoError ends the test with err, unless it is nil.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value takes the results of a call, and returns a function that returns the value, or ends the test with err:
//
//	s := require.Value(store.Open(ctx, options))(t)
func Value[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		NoError(t, err)
		return value
	}
}

// Must is Value outside of tests, such as for a package variable. It panics on an error.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Eventually waits until done returns true, and fails the test after Timeout. what describes the condition.
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
