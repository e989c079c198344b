package redisrepo

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
)

// group checks the set of a group and its stored listings, in batches: one command on all of a large group
// would block Redis.
func (c *checker) group(ctx context.Context, p partition, name GroupName) error {
	wrong, legacy := map[Order]bool{}, false
	err := c.scan(ctx, scan{command: redis.Cmdable.SScan, key: p.group(name), step: 1, handle: func(ids []string) error {
		byLegacy, err := c.members(ctx, p, name, ids, wrong)
		legacy = legacy || byLegacy
		return err
	}})
	if err := c.wrongType(p.group(name), err); err != nil {
		return err
	}
	for _, order := range []Order{ByScore, ByTime} {
		listing := p.listing(order, name)
		err := c.scan(ctx, scan{command: redis.Cmdable.ZScan, key: listing, step: 2, handle: func(ids []string) error {
			return c.listed(ctx, p, name, order, ids, wrong)
		}})
		if err := c.wrongType(listing, err); err != nil {
			return err
		}
		if wrong[order] {
			c.reportf("%s: is not the intersection of %s and %s", listing, p.group(name), p.ranking(order))
		}
	}
	if legacy || !isListed(name) {
		return nil
	}
	return c.size(ctx, p, name)
}

// size checks the place of a group in the index of sizes. Legacy clients change groups without the index: where they took
// out an article that only they wrote, no trace is left but the old size, until the group is read or changed.
func (c *checker) size(ctx context.Context, p partition, name GroupName) error {
	var has *redis.IntCmd
	var indexed, named *redis.FloatCmd
	err := c.transaction(ctx, func(pipe redis.Pipeliner) {
		has, indexed = pipe.SCard(ctx, p.group(name)), pipe.ZScore(ctx, p.sizes(), string(name))
		named = pipe.ZScore(ctx, p.groups(), string(name))
	})
	size := -indexed.Val()
	switch {
	case err != nil || has.Err() != nil: // of the wrong type, which is reported
		return err
	case indexed.Err() != nil && has.Val() > 0:
		c.reportf("%s: is not in %s", p.group(name), p.sizes())
	case c.legacyPosts && named.Err() == nil && size > float64(has.Val()):
	case size != float64(has.Val()):
		c.reportf("%s: has %d articles, but %s says %v", p.group(name), has.Val(), p.sizes(), size)
	}
	return nil
}

// sizes checks the groups in the index of sizes that have no set.
func (c *checker) sizes(ctx context.Context, p partition, groups map[string]partition) error {
	err := c.scan(ctx, scan{command: redis.Cmdable.ZScan, key: p.sizes(), step: 2, handle: func(names []string) error {
		for _, name := range names {
			if _, found := groups[p.group(GroupName(name))]; found {
				continue
			}
			if err := c.size(ctx, p, GroupName(name)); err != nil {
				return err
			}
		}
		return nil
	}})
	return c.wrongType(p.sizes(), err)
}

// listed notes in wrong if a stored listing of a group has an article that is not in the group, or not with
// this score in the ranking. A listing that is being built is not complete yet.
func (c *checker) listed(ctx context.Context, p partition, name GroupName, order Order, ids []string, wrong map[Order]bool) error {
	stored, want, isMember := make([]*redis.FloatCmd, len(ids)), make([]*redis.FloatCmd, len(ids)), make([]*redis.BoolCmd, len(ids))
	var building *redis.IntCmd
	err := c.transaction(ctx, func(pipe redis.Pipeliner) {
		building = queueBuilding(ctx, pipe, p.listing(order, name))
		for i, id := range ids {
			stored[i] = pipe.ZScore(ctx, p.listing(order, name), id)
			want[i] = pipe.ZScore(ctx, p.ranking(order), id)
			isMember[i] = pipe.SIsMember(ctx, p.group(name), id)
		}
	})
	for i := range ids {
		if building.Val() == 0 && stored[i].Err() == nil && (!isMember[i].Val() || want[i].Err() != nil || stored[i].Val() != want[i].Val()) {
			wrong[order] = true
		}
	}
	return err
}

// members checks that a group's articles exist, except those that have left the group since it was scanned, and
// notes in wrong which of the group's stored listings lacks one of them. It reports whether a legacy client put one of
// them there, since its hash does not list the group. A deleted article may be such a one: Delete could not know.
func (c *checker) members(ctx context.Context, p partition, name GroupName, ids []string, wrong map[Order]bool) (legacy bool, err error) {
	isMember, deleted, groups := make([]*redis.BoolCmd, len(ids)), make([]*redis.FloatCmd, len(ids)), make([]*redis.StringCmd, len(ids))
	exists, building, ranked, listed := map[Order]*redis.IntCmd{}, map[Order]*redis.IntCmd{}, map[Order][]*redis.FloatCmd{}, map[Order][]*redis.FloatCmd{}
	err = c.transaction(ctx, func(pipe redis.Pipeliner) {
		for _, order := range []Order{ByScore, ByTime} {
			exists[order] = pipe.Exists(ctx, p.listing(order, name))
			building[order] = queueBuilding(ctx, pipe, p.listing(order, name))
			for _, id := range ids {
				ranked[order] = append(ranked[order], pipe.ZScore(ctx, p.ranking(order), id))
				listed[order] = append(listed[order], pipe.ZScore(ctx, p.listing(order, name), id))
			}
		}
		for i, id := range ids {
			isMember[i] = pipe.SIsMember(ctx, p.group(name), id)
			deleted[i] = pipe.ZScore(ctx, p.deleted(), id)
			groups[i] = pipe.HGet(ctx, p.key(id), fieldGroups)
		}
	})
	if err != nil {
		return false, err
	}
	for i, id := range ids {
		if !isMember[i].Val() {
			continue
		}
		unlisted := name != Interesting && !slices.Contains(groupNames(groups[i].Val()), name)
		legacy = legacy || unlisted
		if ranked[ByTime][i].Err() != nil && (!unlisted || deleted[i].Err() != nil) {
			c.reportf("%s: holds %s, which is not in %s", p.group(name), id, p.ranking(ByTime))
		}
		for order, listings := range listed {
			if exists[order].Val() == 1 && building[order].Val() == 0 && ranked[order][i].Err() == nil && errors.Is(listings[i].Err(), redis.Nil) {
				wrong[order] = true
			}
		}
	}
	return legacy, nil
}
