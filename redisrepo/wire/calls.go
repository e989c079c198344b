package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"frontpage/failover"
	"frontpage/redisrepo/keys"
)

// Served returns those of the partitions that are on a server, and not about to move. The first must be one of them.
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

// Transaction runs the commands that queue adds, all at one moment. A missing value or a key of the wrong
// type is not an error: the checks of the values report it.
func (r *Store) Transaction(ctx context.Context, queue func(redis.Pipeliner)) error {
	commands, err := r.Client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		queue(pipe)
		return nil
	})
	if err == nil {
		return nil
	}
	for _, command := range commands {
		if err := command.Err(); err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return err
		}
	}
	return nil
}

// Transactions runs one transaction for each partition, all at the same time.
func (r *Store) Transactions(ctx context.Context, queues [][]func(redis.Pipeliner)) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, queue := range queues {
		if len(queue) == 0 {
			continue
		}
		group.Go(func() error {
			return r.Transaction(ctx, func(pipe redis.Pipeliner) {
				for _, add := range queue {
					add(pipe)
				}
			})
		})
	}
	return group.Wait()
}

// Exchange runs the commands that queue adds in one round trip. Its error names the first command that failed.
func (r *Store) Exchange(ctx context.Context, queue func(redis.Pipeliner)) error {
	commands, err := r.Pipelined(ctx, queue)
	if err == nil {
		return nil
	}
	for _, c := range commands {
		if !failover.HasRun(c) {
			return failover.Wrap(fmt.Sprintf("%s %v", strings.ToUpper(c.Name()), c.Args()[1]), c.Err())
		}
	}
	return nil
}

func Anys(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}

// QueueUnrepeated queues a call of a script by its digest.
func QueueUnrepeated(ctx context.Context, pipe redis.Pipeliner, s *redis.Script, keys []string, args []any) *redis.Cmd {
	command := ScriptCommand(ctx, ScriptWords(s, keys, args))
	_ = pipe.Process(ctx, &failover.Unrepeated{command})
	return command
}
