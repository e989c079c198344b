package endpoint_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/endpoint/plan"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/tests/require"
)

// counted counts how often it is asked for the cost of a field.
type counted struct {
	graphql.ExecutableSchema
	costs atomic.Int64
}

func (c *counted) Complexity(ctx context.Context, typeName, field string, children int, arguments map[string]any) (int, bool) {
	c.costs.Add(1)
	return c.ExecutableSchema.Complexity(ctx, typeName, field, children, arguments)
}

// compiling is the endpoint of a schema whose operations are compiled to functions that answer
// with their variables, or null if they have no name.
func compiling(t testing.TB, o endpoint.Options) (server http.Handler, compiled *atomic.Int64, schema *counted) {
	t.Helper()
	o.Identity = require.Value(identity.New(t.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName}))(t)
	compiled, schema = new(atomic.Int64), &counted{ExecutableSchema: graph.NewExecutableSchema(graph.Config{})}
	null := &graphql.Response{Data: []byte("null")}
	return endpoint.New(endpoint.Schema{
		ExecutableSchema: schema,
		Compile: func(operation *ast.OperationDefinition, _ ast.FragmentDefinitionList) endpoint.Executable {
			compiled.Add(1)
			return endpoint.Executable{Execute: func(ctx context.Context, _ plan.Request) *graphql.Response {
				if operation.Name == "" {
					return null
				}
				return &graphql.Response{Data: fmt.Appendf(nil, `"%s of %s: %v"`, operation.Name, endpoint.ViewerOf(ctx).Name, graphql.GetOperationContext(ctx).Variables)}
			}}
		},
	}, nil, slog.New(slog.DiscardHandler), o), compiled, schema
}

func post(body, user string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, "/query", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-User-ID", user)
	return req
}

// What depends on a document is found out once for each of its operations, and what depends on a request once for equal
// requests of all callers.
func TestEqualRequestsArePreparedOnce(t *testing.T) {
	t.Parallel()
	server, compiled, schema := compiling(t, endpoint.DefaultOptions())
	const document = `query A($n: Int = 2) { articles(page: $n) { id } } query B($n: Int) { articles(pageSize: $n) { id } }`
	for _, round := range []struct {
		body, want string
		compiled   int64
	}{
		{`{"query":"` + document + `","operationName":"A"}`, `{"data":"A of alice: map[n:2]"}`, 1},
		{`{"query":"` + document + `","operationName":"A","variables":{"n":3}}`, `{"data":"A of alice: map[n:3]"}`, 1},
		{`{"query":"` + document + `","operationName":"B"}`, `{"data":"B of alice: map[]"}`, 2},
	} {
		for again := range 3 {
			before := schema.costs.Load()
			res := httptest.NewRecorder()
			server.ServeHTTP(res, post(round.body, "alice"))
			if res.Body.String() != round.want || compiled.Load() != round.compiled {
				t.Errorf("%s: got %s after %d compilations, want %s after %d", round.body, res.Body, compiled.Load(), round.want, round.compiled)
			}
			if costs := schema.costs.Load() - before; (costs == 0) != (again > 0) {
				t.Errorf("%s: the cost was calculated %d times, want only for the first request", round.body, costs)
			}
			res = httptest.NewRecorder()
			server.ServeHTTP(res, post(round.body, "bob"))
			if want := strings.ReplaceAll(round.want, "alice", "bob"); res.Body.String() != want {
				t.Errorf("%s: got %s for another caller, want %s", round.body, res.Body, want)
			}
		}
	}
}

// A request that is known is still checked for what does not depend on its text.
func TestKnownRequestsAreStillChecked(t *testing.T) {
	t.Parallel()
	options := endpoint.DefaultOptions()
	server, _, _ := compiling(t, options)
	const query = `{"query":"{ articles { id } }"}`
	mutation := "query=" + url.QueryEscape(`mutation { deleteArticle(input: {article: 1}) { userErrors { code } } }`)
	form := post(query, "alice")
	form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	compressed := post(query, "alice")
	compressed.Header.Set("Content-Encoding", "gzip")
	picky := post(query, "alice")
	picky.Header.Set("Accept", "text/html")
	crossing := httptest.NewRequest(http.MethodGet, "/query", nil)
	crossing.URL.RawQuery = query
	changing := httptest.NewRequest(http.MethodGet, "/query?"+mutation, nil)
	for _, tt := range []struct {
		request *http.Request
		status  int
	}{
		{post(query, "alice"), 200}, {form, 415}, {compressed, 415}, {picky, 406}, {post(query, "a\x00"), 401},
		{crossing, 400}, {changing, 405}, {changing.Clone(t.Context()), 405}, {post(query, "alice"), 200},
	} {
		res := httptest.NewRecorder()
		server.ServeHTTP(res, tt.request)
		if res.Code != tt.status {
			t.Errorf("%s %v %v: got %d %s, want %d", tt.request.Method, tt.request.URL, tt.request.Header, res.Code, res.Body, tt.status)
		}
	}
}

// unread is a ResponseWriter that counts nothing and keeps nothing.
type unread struct{ header http.Header }

func (u unread) Header() http.Header          { return u.header }
func (unread) WriteHeader(int)                {}
func (unread) Write(body []byte) (int, error) { return len(body), nil }

// maxAllocations is what a known request may allocate in this package.
const maxAllocations = 32

func TestKnownRequestAllocatesLittle(t *testing.T) {
	server, _, _ := compiling(t, endpoint.DefaultOptions())
	const body = `{"query":"query($n: Int) { articles(page: $n) { id } }","variables":{"n":5}}`
	from := strings.NewReader("")
	req, to := post(body, "alice"), unread{http.Header{}}
	req.Body = io.NopCloser(from)
	least := math.Inf(1) // others of the process allocate, too
	for range 20 {
		least = min(least, testing.AllocsPerRun(1, func() {
			from.Reset(body)
			clear(to.header)
			server.ServeHTTP(to, req)
		}))
	}
	if least > maxAllocations {
		t.Errorf("got %v allocations, want at most %d", least, maxAllocations)
	}
}
