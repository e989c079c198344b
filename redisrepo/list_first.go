package redisrepo

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
)

// FirstArticles returns the first articles of a listing, in its order. It takes one round trip if all of them are among
// known, up to MaxPageSize articles that the caller expects, and two otherwise. Articles that cannot be decoded are left
// out.
func (r *Repo) FirstArticles(ctx context.Context, l Listing, count int, known []ArticleID) ([]*Article, error) {
	read := make(map[ArticleID]*redis.MapStringStringCmd, len(known))
	ids, err := r.listIDs(ctx, l, 0, count, func(pipe redis.Pipeliner) {
		for _, id := range known[:min(len(known), MaxPageSize)] {
			read[id] = pipe.HGetAll(ctx, r.partition(id).article(id))
		}
	})
	if err != nil && len(known) > 0 && !errors.Is(err, ErrUnavailable) { // perhaps one of the articles cannot be read
		return r.FirstArticles(ctx, l, count, nil)
	}
	if err != nil {
		return nil, err
	}
	articles, errs := make([]*Article, len(ids)), make([]error, len(ids))
	var unread []int
	for i, id := range ids {
		if hash := read[id]; hash != nil {
			articles[i], errs[i] = r.observeHash(id, hashOf(hash.Val()), len(hash.Val()), new(decoded))
		} else {
			unread = append(unread, i)
		}
	}
	if len(unread) > 0 {
		missing := make([]ArticleID, len(unread))
		for j, i := range unread {
			missing[j] = ids[i]
		}
		found, findErrs := r.readArticles(ctx, missing)
		for j, i := range unread {
			articles[i], errs[i] = found[j], findErrs[j]
		}
	}
	for _, err := range errs {
		if errors.Is(err, ErrUnavailable) {
			return nil, err
		}
	}
	return slices.DeleteFunc(articles, func(a *Article) bool { return a == nil || a.DeletedAt != nil }), nil
}

// Parts returns in how many parts Part reads all articles, if each has up to size of them.
func (r *Repo) Parts(ctx context.Context, size int) (int, error) {
	cards := make([]*redis.IntCmd, len(r.partitions))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			cards[i] = pipe.ZCard(ctx, p.ranking(ByTime))
		}
	})
	if err != nil {
		return 0, storeError("count articles", err)
	}
	var most int64
	for _, card := range cards {
		most = max(most, card.Val())
	}
	return int(most+int64(size)-1) / size * len(r.partitions), nil
}

// Part returns up to size articles of one partition, the oldest first. The parts, from 0, have all articles together.
func (r *Repo) Part(ctx context.Context, part, size int) ([]ArticleID, error) {
	p, first := r.partitions[part%len(r.partitions)], int64(part/len(r.partitions))*int64(size)
	members, err := r.client.ZRange(ctx, p.ranking(ByTime), first, first+int64(size)-1).Result()
	if err != nil {
		return nil, storeError("list", err)
	}
	ids := make([]ArticleID, 0, len(members))
	for _, member := range members {
		if id, ok := articleOfMember(member); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
