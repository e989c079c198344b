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
