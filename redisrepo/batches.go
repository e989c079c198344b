package redisrepo

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// batchSize is the number of articles or members that are handled in one transaction or pipeline:
// small enough that it does not delay other clients.
const batchSize = 100

// batches calls handle with up to batchSize values at a time, keeping every step-th one: ZSCAN yields
// members and scores in turn, so a step of 2 gives the members.
func batches(ctx context.Context, values *redis.ScanIterator, step int, handle func([]string) error) error {
	var batch []string
	for i := 0; values.Next(ctx); i++ {
		if i%step == 0 {
			batch = append(batch, values.Val())
		}
		if len(batch) == batchSize {
			if err := handle(batch); err != nil {
				return err
			}
			batch = nil
		}
	}
	if err := values.Err(); err != nil || len(batch) == 0 {
		return err
	}
	return handle(batch)
}
