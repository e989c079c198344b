package redisrepo

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// ErrNoSite is the error of Stored for a store without a site.
var ErrNoSite = errors.New("this store has no site")

// Stored returns the number of articles, deleted or not, of the site in a store. It changes nothing.
func Stored(ctx context.Context, client redis.UniversalClient) (articles int, err error) {
	r, err := newRepo(ctx, client, DefaultRules())
	if err != nil {
		return 0, err
	}
	if layout := client.HGet(ctx, untagged.meta(), fieldLayout); layout.Err() != nil || r.incomplete {
		return 0, errors.Join(ErrNoSite, layout.Err())
	}
	counts := make([]*redis.IntCmd, 0, 2*len(r.partitions))
	err = r.exchange(ctx, func(pipe redis.Pipeliner) {
		for _, p := range r.partitions {
			counts = append(counts, pipe.ZCard(ctx, p.ranking(ByTime)), pipe.ZCard(ctx, p.deleted()))
		}
	})
	for _, count := range counts {
		articles += int(count.Val())
	}
	return articles, err
}
