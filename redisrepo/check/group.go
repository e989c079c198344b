package check

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// group checks the set of a group and its stored listings, in batches: one command on all of a large group
// would block Redis.
func (c *checker) group(ctx context.Context, p keys.Partition, name site.GroupName) error {
	if canonical, err := site.ParseGroupName(string(name)); err != nil || canonical != name {
		return nil // a group of a program of the book alone
	}
	wrong := map[site.Order]bool{}
	err := c.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.SScan, Key: p.Group(name), Step: 1, Handle: func(ids []string) error {
		return c.members(ctx, p, name, ids, wrong)
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
	if !site.IsListed(name) {
		return nil
	}
	return c.size(ctx, p, name)
}

// size checks the place of a group in the index of sizes.
func (c *checker) size(ctx context.Context, p keys.Partition, name site.GroupName) error {
	var has *redis.IntCmd
	var indexed *redis.FloatCmd
	err := c.Store.Read(ctx, func(pipe redis.Pipeliner) {
		has, indexed = pipe.SCard(ctx, p.Group(name)), pipe.ZScore(ctx, p.Sizes(), string(name))
	}, wire.Atomic)
	size := -indexed.Val()
	switch {
	case err != nil || has.Err() != nil: // of the wrong type, which is reported
		return err
	case indexed.Err() != nil && has.Val() > 0:
		c.reportByBook("%s: is not in %s", p.Group(name), p.Sizes())
	case size != float64(has.Val()):
		c.reportByBook("%s: has %d articles, but %s says %v", p.Group(name), has.Val(), p.Sizes(), size)
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
// this score in the ranking. A listing that is being built is not complete yet, and one that follows the log may lack entries.
func (c *checker) listed(ctx context.Context, p keys.Partition, name site.GroupName, order site.Order, ids []string, wrong map[site.Order]bool) error {
	var stored, want *redis.SliceCmd
	var isMember *redis.BoolSliceCmd
	var building *redis.IntCmd
	err := c.Store.Read(ctx, func(pipe redis.Pipeliner) {
		c.lags[p].Queue(ctx, pipe)
		building = lists.QueueBuilding(ctx, pipe, p.Listing(order, name))
		stored, want = queuePlaces(ctx, pipe, p.Listing(order, name), ids), queuePlaces(ctx, pipe, p.Ranking(order), ids)
		isMember = pipe.SMIsMember(ctx, p.Group(name), wire.Anys(ids)...)
	}, wire.Atomic)
	if err != nil {
		return err
	}
	unsettled := c.unsettled(p, ids)
	for i := range ids {
		listed, isIn := placeIn(stored, i), isMember.Err() == nil && isMember.Val()[i]
		if building.Val() == 0 && listed.has && !unsettled[i] && (!isIn || listed != placeIn(want, i)) {
			wrong[order] = true
		}
	}
	return nil
}

// unsettled reports which articles have entries of the log that the listings lack.
func (c *checker) unsettled(p keys.Partition, ids []string) []bool {
	lacking, all := c.lags[p].Articles(), make([]bool, len(ids))
	for i, member := range ids {
		id, _ := site.ParseArticleID(member)
		all[i] = lacking[id]
	}
	return all
}

// members checks that a group's articles exist, except those that have left the group since it was scanned, and
// notes in wrong which of the group's stored listings lacks one of them.
func (c *checker) members(ctx context.Context, p keys.Partition, name site.GroupName, ids []string, wrong map[site.Order]bool) error {
	var isMember *redis.BoolSliceCmd
	groups := make([]*redis.StringCmd, len(ids))
	size, building, ranked, listed := map[site.Order]*redis.IntCmd{}, map[site.Order]*redis.IntCmd{}, map[site.Order]*redis.SliceCmd{}, map[site.Order]*redis.SliceCmd{}
	err := c.Store.Read(ctx, func(pipe redis.Pipeliner) {
		c.lags[p].Queue(ctx, pipe)
		for _, order := range []site.Order{site.ByScore, site.ByTime} {
			size[order] = pipe.ZCard(ctx, p.Listing(order, name)) // the store in memory keeps empty listings, which are like none
			building[order] = lists.QueueBuilding(ctx, pipe, p.Listing(order, name))
			ranked[order], listed[order] = queuePlaces(ctx, pipe, p.Ranking(order), ids), queuePlaces(ctx, pipe, p.Listing(order, name), ids)
		}
		isMember = pipe.SMIsMember(ctx, p.Group(name), wire.Anys(ids)...)
		for i, id := range ids {
			groups[i] = pipe.HGet(ctx, p.Key(id), site.FieldGroups)
		}
	}, wire.Atomic)
	if err != nil {
		return err
	}
	unsettled := c.unsettled(p, ids)
	for i, id := range ids {
		if isMember.Err() != nil || !isMember.Val()[i] {
			continue
		}
		switch {
		case !placeIn(ranked[site.ByTime], i).has:
			c.reportByBook("%s: holds %s, which is not in %s", p.Group(name), id, p.Ranking(site.ByTime))
		case name != site.Interesting && groups[i].Err() == nil && !slices.Contains(site.GroupNames(groups[i].Val()), name):
			c.reportByBook("%s: holds %s, which does not list the group", p.Group(name), id)
		}
		for order, listings := range listed {
			if size[order].Val() > 0 && building[order].Val() == 0 && !unsettled[i] && placeIn(ranked[order], i).has && listings.Err() == nil && !placeIn(listings, i).has {
				wrong[order] = true
			}
		}
	}
	return nil
}

// links checks the records of the links of some articles. Each names the newest article that has the link, and its
// posting time, or 0 if it is free because that article was deleted.
func (c *checker) links(ctx context.Context, p keys.Partition, batch []facts) error {
	var keys []string
	var found []facts
	for _, f := range batch {
		if link := f.hash.Val()[site.FieldLink]; link != "" {
			keys, found = append(keys, c.Articles.LinkRecord(link)), append(found, f)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	// The commands have the errors.
	records, _ := wire.ReadEach(ctx, c.Store, keys, func(pipe redis.Pipeliner, key string) *redis.StringCmd { return pipe.Get(ctx, key) })
	named, _ := wire.ReadEach(ctx, c.Store, records, func(pipe redis.Pipeliner, record *redis.StringCmd) *redis.SliceCmd {
		id, _, _ := articles.ParseLinkRecord(record.Val())
		return pipe.HMGet(ctx, c.Repo.Store.Partition(id).Article(id), site.FieldLink, site.FieldTime, site.FieldDeleted)
	})
	for i, f := range found {
		key := c.Repo.Store.Partition(f.id).Article(f.id)
		if err := c.wrongType(key, named[i].Err()); err != nil {
			return err
		}
		if err := c.link(p, keys[i], f, records[i], named[i].Val()); err != nil {
			return err
		}
	}
	return nil
}

// link checks the record of an article's link, which names an article with these fields.
func (c *checker) link(p keys.Partition, key string, f facts, record *redis.StringCmd, named wire.Reply) error {
	hash := f.hash.Val()
	_, complete := hash[site.FieldGroups] // else that is reported
	id, since, err := articles.ParseLinkRecord(record.Val())
	recorded, _ := site.ParseNumber(since)
	posted, _ := site.ParseNumber(named.Text(1))
	own, _ := site.ParseNumber(hash[site.FieldTime])
	switch {
	case errors.Is(record.Err(), redis.Nil):
		if complete && f.time.has { // it is not deleted
			c.reportf("%s: lacks %s%v, which has the link", key, p, f.id)
		}
	case record.Err() != nil:
		return c.wrongType(key, record.Err())
	case err != nil:
		c.reportf("%s: names no article: %q", key, record.Val())
	case named.Text(0) == "" && named.Text(2) != "": // it was emptied long after its deletion
	case named.Text(0) == "" || c.Articles.LinkRecord(named.Text(0)) != key:
		c.reportf("%s: names %v, which has another link", key, id)
	case recorded != posted && (recorded != 0 || named.Text(2) == ""):
		c.reportf("%s: says that %v was posted at %s, not at %s", key, id, since, named.Text(1))
	case own > posted && complete:
		c.reportf("%s: names %v, but %s%v is newer", key, id, p, f.id)
	}
	return nil
}
