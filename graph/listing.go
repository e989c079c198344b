package graph

import (
	"context"
	"errors"

	"frontpage/redisrepo"
)

// list answers a page of a listing. An article that was there when the ids were
// read and is gone, or cannot be read, is left out: one bad article must not
// take the page away from everybody.
func (r *Resolver) list(ctx context.Context, l redisrepo.Listing, page int32, size *int32) ([]*redisrepo.Article, error) {
	ids, err := r.repo.List(ctx, l, int(page), asInt(size))
	if err != nil {
		return nil, err
	}
	articles := make([]*redisrepo.Article, 0, len(ids))
	for i, thunk := range load(ctx, ids...) {
		article, err := thunk()
		switch {
		case err == nil:
			articles = append(articles, article)
		case errors.Is(err, redisrepo.ErrUnavailable) || ctx.Err() != nil:
			return nil, err
		default:
			r.log.ErrorContext(ctx, "article left out of a listing", "article", ids[i].String(), "err", err)
		}
	}
	return articles, nil
}

func asInt(n *int32) *int {
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}
