package lists

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/site"
)

// FirstArticles returns the first articles of a listing, in its order. It takes one round trip if all of them are among
// known, up to MaxPageSize articles that the caller expects, and two otherwise. Articles that cannot be decoded are left
// out.
func (r *Lists) FirstArticles(ctx context.Context, l Listing, count int, known []site.ArticleID) ([]*site.Article, error) {
	read := make(map[site.ArticleID]*redis.MapStringStringCmd, len(known))
	ids, err := r.listIDs(ctx, l, 0, count, func(pipe redis.Pipeliner) {
		for _, id := range known[:min(len(known), site.MaxPageSize)] {
			read[id] = pipe.HGetAll(ctx, r.store.Partition(id).Article(id))
		}
	})
	if err != nil && len(known) > 0 && !errors.Is(err, failover.ErrUnavailable) { // perhaps one of the articles cannot be read
		return r.FirstArticles(ctx, l, count, nil)
	}
	if err != nil {
		return nil, err
	}
	found, errs := make([]*site.Article, len(ids)), make([]error, len(ids))
	var unread []int
	for i, id := range ids {
		if hash := read[id]; hash != nil {
			found[i], errs[i] = r.articles.ObserveHash(id, articles.HashOf(hash.Val()), len(hash.Val()), new(articles.Decoded))
		} else {
			unread = append(unread, i)
		}
	}
	if len(unread) > 0 {
		missing := make([]site.ArticleID, len(unread))
		for j, i := range unread {
			missing[j] = ids[i]
		}
		rest, findErrs := r.articles.ReadArticles(ctx, missing)
		for j, i := range unread {
			found[i], errs[i] = rest[j], findErrs[j]
		}
	}
	for _, err := range errs {
		if errors.Is(err, failover.ErrUnavailable) {
			return nil, err
		}
	}
	return slices.DeleteFunc(found, func(a *site.Article) bool { return a == nil || a.DeletedAt != nil }), nil
}
