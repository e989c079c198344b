package lists

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Parts divides all articles into parts of up to size articles, none of them empty, and returns the parts'
// numbers.
func (r *Lists) Parts(ctx context.Context, size int) ([]int, error) {
	return r.parts(ctx, size, func(p keys.Partition) string { return p.Ranking(site.ByTime) })
}

// GroupParts is Parts for all groups.
func (r *Lists) GroupParts(ctx context.Context, size int) ([]int, error) {
	return r.parts(ctx, size, keys.Partition.Groups)
}

// Part returns the articles of a part, which are in one partition, the oldest first. part is one of the numbers
// that Parts returned for this size.
func (r *Lists) Part(ctx context.Context, part, size int) ([]site.ArticleID, error) {
	members, err := r.part(ctx, part, size, func(p keys.Partition) string { return p.Ranking(site.ByTime) })
	return idsOf(members, ArticleOfMember), err
}

// GroupPart returns the groups of a part of GroupParts, sorted by name: groups of articles in one partition,
// without interesting.
func (r *Lists) GroupPart(ctx context.Context, part, size int) (names []site.GroupName, err error) {
	members, err := r.part(ctx, part, size, keys.Partition.Groups)
	for _, member := range members {
		if name, err := site.ParseGroupName(member); err == nil {
			names = append(names, name)
		}
	}
	return names, err
}

// Posters returns the users whose first article in a partition is one of ids, which Part returned: all parts together
// yield all users with articles. It takes two round trips.
func (r *Lists) Posters(ctx context.Context, ids []site.ArticleID) (names []site.UserName, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var users []site.UserName
	p := r.store.Partition(ids[0])
	posters, err := wire.ReadEach(ctx, r.store, ids, func(pipe redis.Pipeliner, id site.ArticleID) *redis.SliceCmd {
		return pipe.HMGet(ctx, p.Article(id), site.FieldPoster)
	})
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") { // of a key that another program wrote
		return nil, failover.Wrap("list posters", err)
	}
	for _, poster := range posters {
		if name, err := site.ParseUserName(string(site.UserOf(wire.Reply(poster.Val()).Text(0)))); err == nil {
			users = append(users, name)
		}
	}
	slices.Sort(users)
	users = slices.Compact(users)
	firsts, err := wire.ReadEach(ctx, r.store, users, func(pipe redis.Pipeliner, user site.UserName) *redis.StringSliceCmd {
		return pipe.ZRange(ctx, p.Posted(user), 0, 0)
	})
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil, failover.Wrap("list posters", err)
	}
	in := make(map[site.ArticleID]bool, len(ids))
	for _, id := range ids {
		in[id] = true
	}
	for i, first := range firsts {
		if members := first.Val(); len(members) == 1 {
			if id, ok := ArticleOfMember(members[0]); ok && in[id] {
				names = append(names, users[i])
			}
		}
	}
	return names, nil
}

// parts returns the numbers of the parts of up to size members in which part reads a sorted set of each partition.
func (r *Lists) parts(ctx context.Context, size int, key func(keys.Partition) string) (numbers []int, err error) {
	cards, err := wire.ReadEach(ctx, r.store, r.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.IntCmd {
		return pipe.ZCard(ctx, key(p))
	})
	if err != nil {
		return nil, failover.Wrap("count", err)
	}
	for i, card := range cards {
		for first := 0; first < int(card.Val()); first += size {
			numbers = append(numbers, first/size*len(r.store.Partitions)+i)
		}
	}
	return numbers, nil
}

// part returns up to size members of one partition's sorted set.
func (r *Lists) part(ctx context.Context, part, size int, key func(keys.Partition) string) ([]string, error) {
	p, first := r.store.Partitions[part%len(r.store.Partitions)], int64(part/len(r.store.Partitions))*int64(size)
	members, err := r.store.Client.ZRange(wire.Reading(ctx), key(p), first, first+int64(size)-1).Result()
	return members, failover.Wrap("list", err)
}
