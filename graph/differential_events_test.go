package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"frontpage/endpoint/plan"
	"frontpage/graph"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/live"
	"frontpage/redisrepo/site"
)

// source replaces the resolvers of subscriptions by a channel.
type source struct {
	graph.SubscriptionResolver
	articles chan *site.Article
	posts    chan *live.PostedEdge
	edges    chan *events.EventEdge
}

func (s source) ArticleChanged(context.Context, []string, []int32) (<-chan *site.Article, error) {
	return s.articles, nil
}

func (s source) ArticlePosted(context.Context, *string, *string) (<-chan *live.PostedEdge, error) {
	return s.posts, nil
}

func (s source) Event(context.Context, *string, []events.EventKind) (<-chan *events.EventEdge, error) {
	return s.edges, nil
}

type sourceRoot struct {
	faultyRoot
	source source
}

func (r sourceRoot) Subscription() graph.SubscriptionResolver { return r.source }

func TestEventsOfPlansAreLikeGqlgen(t *testing.T) {
	t.Parallel()
	p := newPair(t, differentialServer(t), 0)
	events := 0
	for set := range 10 {
		random := rand.New(rand.NewPCG(*seed, uint64(set))) // #nosec G115 -- not negative
		p.fill(random)
		ids := make([]site.ArticleID, 20)
		for i := range ids {
			ids[i] = site.ArticleID(i + 1)
		}
		found, _ := p.sides[0].repo.Articles.ArticlesByID(t.Context(), ids)
		articles := slices.DeleteFunc(found, func(a *site.Article) bool { return a == nil })
		for range min(60*len(articles), 60) {
			requests, _ := p.requests(random, ast.Subscription)
			for _, r := range requests {
				article := pick(random, articles)
				a, ok := p.sides[0].event(r, article, false)
				if !ok {
					continue // the subscription does not begin, or gqlgen panics
				}
				b, ok := p.sides[1].event(r, article, true)
				if !ok {
					t.Fatalf("seed %d: the plan of a subscription panics\n%s", *seed, r)
				}
				if difference := r.differ(a, b); difference != "" {
					t.Fatalf("seed %d: the executors differ in %s\n%s\nfirst:  %s %v\nsecond: %s %v", *seed, difference, r, a.data, a.errors, b.data, b.errors)
				}
				events++
			}
		}
	}
	if events < 300 {
		t.Errorf("seed %d: got %d events, want at least 300", *seed, events)
	}
}

// event returns what a subscription answers about an article, by its plan or by gqlgen.
func (s *side) event(r request, article *site.Article, compiled bool) (a answer, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	articles, posts, edges := make(chan *site.Article, 1), make(chan *live.PostedEdge, 1), make(chan *events.EventEdge, 1)
	schema := s.served(func(root graph.ResolverRoot) graph.ResolverRoot {
		return sourceRoot{faultyRoot{root}, source{articles: articles, posts: posts, edges: edges}}
	})
	values := map[string]any{}
	if text, err := json.Marshal(r.values); err != nil || json.Unmarshal(text, &values) != nil {
		panic(err)
	}
	prepare := executor.New(schema)
	prepare.SetRecoverFunc(recovered)
	ctx := graphql.StartOperationTrace(context.WithValue(context.Background(), faultsKey{}, r.faults))
	o, errs := prepare.CreateOperationContext(ctx, &graphql.RawParams{Query: r.text, OperationName: r.operation, Variables: values})
	if errs != nil {
		return a, false
	}
	o.ResolverMiddleware = func(ctx context.Context, next graphql.Resolver) (any, error) { return next(ctx) }
	ctx = graphql.WithOperationContext(ctx, o)
	fields := graphql.CollectFields(o, o.Operation.SelectionSet, []string{"Subscription"})
	if len(fields) != 1 {
		return a, false
	}
	var value any = article
	switch fields[0].Name {
	case "articlePosted":
		edge := &live.PostedEdge{Cursor: "c", Node: article}
		posts <- edge
		value = edge
	case "event": // any event will do
		page, err := s.repo.Log.Events(context.Background(), nil, nil, nil)
		if err != nil || len(page.Edges) == 0 {
			return a, false
		}
		edge := page.Edges[int(article.ID)%len(page.Edges)]
		edges <- edge
		value = edge
	}
	var execute graphql.ResponseHandler
	if event := schema.Compile(o.Operation, o.Doc.Fragments).Event; compiled {
		execute = func(ctx context.Context) *graphql.Response {
			return event(ctx, value, plan.Request{OnError: plan.Propagate})
		}
	} else {
		begun := graphql.WithResponseContext(ctx, presented, recovered)
		execute = schema.Exec(begun)
		if graphql.GetErrors(begun) != nil {
			return a, false
		}
		articles <- article
	}
	ctx = graphql.WithFieldContext(ctx, &graphql.FieldContext{Object: "Subscription", Field: fields[0]})
	ctx = graphql.WithResponseContext(context.WithValue(ctx, recordKey{}, &a), presented, recovered)
	record(schema.Around)(ctx, func(ctx context.Context) *graphql.Response {
		response := execute(ctx)
		response.Errors = append(response.Errors, graphql.GetErrors(ctx)...)
		return response
	})
	return a, true
}

// presented hides which object of a batch resolver the error of its panic has: with gqlgen, the first one that called it.
func presented(ctx context.Context, err error) *gqlerror.Error {
	shown := graphql.DefaultErrorPresenter(ctx, err)
	if errors.Is(err, errPanicked) || strings.Contains(shown.Message, "batch resolver ") {
		shown.Message = "internal error"
	}
	return shown
}

func recovered(context.Context, any) error { return errPanicked }

var errPanicked = errors.New("panic")
