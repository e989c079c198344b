package graph_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"frontpage/endpoint"
	"frontpage/endpoint/plan"
	"frontpage/graph"
	"frontpage/redisrepo/site"
)

// fixedRoot answers from memory, so that only the executor is measured.
type fixedRoot struct {
	graph.ResolverRoot
	articles []*site.Article
}

type fixedQuery struct {
	graph.QueryResolver
	articles []*site.Article
}

type fixedMutation struct {
	graph.MutationResolver
	article *site.Article
}

func (r fixedRoot) Query() graph.QueryResolver { return fixedQuery{articles: r.articles} }

func (r fixedRoot) Mutation() graph.MutationResolver { return fixedMutation{article: r.articles[0]} }

func (q fixedQuery) Articles(context.Context, site.Order, site.Direction, int32, *int32) ([]*site.Article, error) {
	return q.articles, nil
}

func (m fixedMutation) Vote(context.Context, graph.VoteInput) (*graph.VotePayload, error) {
	return &graph.VotePayload{Article: m.article, Changed: true, UserErrors: []graph.UserError{}}, nil
}

// executors returns functions that execute a document: by its plan, and by gqlgen.
func executors(t testing.TB, document string, variables map[string]any) (planned, byGqlgen func() *graphql.Response) {
	t.Helper()
	root := fixedRoot{articles: make([]*site.Article, 25)}
	for i := range root.articles {
		root.articles[i] = &site.Article{
			ID: site.ArticleID(i + 1), Title: fmt.Sprint("A title of the usual length, number ", i), Link: new("https://example.org/2026"),
			Poster: site.User{Name: "alice"}, CreatedAt: time.Unix(1767323477, 0).UTC(), Score: 1767323477, Votes: i, Groups: []site.GroupName{"go", "redis"},
		}
	}
	schema := graph.Served(nil, graph.Site{}, slog.New(slog.DiscardHandler), endpoint.DefaultOptions(), func(r graph.ResolverRoot) graph.ResolverRoot {
		root.ResolverRoot = r
		return root
	})
	parsed, errs := gqlparser.LoadQueryWithRules(graph.Schema(), document, rules.NewDefaultRules())
	if errs != nil {
		t.Fatal(errs)
	}
	executable := schema.Compile(parsed.Operations[0], parsed.Fragments)
	ctx := graphql.WithOperationContext(t.Context(), &graphql.OperationContext{
		Doc: parsed, Operation: parsed.Operations[0], Variables: variables, RecoverFunc: graphql.DefaultRecover,
		ResolverMiddleware:     func(ctx context.Context, next graphql.Resolver) (any, error) { return next(ctx) },
		RootResolverMiddleware: func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler { return next(ctx) },
	})
	ctx = graphql.WithResponseContext(ctx, graphql.DefaultErrorPresenter, graphql.DefaultRecover)
	text := make([]byte, 0, 1<<14)
	return func() *graphql.Response {
		return executable.Execute(ctx, plan.Request{OnError: plan.Propagate, Text: text})
	}, func() *graphql.Response { return schema.Exec(ctx)(ctx) }
}

const (
	page = `{ articles { id title link score votes createdAt poster { name } } }`
	vote = `mutation { vote(input: {article: 1}) { article { id votes score } changed userErrors { code } } }`
)

// documents of all forms, and the maximum number of allocations of their plans, of which the race detector adds one
// or two. Variables are parsed for each request.
var planned = []struct {
	name, document string
	variables      map[string]any
	most           float64
}{
	{"page", page, nil, 15},
	{"aliases", `{ a: articles(order: TIME, page: 2) { nr: id x: title y: title link p: poster { n: name } } b: articles { __typename id } }`, nil, 30},
	{
		"fragments", `{ articles { ...A ...A ... on Node { id } } } fragment A on Article { title ...B } fragment B on Article { poster { ... on Node { id } name } groups { id name } }`,
		nil, 167,
	},
	{
		"variables", `query($n: Int!, $with: Boolean!) { articles(page: $n, pageSize: 25) { id title @include(if: $with) votes @skip(if: $with) } }`,
		map[string]any{"n": int64(1), "with": true}, 34,
	},
	{"vote", vote, nil, 32},
}

