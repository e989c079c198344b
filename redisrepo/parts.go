package redisrepo

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Parts returns the numbers of the parts that have all articles, if each has up to size articles. None is empty.
func (r *Repo) Parts(ctx context.Context, size int) ([]int, error) {
	return r.parts(ctx, size, func(p partition) string { return p.ranking(ByTime) })
}

// GroupParts returns the numbers of the parts that have all groups, if each has up to size of them. None is empty.
func (r *Repo) GroupParts(ctx context.Context, size int) ([]int, error) {
	return r.parts(ctx, size, partition.groups)
}

// Part returns up to size articles of one partition, the oldest first. Parts has the numbers.
func (r *Repo) Part(ctx context.Context, part, size int) ([]ArticleID, error) {
	members, err := r.part(ctx, part, size, func(p partition) string { return p.ranking(ByTime) })
	ids := make([]ArticleID, 0, len(members))
	for _, member := range members {
		if id, ok := articleOfMember(member); ok {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// GroupPart returns up to size groups of one partition, by name: those of its articles, but interesting. GroupParts has the
// numbers.
func (r *Repo) GroupPart(ctx context.Context, part, size int) (names []GroupName, err error) {
	members, err := r.part(ctx, part, size, partition.groups)
	for _, member := range members {
		if name, err := ParseGroupName(member); err == nil {
			names = append(names, name)
		}
	}
	return names, err
}

// Posters returns the users whose first article in its partition is one of ids, which Part has returned: all parts have all
// users with articles together. It takes two round trips.
func (r *Repo) Posters(ctx context.Context, ids []ArticleID) (names []UserName, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	p := r.partition(ids[0])
	posters := make([]*redis.SliceCmd, len(ids))
	err = r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, id := range ids {
			posters[i] = pipe.HMGet(ctx, p.article(id), fieldPoster)
		}
	})
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") { // of a key that another program wrote
		return nil, storeError("list posters", err)
	}
	for _, poster := range posters {
		if values := poster.Val(); len(values) == 1 {
			member, _ := values[0].(string)
			if name, err := ParseUserName(string(userOf(member))); err == nil {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return r.whoBeginIn(ctx, p, ids, slices.Compact(names))
}

// whoBeginIn returns the users whose first article in a partition is one of ids.
func (r *Repo) whoBeginIn(ctx context.Context, p partition, ids []ArticleID, users []UserName) (names []UserName, err error) {
	if len(users) == 0 {
		return nil, nil
	}
	firsts := make([]*redis.StringSliceCmd, len(users))
	err = r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, user := range users {
			firsts[i] = pipe.ZRange(ctx, p.posted(user), 0, 0)
		}
	})
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil, storeError("list posters", err)
	}
	in := make(map[ArticleID]bool, len(ids))
	for _, id := range ids {
		in[id] = true
	}
	for i, first := range firsts {
		if members := first.Val(); len(members) == 1 {
			if id, ok := articleOfMember(members[0]); ok && in[id] {
				names = append(names, users[i])
			}
		}
	}
	return names, nil
}

// parts returns the numbers of the parts of up to size members in which part reads a sorted set of each partition.
func (r *Repo) parts(ctx context.Context, size int, key func(partition) string) (numbers []int, err error) {
	cards := make([]*redis.IntCmd, len(r.partitions))
	err = r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			cards[i] = pipe.ZCard(ctx, key(p))
		}
	})
	if err != nil {
		return nil, storeError("count", err)
	}
	for i, card := range cards {
		for first := 0; first < int(card.Val()); first += size {
			numbers = append(numbers, first/size*len(r.partitions)+i)
		}
	}
	return numbers, nil
}

// part returns up to size members of one partition's sorted set.
func (r *Repo) part(ctx context.Context, part, size int, key func(partition) string) ([]string, error) {
	p, first := r.partitions[part%len(r.partitions)], int64(part/len(r.partitions))*int64(size)
	members, err := r.client.ZRange(ctx, key(p), first, first+int64(size)-1).Result()
	if err != nil {
		return nil, storeError("list", err)
	}
	return members, nil
}
