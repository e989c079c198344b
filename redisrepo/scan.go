package redisrepo

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
)

// batchSize is the number of articles or members that are handled in one transaction or pipeline:
// small enough that it does not delay other clients.
const batchSize = 100

// scan is a walk over all elements of a key by SSCAN, ZSCAN or HSCAN, batchSize at a time.
type scan struct {
	command func(server redis.Cmdable, ctx context.Context, key string, cursor uint64, match string, count int64) *redis.ScanCmd
	key     string
	step    int                           // every step-th element is handled: 2 for the members that ZSCAN replies in turn with scores
	begin   func()                        // called whenever the walk begins, if not nil: handle gets all elements again
	handle  func(elements []string) error // called for each batch
	count   int64                         // of elements in one round trip; 0: batchSize
}

func (r *Repo) scan(ctx context.Context, s scan) error {
	return r.onOneServer(ctx, s.key, func(ctx context.Context, server redis.Cmdable) error {
		if s.begin != nil {
			s.begin()
		}
		return walk(s.step, inBatches(s.handle), func(cursor uint64) *redis.ScanCmd {
			return s.command(server, impatient(ctx), s.key, cursor, "", cmp.Or(s.count, batchSize))
		})
	})
}

// inBatches returns a function that calls handle with batchSize elements at a time.
func inBatches(handle func([]string) error) func([]string) error {
	return func(elements []string) error {
		for batch := range slices.Chunk(elements, batchSize) {
			if err := handle(batch); err != nil {
				return err
			}
		}
		return nil
	}
}

// walk handles every step-th element of the replies of next, from the first cursor to the last.
func walk(step int, handle func([]string) error, next func(cursor uint64) *redis.ScanCmd) error {
	for cursor := uint64(0); ; {
		found, following, err := next(cursor).Result()
		if err != nil {
			return scanError{err}
		}
		elements := make([]string, 0, len(found)/step)
		for i := 0; i < len(found); i += step {
			elements = append(elements, found[i])
		}
		if err := handle(elements); err != nil {
			return err
		}
		if cursor = following; cursor == 0 {
			return nil
		}
	}
}

// scanError is the error of a walk's own command.
type scanError struct{ error }

func (e scanError) Unwrap() error { return e.error }

// maxWalks is how often a walk begins.
const maxWalks = 150

// onOneServer calls walk with one connection to the primary of key. A cursor of SCAN is valid only on the server that
// replied it, and only until that is restarted: on another one a walk would miss elements. So when the connection fails,
// or the server no longer has the key, the walk begins again. It should return an error of the connection as a scanError.
func (r *Repo) onOneServer(ctx context.Context, key string, walk func(ctx context.Context, server redis.Cmdable) error) error {
	for walks, pause := 1, minPause; ; walks, pause = walks+1, min(2*pause, maxPause) {
		err := r.onConnection(ctx, key, walk)
		var failed scanError
		if !errors.As(err, &failed) {
			return err
		}
		if walks == maxWalks || ctx.Err() != nil || !passes(failed.error) && !errors.Is(failed.error, errNoReply) {
			return failed.error
		}
		wait(ctx, pause)
		if err := r.client.Exists(ctx, key).Err(); err != nil { // waits until a server has the key
			return err
		}
	}
}

func (r *Repo) onConnection(ctx context.Context, key string, walk func(ctx context.Context, server redis.Cmdable) error) error {
	server, err := r.serverOf(ctx, key)
	if err != nil {
		return scanError{err}
	}
	connection := server.Conn()
	defer func() { _ = connection.Close() }()
	return walk(ctx, connection)
}

// serverOf returns the client of the primary of key.
func (r *Repo) serverOf(ctx context.Context, key string) (*redis.Client, error) {
	if cluster, ok := r.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return r.client.(*redis.Client), nil
}
