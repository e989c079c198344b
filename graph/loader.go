package graph

import (
	"context"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/graph-gophers/dataloader/v7"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/redisrepo/site"
)

type loaderKey struct{}

// withLoader gives each response its own loader, whose cache must not outlive it: a subscription has many
// responses.
func (r *Resolver) withLoader(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	return next(context.WithValue(ctx, loaderKey{}, &loader{articlesByID: r.articlesByID}))
}

type (
	articleLoader = dataloader.Loader[site.ArticleID, *site.Article]
	articleThunk  = dataloader.Thunk[*site.Article]
	articleResult = dataloader.Result[*site.Article]
)

// loader loads the articles of one response.
type loader struct {
	articlesByID func(context.Context, []site.ArticleID) ([]*site.Article, []error)
	roots, once  sync.Once
	all          *articleLoader // made at its first use: its channel is expensive, and mutations need none

	ranking sync.Mutex // held while a ranking is read

	mu   sync.Mutex
	read map[site.ArticleID]*articleResult
}

func (l *loader) get() *articleLoader {
	l.once.Do(func() {
		l.all = dataloader.NewBatchedLoader(l.fetch,
			dataloader.WithInputCapacity[site.ArticleID, *site.Article](site.MaxPageSize),
			dataloader.WithWait[site.ArticleID, *site.Article](time.Minute), // load does not wait: it sends the batch, in one piece
			dataloader.WithTracer[site.ArticleID, *site.Article](untraced{}))
	})
	return l.all
}

// fetch reads a batch of articles in one round trip.
func (l *loader) fetch(ctx context.Context, ids []site.ArticleID) []*articleResult {
	articles, errs := l.articlesByID(ctx, ids)
	results, all := make([]*articleResult, len(ids)), make([]articleResult, len(ids))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.read == nil {
		l.read = make(map[site.ArticleID]*articleResult, len(ids))
	}
	for i, id := range ids {
		all[i] = articleResult{Data: articles[i], Error: errs[i]}
		results[i], l.read[id] = &all[i], &all[i]
	}
	return results
}

// result returns what a batch has read, or nil.
func (l *loader) result(id site.ArticleID) *articleResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read[id]
}

// load loads articles. The batch is sent at once, since all its keys are known. Both results have one element for each
// id.
func load(ctx context.Context, ids ...site.ArticleID) ([]*site.Article, []error) {
	l := ctx.Value(loaderKey{}).(*loader)
	all := l.get()
	thunks := make([]articleThunk, len(ids))
	for i, id := range ids {
		thunks[i] = all.Load(ctx, id)
	}
	all.Flush()
	articles, errs := make([]*site.Article, len(ids)), make([]error, len(ids))
	for i := len(ids) - 1; i >= 0; i-- {
		// Each call of a thunk allocates: one is enough to wait for the whole batch.
		if result := l.result(ids[i]); result != nil {
			articles[i], errs[i] = result.Data, result.Error
		} else {
			articles[i], errs[i] = thunks[i]()
		}
	}
	return articles, errs
}

// loadRoots loads the articles of all fields article and node at the root of a query in one batch, when the first of them
// is resolved.
func loadRoots(ctx context.Context) {
	operation := graphql.GetOperationContext(ctx)
	if set := operation.Operation.SelectionSet; len(set) == 1 {
		if _, ok := set[0].(*ast.Field); ok {
			return
		}
	}
	ctx.Value(loaderKey{}).(*loader).roots.Do(func() {
		var ids []site.ArticleID
		for _, field := range graphql.CollectFields(operation, operation.Operation.SelectionSet, []string{"Query"}) {
			if field.Name != "article" && field.Name != "node" {
				continue
			}
			if id, err := UnmarshalArticleID(field.ArgumentMap(operation.Variables)["id"]); err == nil {
				ids = append(ids, id)
			}
		}
		load(ctx, ids...)
	})
}

// untraced is dataloader.NoopTracer without an allocation for each key.
type untraced struct{}

func (untraced) TraceLoad(ctx context.Context, _ site.ArticleID) (context.Context, dataloader.TraceLoadFinishFunc[*site.Article]) {
	return ctx, ignoreLoad
}

func (untraced) TraceLoadMany(ctx context.Context, _ []site.ArticleID) (context.Context, dataloader.TraceLoadManyFinishFunc[*site.Article]) {
	return ctx, func(dataloader.ThunkMany[*site.Article]) {}
}

func (untraced) TraceBatch(ctx context.Context, _ []site.ArticleID) (context.Context, dataloader.TraceBatchFinishFunc[*site.Article]) {
	return ctx, func([]*articleResult) {}
}

func ignoreLoad(articleThunk) {}
