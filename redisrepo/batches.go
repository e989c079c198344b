package redisrepo

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// batches hands on what the iterator gives, of every step values the first.
func batches(ctx context.Context, values *redis.ScanIterator, step int, handle func([]string) error) error {
	var batch []string
	for i := 0; values.Next(ctx); i++ {
		if i%step == 0 {
			batch = append(batch, values.Val())
		}
		if len(batch) == checkBatch {
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
