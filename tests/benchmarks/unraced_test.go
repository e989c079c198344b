//go:build !race

package benchmarks_test

// raced is what the race detector adds to a request's allocations.
const raced = 0
