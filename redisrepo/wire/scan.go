package wire

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
)

// ScanBatch is the number of keys that one SCAN reads.
const ScanBatch = 500

// LogBatch is the number of entries of the moderation log that are copied together.
const LogBatch = 500

// BatchSize is the number of articles or members that are handled in one transaction or pipeline:
// small enough that it does not delay other clients.
const BatchSize = 100

// Scan is a walk over all elements of a key by SSCAN, ZSCAN or HSCAN, BatchSize at a time.
type Scan struct {
	Command func(server redis.Cmdable, ctx context.Context, key string, cursor uint64, match string, count int64) *redis.ScanCmd
	Key     string
	Step    int                           // every step-th element is handled: 2 for the members that ZSCAN replies in turn with scores
	Begin   func()                        // called, if not nil, whenever the walk begins or restarts: Handle then gets all elements again
	Handle  func(elements []string) error // called for each batch
	Count   int64                         // of elements in one round trip; 0: BatchSize
}

// Scan walks over the elements of one key.
func (r *Store) Scan(ctx context.Context, s Scan) error {
	return r.At(ctx, s.Key, func(ctx context.Context, server redis.Cmdable) error {
		if s.Begin != nil {
			s.Begin()
		}
		return Walk(s.Step, InBatches(s.Handle), func(cursor uint64) *redis.ScanCmd {
			return s.Command(server, failover.Impatient(ctx), s.Key, cursor, "", cmp.Or(s.Count, BatchSize))
		})
	})
}

// InBatches returns a function that calls handle with BatchSize elements at a time.
func InBatches[T any](handle func([]T) error) func([]T) error {
	return func(elements []T) error {
		for batch := range slices.Chunk(elements, BatchSize) {
			if err := handle(batch); err != nil {
				return err
			}
		}
		return nil
	}
}

// Walk handles every step-th element of the replies of next, from the first cursor to the last.
func Walk(step int, handle func([]string) error, next func(cursor uint64) *redis.ScanCmd) error {
	for cursor := uint64(0); ; {
		found, following, err := next(cursor).Result()
		if err != nil {
			return ScanError{err}
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

// ScanError is the error of a command of the walk itself, not of what it calls.
type ScanError struct{ Err error }

func (e ScanError) Error() string { return e.Err.Error() }

func (e ScanError) Unwrap() error { return e.Err }

// maxWalks is how often a walk begins.
const maxWalks = 150

// At calls walk with one connection to the primary of key. A cursor of SCAN is valid only on its server, and only until
// the server's restart. So when the connection fails, or the server no longer has the key, At calls walk again. walk
// must return an error of the connection as a ScanError.
func (r *Store) At(ctx context.Context, key string, walk func(ctx context.Context, server redis.Cmdable) error) error {
	for walks, pause := 1, failover.MinPause; ; walks, pause = walks+1, min(2*pause, failover.MaxPause) {
		err := r.onConnection(ctx, key, walk)
		var failed ScanError
		if !errors.As(err, &failed) {
			return err
		}
		if walks == maxWalks || ctx.Err() != nil || !failover.Passes(failed.Err) && !errors.Is(failed.Err, failover.ErrNoReply) {
			return failed.Err
		}
		failover.Wait(ctx, pause)
		if err := r.Client.Exists(ctx, key).Err(); err != nil { // waits until a server has the key
			return err
		}
	}
}

func (r *Store) onConnection(ctx context.Context, key string, walk func(ctx context.Context, server redis.Cmdable) error) error {
	server, err := r.serverOf(ctx, key)
	if err != nil {
		return ScanError{err}
	}
	connection := server.Conn()
	defer func() { _ = connection.Close() }()
	return walk(ctx, connection)
}

// serverOf returns the client of the primary of key.
func (r *Store) serverOf(ctx context.Context, key string) (*redis.Client, error) {
	if cluster, ok := r.Client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return r.Client.(*redis.Client), nil
}

// EachServer calls walk with each server and its partitions. It calls walk again for partitions that move meanwhile,
// and when a connection fails.
func (r *Store) EachServer(ctx context.Context, walk func(ctx context.Context, server redis.Cmdable, has []keys.Partition) error) error {
	for left := slices.Clone(r.Partitions); len(left) > 0; {
		var read []keys.Partition
		err := r.At(ctx, left[0].Counter(), func(ctx context.Context, server redis.Cmdable) error {
			has, err := Served(ctx, server, left)
			if err == nil {
				err = walk(ctx, server, has)
			}
			if err == nil {
				read, err = Served(ctx, server, has)
			}
			return err
		})
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(p keys.Partition) bool { return slices.Contains(read, p) })
	}
	return nil
}

// Served returns those of the partitions that are on a server, and not about to move. If the first is not one
// of them, the error is a ScanError.
func Served(ctx context.Context, server redis.Cmdable, partitions []keys.Partition) (has []keys.Partition, err error) {
	replies := make([]*redis.IntCmd, len(partitions))
	_, _ = server.Pipelined(failover.Impatient(ctx), func(pipe redis.Pipeliner) error { // the commands have the errors
		for i, p := range partitions {
			replies[i] = pipe.Exists(ctx, p.Link("")) // no such key: also a partition of which some keys have moved fails
		}
		return nil
	})
	for i, p := range partitions {
		if replies[i].Err() == nil {
			has = append(has, p)
		}
	}
	if err := replies[0].Err(); err != nil {
		return nil, ScanError{err}
	}
	return has, nil
}
