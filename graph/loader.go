package graph

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/graph-gophers/dataloader/v7"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/redisrepo/site"
)

type loaderKey struct{}

// withLoader gives each response its own loader, whose cache must not outlive it: a subscription has many
// responses.
func (r *Resolver) withLoader(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	return next(&loader{Context: ctx, resolver: r})
}

// loader loads the articles of one response. A key of the dataloader is a whole list of ids, which are all known at once: a key
// for each article would cost three allocations.
type loader struct {
	context.Context // of the response
	resolver        *Resolver
	roots, once     sync.Once
	lists           *dataloader.Loader[idList, batch] // made at its first use: mutations need none

	ranking sync.Mutex // held while a ranking is read

	mu   sync.Mutex // held while articles are read: lists that overlap have the same state of an article
	read map[site.ArticleID]loaded
}

// Value implements context.Context.
func (l *loader) Value(key any) any {
	if key == (loaderKey{}) {
		return l
	}
	return l.Context.Value(key)
}

// loaded is what reading an article returned.
type loaded struct {
	article *site.Article
	err     error
}

// idList is a list of ids, 8 bytes each.
type idList string

func listOf(ids []site.ArticleID) idList {
	list := make([]byte, 0, 8*len(ids))
	for _, id := range ids {
		list = binary.BigEndian.AppendUint64(list, uint64(id)) // #nosec G115 -- ids are positive
	}
	return idList(list)
}

func (l idList) ids() []site.ArticleID {
	ids := make([]site.ArticleID, len(l)/8)
	for i := range ids {
		ids[i] = site.ArticleID(binary.BigEndian.Uint64([]byte(l[8*i : 8*i+8]))) // #nosec G115 -- made of ids
	}
	return ids
}

// fetch reads lists of articles, each in one round trip.
func (l *loader) fetch(ctx context.Context, lists []idList) []*dataloader.Result[batch] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return site.Collect(lists, func(list idList) *dataloader.Result[batch] {
		return &dataloader.Result[batch]{Data: l.fetchList(ctx, list.ids())}
	})
}

// fetchList reads those articles of a list that were not read before.
func (l *loader) fetchList(ctx context.Context, ids []site.ArticleID) batch {
	missing := make([]site.ArticleID, 0, len(ids))
	for _, id := range ids {
		if _, known := l.read[id]; !known && !slices.Contains(missing, id) {
			missing = append(missing, id)
		}
	}
	var b batch
	if len(missing) > 0 {
		b.articles, b.errs = l.resolver.articlesByID(ctx, missing)
	}
	if l.read == nil {
		l.read = make(map[site.ArticleID]loaded, len(missing))
	}
	for i, id := range missing {
		l.read[id] = loaded{b.articles[i], b.errs[i]}
	}
	if len(missing) == len(ids) && len(ids) > 0 {
		return b
	}
	b = batch{make([]*site.Article, len(ids)), make([]error, len(ids))}
	for i, id := range ids {
		b.articles[i], b.errs[i] = l.read[id].article, l.read[id].err
	}
	return b
}

// load loads articles. Both results have one element for each id; errs must not be modified.
func load(ctx context.Context, ids ...site.ArticleID) (articles []*site.Article, errs []error) {
	l := ctx.Value(loaderKey{}).(*loader)
	l.once.Do(func() {
		l.lists = dataloader.NewBatchedLoader(l.fetch, dataloader.WithInputCapacity[idList, batch](1),
			dataloader.WithBatchCapacity[idList, batch](1)) // a list leaves at once
	})
	b, err := l.lists.Load(ctx, listOf(ids))()
	if err != nil { // reading panicked
		return make([]*site.Article, len(ids)), slices.Repeat([]error{err}, len(ids))
	}
	return slices.Clone(b.articles), b.errs
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

// selected reports whether the query selects a field below the current one. Each step of the path is a field
// with its type, such as Group.articleCount.
func selected(ctx context.Context, path ...string) bool {
	return selects(graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field, path)
}

func selects(operation *graphql.OperationContext, field graphql.CollectedField, path []string) bool {
	if len(path) == 0 {
		return true
	}
	typeName, name, _ := strings.Cut(path[0], ".")
	// A fragment on the interface applies to each of its types.
	for _, child := range graphql.CollectFields(operation, field.Selections, []string{typeName, "Node"}) {
		if child.Name == name && selects(operation, child, path[1:]) {
			return true
		}
	}
	return false
}

// mentioned reports whether one of the fields is anywhere below the current one, even if a directive leaves it out. It
// allocates nothing.
func mentioned(ctx context.Context, names ...string) bool {
	return mentions(graphql.GetFieldContext(ctx).Field.Selections, names)
}

func mentions(selections ast.SelectionSet, names []string) bool {
	return slices.ContainsFunc(selections, func(selection ast.Selection) bool {
		switch s := selection.(type) {
		case *ast.Field:
			return slices.Contains(names, s.Name) || mentions(s.SelectionSet, names)
		case *ast.InlineFragment:
			return mentions(s.SelectionSet, names)
		case *ast.FragmentSpread:
			return mentions(s.Definition.SelectionSet, names)
		}
		return false
	})
}
