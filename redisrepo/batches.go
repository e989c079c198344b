package redisrepo

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// batchSize is how many articles or members Check and New handle in one
// transaction or pipeline: small enough that nobody waits for it.
const batchSize = 100

// batches hands on what the iterator gives, of every step values the first.
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
