package endpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

const secret = "10.1.2.3:6379 article:7"

// failing is a root resolver whose fields return what a test sets. Methods that no test uses are nil.
type failing struct {
	graph.ResolverRoot
	viewer   func(context.Context) (*site.User, error)
	articles func() ([]*site.Article, error)
	votes    func([]*site.Article) ([]*site.Vote, error)
}

type failingQuery struct {
	graph.QueryResolver
	f failing
}

type failingArticle struct {
	graph.ArticleResolver
	f failing
}

func (f failing) Query() graph.QueryResolver     { return failingQuery{f: f} }
func (f failing) Article() graph.ArticleResolver { return failingArticle{f: f} }

func (q failingQuery) Viewer(ctx context.Context) (*site.User, error) { return q.f.viewer(ctx) }

func (q failingQuery) Articles(context.Context, site.Order, site.Direction, int32, *int32) ([]*site.Article, error) {
	return q.f.articles()
}

func (a failingArticle) ViewerVote(_ context.Context, objs []*site.Article) ([]*site.Vote, error) {
	return a.f.votes(objs)
}

func schemaOf(root graph.ResolverRoot) graphql.ExecutableSchema {
	return graph.NewExecutableSchema(graph.Config{Resolvers: root})
}

// panicking panics before any resolver is called.
type panicking struct{ graphql.ExecutableSchema }

func (panicking) Exec(context.Context) graphql.ResponseHandler { panic(secret) }

// serving returns the endpoint of a schema, without a store.
func serving(t *testing.T, schema graphql.ExecutableSchema, log io.Writer, o endpoint.Options) http.Handler {
	t.Helper()
	o.Identity = require.Value(identity.New(t.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName}))(t)
	return endpoint.New(endpoint.Schema{ExecutableSchema: schema}, nil, slog.New(slog.NewTextHandler(log, nil)), o)
}

// Clients see one of the public codes of an error and nothing of its text: of 25 errors, 20 and one that counts the
// rest. Each fault is logged once, with
// the operation and the path.
func TestErrorsShowOnlyPublicCodes(t *testing.T) {
	t.Parallel()
	viewer := func(err error) failing {
		return failing{viewer: func(context.Context) (*site.User, error) { return nil, err }}
	}
	list := func() ([]*site.Article, error) { return make25(), nil }
	const viewerQuery = `query Op { viewer { id } }`
	const votesQuery = `query Op { articles { viewerVote } }`
	tests := map[string]struct {
		root   failing
		query  string
		code   string
		errors int
		log    string // part of the only line; empty if nothing is logged
	}{
		"parse":                         {failing{}, `query Op { viewer {`, "GRAPHQL_PARSE_FAILED", 1, ""},
		"validation":                    {failing{}, `query Op { viewer { nothing } }`, "GRAPHQL_VALIDATION_FAILED", 1, ""},
		"variable":                      {failing{}, `query Op($n: Int!) { articles(page: $n) { id } }`, "GRAPHQL_VALIDATION_FAILED", 1, ""},
		"limit":                         {failing{}, `query Op { ` + strings.Repeat("a: __typename ", 16) + `}`, "ALIAS_LIMIT_EXCEEDED", 1, ""},
		"scalar out of range":           {failing{}, `query Op { articles(page: 3000000000) { id } }`, "GRAPHQL_VALIDATION_FAILED", 1, ""},
		"refusal":                       {viewer(site.Refusal{{Code: site.Invalid, Message: "it is blue"}}), viewerQuery, "BAD_USER_INPUT", 1, ""},
		"resolver":                      {viewer(errors.New(secret)), viewerQuery, "INTERNAL", 1, "level=ERROR"},
		"wrapped":                       {viewer(fmt.Errorf("a: %w", fmt.Errorf("b: %w", errors.New(secret)))), viewerQuery, "INTERNAL", 1, "level=ERROR"},
		"gqlerror":                      {viewer(gqlerror.Errorf("%s", secret)), viewerQuery, "INTERNAL", 1, "level=ERROR"},
		"gqlerror with a code":          {viewer(&gqlerror.Error{Message: secret, Extensions: map[string]any{"code": "MINE", "key": secret}}), viewerQuery, "INTERNAL", 1, "level=ERROR"},
		"list of errors":                {viewer(gqlerror.List{gqlerror.Errorf("%s", secret), gqlerror.Errorf("%s", secret)}), viewerQuery, "INTERNAL", 2, "level=ERROR"},
		"Redis unavailable":             {viewer(fmt.Errorf("%w: dial %s", failover.ErrUnavailable, secret)), viewerQuery, "UNAVAILABLE", 1, "level=WARN"},
		"Redis refuses writes":          {viewer(fmt.Errorf("%w: %s", failover.ErrReadOnly, secret)), viewerQuery, "UNAVAILABLE", 1, "level=WARN"},
		"Redis denies a right":          {viewer(fmt.Errorf("%w: %s", failover.ErrDenied, secret)), viewerQuery, "UNAVAILABLE", 1, "level=ERROR"},
		"deadline":                      {viewer(fmt.Errorf("%s: %w", secret, context.DeadlineExceeded)), viewerQuery, "TIMEOUT", 1, "level=WARN"},
		"cancelled":                     {viewer(fmt.Errorf("%s: %w", secret, context.Canceled)), viewerQuery, "UNAVAILABLE", 1, ""},
		"panic":                         {failing{viewer: func(context.Context) (*site.User, error) { panic(secret) }}, viewerQuery, "INTERNAL", 1, "level=ERROR"},
		"null in a list of non-null":    {failing{articles: func() ([]*site.Article, error) { return []*site.Article{nil}, nil }}, `query Op { articles { id } }`, "INTERNAL", 1, "level=ERROR"},
		"panic of a batch":              {failing{articles: list, votes: func([]*site.Article) ([]*site.Vote, error) { panic(secret) }}, votesQuery, "INTERNAL", 21, "level=ERROR"},
		"error of a batch":              {failing{articles: list, votes: func([]*site.Article) ([]*site.Vote, error) { return nil, errors.New(secret) }}, votesQuery, "INTERNAL", 21, "level=ERROR"},
		"Redis unavailable for a batch": {failing{articles: list, votes: func([]*site.Article) ([]*site.Vote, error) { return nil, failover.ErrUnavailable }}, votesQuery, "UNAVAILABLE", 21, "level=WARN"},
		"a batch of the wrong length":   {failing{articles: list, votes: func([]*site.Article) ([]*site.Vote, error) { return nil, nil }}, votesQuery, "INTERNAL", 21, "level=ERROR"},
	}
	for name, tt := range tests {
		var log bytes.Buffer
		server := serving(t, schemaOf(tt.root), &log, endpoint.DefaultOptions())
		body := ask(server, tt.query)
		if got, want := strings.Contains(body, `"retryAfterSeconds":1`), strings.HasPrefix(name, "Redis"); got != want {
			t.Errorf("%s: retryAfterSeconds shown: %t, want %t: %s", name, got, want, body)
		}
		if strings.Contains(body, secret) || strings.Contains(body, ".go:") || strings.Contains(body, "batch") {
			t.Errorf("%s: got %s, want nothing internal in it", name, body)
		}
		if got := strings.Count(body, `"code":"`); got != tt.errors || strings.Count(body, `"code":"`+tt.code+`"`) != tt.errors {
			t.Errorf("%s: got %d errors, want %d of %s: %s", name, got, tt.errors, tt.code, body)
		}
		lines := strings.Count(log.String(), "\n")
		if tt.log == "" && lines != 0 || tt.log != "" && (lines != 1 || !strings.Contains(log.String(), tt.log) ||
			!strings.Contains(log.String(), "operation=Op") || !strings.Contains(log.String(), "path=")) {
			t.Errorf("%s: got %d log lines, want one with %q or none if that is empty: %s", name, lines, tt.log, log.String())
		}
	}
}

