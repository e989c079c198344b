package graph

import (
	"context"
	"errors"
	"slices"

	"frontpage/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// list returns a numbered page of a listing.
func (r *Resolver) list(ctx context.Context, l lists.Listing, page int32, size *int32) ([]*site.Article, error) {
	ids, err := r.idsOn(ctx, l, page, size)
	if err != nil {
		return nil, err
	}
	articles, err := r.loadAll(ctx, ids)
	articles = slices.DeleteFunc(articles, func(a *site.Article) bool { return a == nil })
	l.Sort(articles)
	return articles, err
}

// loadAll loads articles. An element is nil if its article is missing or cannot be decoded: one bad article
// must not make a page fail.
func (r *Resolver) loadAll(ctx context.Context, ids []site.ArticleID) ([]*site.Article, error) {
	articles, errs := load(ctx, ids...)
	for i, err := range errs {
		switch {
		case err == nil:
		case isRefusal(err): // deleted, or it never existed
		case errors.Is(err, failover.ErrUnavailable) || ctx.Err() != nil:
			return nil, err
		default:
			r.log.ErrorContext(ctx, "article cannot be read", "article", ids[i].String(), "err", err)
		}
	}
	return articles, nil
}

// articleIfAny returns an article, or nil if it is missing.
func articleIfAny(ctx context.Context, id site.ArticleID) (*site.Article, error) {
	articles, errs := load(ctx, id)
	if errs[0] != nil && isRefusal(errs[0]) {
		return nil, nil
	}
	return articles[0], errs[0]
}

// asItStands reads an article, also one that an earlier field of the same mutation has changed; nil if it does not exist.
func (r *Resolver) asItStands(ctx context.Context, id site.ArticleID) (*site.Article, error) {
	articles, errs := r.articlesByID(ctx, []site.ArticleID{id})
	if errs[0] != nil && isRefusal(errs[0]) {
		return nil, nil
	}
	return articles[0], errs[0]
}

func isRefusal(err error) bool {
	var refusal site.Refusal
	return errors.As(err, &refusal)
}

func asInt(n *int32) *int {
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}
