// Package must ends a test at a call that it needs, and that is not what it tests, if that call fails.
package must

import "testing"

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