func make25() []*site.Article {
	return slices.Repeat([]*site.Article{{ID: 7}}, 25)
}

func ask(handler http.Handler, query string) string {
	req := httptest.NewRequest(http.MethodGet, "/?query="+url.QueryEscape(query), nil)
	res := httptest.NewRecorder()
	handler.ServeHTTP(res, req)
	return res.Body.String()
}

func TestTimeoutEndsResolvers(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	options := endpoint.DefaultOptions()
	options.Timeout = 10 * time.Millisecond
	root := failing{viewer: func(ctx context.Context) (*site.User, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	body := ask(serving(t, schemaOf(root), &log, options), `query Op { viewer { id } }`)
	if body != `{"errors":[{"message":"the request took too long: try again, or ask for less","path":["viewer"],"locations":[{"line":1,"column":12}],"extensions":{"code":"TIMEOUT"}}],"data":{"viewer":null}}` {
		t.Errorf("got %s, want TIMEOUT for the field", body)
	}
}

// A request that fails outside of resolvers gets a response, too, and a panic there is logged.
func TestFailuresOutsideResolversGetAResponse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cancel bool
		code   string
		status int
	}{
		"cancelled before it began": {true, "UNAVAILABLE", 503},
		"a panic of the schema":     {false, "INTERNAL", 500},
	} {
		var log bytes.Buffer
		schema := schemaOf(failing{})
		if !tt.cancel {
			schema = panicking{schema}
		}
		server := serving(t, schema, &log, endpoint.DefaultOptions())
		ctx, cancel := context.WithCancel(t.Context())
		if tt.cancel {
			cancel()
		}
		defer cancel()
		req := httptest.NewRequestWithContext(ctx, "GET", "/?query={__typename}", nil)
		res := httptest.NewRecorder()
		server.ServeHTTP(res, req)
		body := res.Body.String()
		if res.Code != tt.status || !strings.Contains(body, `"code":"`+tt.code+`"`) || strings.Contains(body, secret) || strings.Contains(body, "null") {
			t.Errorf("%s: got %d %s, want %d %s", name, res.Code, body, tt.status, tt.code)
		}
		if lines := strings.Count(log.String(), "\n"); tt.cancel && lines != 0 || !tt.cancel && lines != 1 {
			t.Errorf("%s: got log %s, want one line for a panic and none otherwise", name, log.String())
		}
	}
}
