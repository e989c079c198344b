package graph

import (
	"context"
	"log/slog"

	"github.com/99designs/gqlgen/graphql"

	"frontpage/redisrepo"
)

// Load returns what the first page of a listing and the articles with the ids resolve to, in one response.
func Load(ctx context.Context, repo *redisrepo.Repo, l redisrepo.Listing, ids ...redisrepo.ArticleID) (page, articles []*redisrepo.Article, err error) {
	r := &Resolver{repo: repo, log: slog.New(slog.DiscardHandler)}
	r.withLoader(ctx, func(ctx context.Context) *graphql.Response {
		if page, err = r.list(ctx, l, 1, nil); err == nil && len(ids) > 0 {
			articles, err = r.loadAll(ctx, ids)
		}
		return nil
	})
	return page, articles, err
}
