package graph

import (
	"context"
	"errors"
	"slices"

	"frontpage/redisrepo"
)

// list returns a numbered page of a listing.
func (r *Resolver) list(ctx context.Context, l redisrepo.Listing, page int32, size *int32) ([]*redisrepo.Article, error) {
	ids, err := r.repo.List(ctx, l, int(page), asInt(size))
	if err != nil {
		return nil, err
	}
	articles, err := r.loadAll(ctx, ids)
	articles = slices.DeleteFunc(articles, func(a *redisrepo.Article) bool { return a == nil })
	l.Sort(articles)
	return articles, err
}

// loadAll loads articles. An element is nil if its article is missing or cannot be decoded: one bad article
// must not make a page fail.
func (r *Resolver) loadAll(ctx context.Context, ids []redisrepo.ArticleID) ([]*redisrepo.Article, error) {
	articles := make([]*redisrepo.Article, len(ids))
	for i, thunk := range load(ctx, ids...) {
		article, err := thunk()
		var refusal redisrepo.Refusal
		switch {
		case err == nil:
			articles[i] = article
		case errors.As(err, &refusal): // deleted, or it never existed
		case errors.Is(err, redisrepo.ErrUnavailable) || ctx.Err() != nil:
			return nil, err
		default:
			r.log.ErrorContext(ctx, "article cannot be read", "article", ids[i].String(), "err", err)
		}
	}
	return articles, nil
}

// articleIfAny returns an article, or nil if it is missing.
func articleIfAny(ctx context.Context, id redisrepo.ArticleID) (*redisrepo.Article, error) {
	article, err := load(ctx, id)[0]()
	var refusal redisrepo.Refusal
	if errors.As(err, &refusal) {
		return nil, nil
	}
	return article, err
}

func asInt(n *int32) *int {
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}
