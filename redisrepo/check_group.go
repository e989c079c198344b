package redisrepo

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// group checks the set of a group and its stored listings.
func (c *checker) group(ctx context.Context, p partition, name GroupName) error {
	members := c.client.SScan(ctx, p.group(name), 0, "", batchSize).Iterator()
	err := batches(ctx, members, 1, func(ids []string) error { return c.members(ctx, p, name, ids) })
	if err := c.wrongType(p.group(name), err); err != nil {
		return err
	}
	for _, order := range []Order{ByScore, ByTime} {
		listing := p.listing(order, name)
		var stored, want *redis.ZSliceCmd
		var exists *redis.IntCmd
		err := c.transaction(ctx, func(pipe redis.Pipeliner) {
			exists = pipe.Exists(ctx, listing)
			stored = pipe.ZRangeWithScores(ctx, listing, 0, -1)
			want = pipe.ZInterWithScores(ctx, &redis.ZStore{Keys: []string{p.group(name), p.ranking(order)}, Weights: []float64{0, 1}})
		})
		if err != nil {
			return err
		}
		if exists.Val() == 1 && !slices.Equal(stored.Val(), want.Val()) {
			c.reportf("%s: is not the intersection of %s and %s", listing, p.group(name), p.ranking(order))
		}
	}
	return nil
}

// members checks that a group's articles exist, except those that have left the group since it was
// scanned. A deleted article may be in a group that its hash does not list: a legacy client put it there,
// and Delete could not know.
func (c *checker) members(ctx context.Context, p partition, name GroupName, ids []string) error {
	isMember, times := make([]*redis.BoolCmd, len(ids)), make([]*redis.FloatCmd, len(ids))
	deleted, groups := make([]*redis.FloatCmd, len(ids)), make([]*redis.StringCmd, len(ids))
	err := c.transaction(ctx, func(pipe redis.Pipeliner) {
		for i, id := range ids {
			isMember[i] = pipe.SIsMember(ctx, p.group(name), id)
			times[i] = pipe.ZScore(ctx, p.ranking(ByTime), id)
			deleted[i] = pipe.ZScore(ctx, p.deleted(), id)
			groups[i] = pipe.HGet(ctx, p.key(id), fieldGroups)
		}
	})
	if err != nil {
		return err
	}
	for i, id := range ids {
		legacy := name != Interesting && deleted[i].Err() == nil && !slices.Contains(groupNames(groups[i].Val()), name)
		if isMember[i].Val() && times[i].Err() != nil && !legacy {
			c.reportf("%s: holds %s, which is not in %s", p.group(name), id, p.ranking(ByTime))
		}
	}
	return nil
}
