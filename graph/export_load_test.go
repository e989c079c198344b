package graph

import (
	"context"
	"log/slog"

	"github.com/99designs/gqlgen/graphql"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// Load returns what the first page of a listing and the articles with the ids resolve to, in one response.
func Load(ctx context.Context, repo *redisrepo.Repo, l lists.Listing, ids ...site.ArticleID) (page, articles []*site.Article, err error) {
	r := &Resolver{repo: repo, log: slog.New(slog.DiscardHandler)}
	r.withLoader(ctx, func(ctx context.Context) *graphql.Response {
		if page, err = r.list(ctx, l, 1, nil); err == nil && len(ids) > 0 {
			articles, err = r.loadAll(ctx, ids)
		}
		return nil
	})
	return page, articles, err
}
