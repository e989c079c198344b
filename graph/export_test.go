package graph

import (
	"context"
	"log/slog"

	"github.com/99designs/gqlgen/graphql"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// Served returns the schema that NewHandler serves, with other resolvers: those that wrap returns for its own.
func Served(repo *redisrepo.Repo, about Site, log *slog.Logger, o endpoint.Options, wrap func(ResolverRoot) ResolverRoot) endpoint.Schema {
	resolver := newResolver(repo, about, log, o)
	return resolver.served(wrap(resolver), o)
}

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