func TestPlansAllocateLittle(t *testing.T) { // not parallel: the allocations of all goroutines are counted
	for _, tt := range planned {
		execute, byGqlgen := executors(t, tt.document, tt.variables)
		response, want := execute(), byGqlgen()
		if len(response.Errors) > 0 || string(response.Data) != string(want.Data) {
			t.Errorf("%s: got %s %v, want %s", tt.name, response.Data, response.Errors, want.Data)
		}
		if got := leastAllocations(func() { execute() }); got > tt.most {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, got, tt.most)
		}
	}
}

// leastAllocations returns how often do allocates, without what others in the process do at the same time.
func leastAllocations(do func()) float64 {
	least := math.Inf(1)
	for range 50 {
		least = min(least, testing.AllocsPerRun(1, do))
	}
	return least
}

// Every document that is no introspection has a plan.
func TestEachFieldIsCompiled(t *testing.T) {
	t.Parallel()
	schema := graph.Served(nil, graph.Site{}, slog.New(slog.DiscardHandler), endpoint.DefaultOptions(), func(r graph.ResolverRoot) graph.ResolverRoot { return r })
	for _, root := range []*ast.Definition{graph.Schema().Query, graph.Schema().Mutation, graph.Schema().Subscription} {
		for _, field := range root.Fields {
			if strings.HasPrefix(field.Name, "__") {
				continue
			}
			depth := 5
			if graph.Schema().Types[field.Type.Name()].IsAbstractType() {
				depth = 3 // of each of its types; more are too many fields
			}
			document := strings.ToLower(root.Name) + written(field, depth)
			parsed, errs := gqlparser.LoadQueryWithRules(graph.Schema(), document, rules.NewDefaultRules())
			if errs != nil {
				t.Fatal(errs)
			}
			executable := schema.Compile(parsed.Operations[0], parsed.Fragments)
			if (executable.Execute == nil) == (executable.Event == nil) || executable.Bytes < 500 {
				t.Errorf("%s: got a plan of %d bytes with functions %t, %t, want one of them", document, executable.Bytes, executable.Execute != nil, executable.Event != nil)
			}
		}
	}
}

// written returns a selection of a field and all fields below it, up to some depth.
func written(field *ast.FieldDefinition, depth int) string {
	var arguments []string
	for _, argument := range field.Arguments {
		if argument.Type.NonNull && argument.DefaultValue == nil {
			arguments = append(arguments, argument.Name+": "+required[argument.Type.Name()])
		}
	}
	text := "{ " + field.Name
	if arguments != nil {
		text += "(" + strings.Join(arguments, ", ") + ")"
	}
	if target := graph.Schema().Types[field.Type.Name()]; target.IsCompositeType() {
		text += " { __typename"
		for _, possible := range graph.Schema().GetPossibleTypes(target) {
			for _, below := range possible.Fields {
				if depth > 0 || graph.Schema().Types[below.Type.Name()].IsLeafType() {
					text += " ... on " + possible.Name + " " + written(below, depth-1)
				}
			}
		}
		text += " }"
	}
	return text + " }"
}

// BenchmarkExecutors measures plans beside gqlgen, without any store.
func BenchmarkExecutors(b *testing.B) {
	for _, tt := range planned {
		execute, byGqlgen := executors(b, tt.document, tt.variables)
		for name, run := range map[string]func() *graphql.Response{"plan": execute, "gqlgen": byGqlgen} {
			b.Run(tt.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					run()
				}
			})
		}
	}
}

func TestEachMutationIsLimited(t *testing.T) {
	t.Parallel()
	schema := graph.Served(nil, graph.Site{}, slog.New(slog.DiscardHandler), endpoint.DefaultOptions(), func(r graph.ResolverRoot) graph.ResolverRoot { return r })
	for _, field := range graph.Schema().Mutation.Fields {
		if schema.Rule[field.Name] == "" {
			t.Errorf("no rate limits %s", field.Name)
		}
	}
}
