package graph

import (
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/graph-gophers/dataloader/v7"

	"frontpage/redisrepo"
)

type loaderKey struct{}

// withLoader gives each response its own loader, whose cache must not outlive it: a subscription has many
// responses.
func (r *Resolver) withLoader(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	// The loader is made at its first use: its channel is expensive, and mutations need none.
	loader := sync.OnceValue(func() *dataloader.Loader[redisrepo.ArticleID, *redisrepo.Article] {
		return dataloader.NewBatchedLoader(r.fetch, dataloader.WithInputCapacity[redisrepo.ArticleID, *redisrepo.Article](redisrepo.MaxPageSize))
	})
	return next(context.WithValue(ctx, loaderKey{}, loader))
}

// fetch reads a batch of articles in one round trip.
func (r *Resolver) fetch(ctx context.Context, ids []redisrepo.ArticleID) []*dataloader.Result[*redisrepo.Article] {
	articles, errs := r.repo.ArticlesByID(ctx, ids)
	results := make([]*dataloader.Result[*redisrepo.Article], len(ids))
	for i := range ids {
		results[i] = &dataloader.Result[*redisrepo.Article]{Data: articles[i], Error: errs[i]}
	}
	return results
}

// load starts loading articles, and returns a function for each that waits for it. The batch is sent at once,
// since all its keys are known.
func load(ctx context.Context, ids ...redisrepo.ArticleID) []dataloader.Thunk[*redisrepo.Article] {
	loader := ctx.Value(loaderKey{}).(func() *dataloader.Loader[redisrepo.ArticleID, *redisrepo.Article])()
	thunks := make([]dataloader.Thunk[*redisrepo.Article], len(ids))
	for i, id := range ids {
		thunks[i] = loader.Load(ctx, id)
	}
	loader.Flush()
	return thunks
}
