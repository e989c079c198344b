package check

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// group checks the set of a group and its stored listings, in batches: one command on all of a large group
// would block Redis.
func (c *checker) group(ctx context.Context, p keys.Partition, name site.GroupName) error {
	wrong, legacy := map[site.Order]bool{}, false
	err := c.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.SScan, Key: p.Group(name), Step: 1, Handle: func(ids []string) error {
		byLegacy, err := c.members(ctx, p, name, ids, wrong)
		legacy = legacy || byLegacy
		return err
	}})
	if err := c.wrongType(p.Group(name), err); err != nil {
		return err
	}
	for _, order := range []site.Order{site.ByScore, site.ByTime} {
		listing := p.Listing(order, name)
		err := c.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: listing, Step: 2, Handle: func(ids []string) error {
			return c.listed(ctx, p, name, order, ids, wrong)
		}})
		if err := c.wrongType(listing, err); err != nil {
			return err
		}
		if wrong[order] {
			c.reportf("%s: is not the intersection of %s and %s", listing, p.Group(name), p.Ranking(order))
		}
	}
	if legacy || !site.IsListed(name) {
		return nil
	}
	return c.size(ctx, p, name)
}

// size checks the place of a group in the index of sizes. Legacy clients change groups without the index: where they took
// out an article that only they wrote, no trace is left but the old size, until the group is read or changed.
func (c *checker) size(ctx context.Context, p keys.Partition, name site.GroupName) error {
	var has *redis.IntCmd
	var indexed, named *redis.FloatCmd
	err := c.Store.Read(ctx, func(pipe redis.Pipeliner) {
		has, indexed = pipe.SCard(ctx, p.Group(name)), pipe.ZScore(ctx, p.Sizes(), string(name))
		named = pipe.ZScore(ctx, p.Groups(), string(name))
	}, wire.Atomic)
	size := -indexed.Val()
	switch {
	case err != nil || has.Err() != nil: // of the wrong type, which is reported
		return err
	case indexed.Err() != nil && has.Val() > 0:
		c.reportf("%s: is not in %s", p.Group(name), p.Sizes())
	case c.legacyPosts && named.Err() == nil && size > float64(has.Val()):
	case size != float64(has.Val()):
		c.reportf("%s: has %d articles, but %s says %v", p.Group(name), has.Val(), p.Sizes(), size)
	}
	return nil
}

// sizes checks the groups in the index of sizes that have no set.
func (c *checker) sizes(ctx context.Context, p keys.Partition, groups map[string]keys.Partition) error {
	err := c.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: p.Sizes(), Step: 2, Handle: func(names []string) error {
		for _, name := range names {
			if _, found := groups[p.Group(site.GroupName(name))]; found {
				continue
			}
			if err := c.size(ctx, p, site.GroupName(name)); err != nil {
				return err
			}
		}
		return nil
	}})
	return c.wrongType(p.Sizes(), err)
}

// listed notes in wrong if a stored listing of a group has an article that is not in the group, or not with
// this score in the ranking. A listing that is being built is not complete yet.
func (c *checker) listed(ctx context.Context, p keys.Partition, name site.GroupName, order site.Order, ids []string, wrong map[site.Order]bool) error {
	stored, want, isMember := make([]*redis.FloatCmd, len(ids)), make([]*redis.FloatCmd, len(ids)), make([]*redis.BoolCmd, len(ids))
	var building *redis.IntCmd
	err := c.Store.Read(ctx, func(pipe redis.Pipeliner) {
		building = lists.QueueBuilding(ctx, pipe, p.Listing(order, name))
		for i, id := range ids {
			stored[i] = pipe.ZScore(ctx, p.Listing(order, name), id)
			want[i] = pipe.ZScore(ctx, p.Ranking(order), id)
			isMember[i] = pipe.SIsMember(ctx, p.Group(name), id)
		}
	}, wire.Atomic)
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
func (c *checker) members(ctx context.Context, p keys.Partition, name site.GroupName, ids []string, wrong map[site.Order]bool) (legacy bool, err error) {
	isMember, deleted, groups := make([]*redis.BoolCmd, len(ids)), make([]*redis.FloatCmd, len(ids)), make([]*redis.StringCmd, len(ids))
	exists, building, ranked, listed := map[site.Order]*redis.IntCmd{}, map[site.Order]*redis.IntCmd{}, map[site.Order][]*redis.FloatCmd{}, map[site.Order][]*redis.FloatCmd{}
	err = c.Store.Read(ctx, func(pipe redis.Pipeliner) {
		for _, order := range []site.Order{site.ByScore, site.ByTime} {
			exists[order] = pipe.Exists(ctx, p.Listing(order, name))
			building[order] = lists.QueueBuilding(ctx, pipe, p.Listing(order, name))
			for _, id := range ids {
				ranked[order] = append(ranked[order], pipe.ZScore(ctx, p.Ranking(order), id))
				listed[order] = append(listed[order], pipe.ZScore(ctx, p.Listing(order, name), id))
			}
		}
		for i, id := range ids {
			isMember[i] = pipe.SIsMember(ctx, p.Group(name), id)
			deleted[i] = pipe.ZScore(ctx, p.Deleted(), id)
			groups[i] = pipe.HGet(ctx, p.Key(id), site.FieldGroups)
		}
	}, wire.Atomic)
	if err != nil {
		return false, err
	}
	for i, id := range ids {
		if !isMember[i].Val() {
			continue
		}
		unlisted := name != site.Interesting && !slices.Contains(site.GroupNames(groups[i].Val()), name)
		legacy = legacy || unlisted
		if ranked[site.ByTime][i].Err() != nil && (!unlisted || deleted[i].Err() != nil) {
			c.reportf("%s: holds %s, which is not in %s", p.Group(name), id, p.Ranking(site.ByTime))
		}
		for order, listings := range listed {
			if exists[order].Val() == 1 && building[order].Val() == 0 && ranked[order][i].Err() == nil && errors.Is(listings[i].Err(), redis.Nil) {
				wrong[order] = true
			}
		}
	}
	return legacy, nil
}
