package endpoint

import (
	"context"
	"time"

	"frontpage/failover"
	"frontpage/redisrepo"
	"frontpage/sharing"
)

// readBytes is how many bytes of Reads are kept.
const readBytes = 16 << 20

// Reads are what operations that depend on their callers have read, as far as it is the same for all callers. They are
// shared as responses are, see sharedQueries.
type Reads struct {
	results *sharing.Results[any, outcome]
}

// outcome is what a read returned.
type outcome struct {
	value any
	err   error
}

// NewReads returns empty reads. If lifetime is 0, they share nothing.
func NewReads(repo *redisrepo.Repo, lifetime time.Duration) Reads {
	if lifetime == 0 {
		return Reads{}
	}
	return Reads{sharing.New[any, outcome](lifetime, readBytes, func() uint64 { return repo.Version() })}
}

// Shares reports whether Share shares reads for the operation that ctx belongs to. The reads for a response that is
// shared as a whole are not shared: its time counts from its own start.
func (r Reads) Shares(ctx context.Context) bool {
	return r.results != nil && ctx.Value(viewerKey{}) != any(noCaller)
}

// Share returns the result of read, or that of another operation's read with an equal key. Keys of different reads have
// different types. Many use the value at the same time, so it must not be modified. read also returns how many bytes it
// takes; its context has no caller.
func Share[V any](ctx context.Context, r Reads, key any, read func(context.Context) (value V, bytes int, err error)) (V, error) {
	if !r.Shares(ctx) {
		value, _, err := read(ctx)
		return value, err
	}
	result, err := r.results.Do(ctx, key, func(ctx context.Context) (outcome, int) {
		value, bytes, err := read(withoutCaller(ctx))
		if err != nil {
			bytes = -1
		}
		return outcome{value, err}, bytes
	})
	if err == nil {
		err = result.err
	}
	failover.NoteOutage(ctx, err) // if it was another operation that called Redis
	value, _ := result.value.(V)
	return value, err
}
