package graph_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/redis/go-redis/v9"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/endpoint/plan"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/redisrepo"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// pair is a site that two executors serve, each with a database of its own: gqlgen and the compiled plans.
type pair struct {
	t        testing.TB
	template *redis.Client // has the data that both databases start with
	sides    [2]*side
	samples  samples
	spoil    func(*graphql.Response) // changes the second side's responses, if not nil
	byGqlgen atomic.Int64            // operations that the second side has no plan for
	changed  bool                    // whether a query was executed since the data was restored
	rated    bool                    // whether operations are counted, so that each one changes the stores
}

type side struct {
	client  *redis.Client
	handler http.Handler
	repo    *redisrepo.Repo
	served  func(wrap func(graph.ResolverRoot) graph.ResolverRoot) endpoint.Schema
}

// newPair opens three databases of a server, from the given one on.
func newPair(t testing.TB, server *redistest.Server, database int) *pair {
	open := func(n int) *redis.Client {
		client := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket(), DB: n, ContextTimeoutEnabled: true, MaxRetries: 1})
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	p := &pair{t: t, template: open(database), sides: [2]*side{{client: open(database + 1)}, {client: open(database + 2)}}}
	for _, s := range p.sides {
		s.client.AddHook(commandFaults{})
	}
	return p
}

// fill gives both sides the same random data, and new handlers.
func (p *pair) fill(random *rand.Rand) {
	p.t.Helper()
	ctx := p.t.Context()
	require.NoError(p.t, p.template.FlushDB(ctx).Err())
	rules, now, samples := dataset(p.t, random, p.template)
	p.samples = samples
	verifier := require.Value(identity.New(ctx, identity.Options{Development: true, ValidName: endpoint.ValidName}))(p.t)
	o := endpoint.DefaultOptions()
	o.SharedAnswers = 0 // each request is executed
	o.Identity, o.Timeout, o.Limits.PageSize = verifier, time.Hour, rules.PageSize
	o.Limits.Aliases, o.Limits.Directives, o.Limits.Cost, o.Limits.Tokens = 1000, 1000, 1_000_000, 100_000
	p.rated = random.IntN(4) == 0
	if p.rated {
		rate := endpoint.Rate{Most: 3, Window: time.Hour}
		o.Rates = endpoint.Rates{Cost: endpoint.Rate{Most: 1e9, Window: time.Hour}, Votes: rate, Posts: rate, Changes: rate, Addresses: 1}
	}
	p.restore()
	for i, s := range p.sides {
		repo := require.Value(redisrepo.New(ctx, s.client, rules, redisrepo.WithClock(func() time.Time { return now })))(p.t)
		log := slog.New(slog.DiscardHandler)
		s.repo = repo
		s.served = func(wrap func(graph.ResolverRoot) graph.ResolverRoot) endpoint.Schema {
			return graph.Served(repo, graph.Site{}, log, o, wrap)
		}
		schema := s.served(func(root graph.ResolverRoot) graph.ResolverRoot { return faultyRoot{root} })
		if i == 0 {
			schema.Compile = nil // gqlgen executes everything
		} else {
			schema.ExecutableSchema = withoutPlan{schema.ExecutableSchema, &p.byGqlgen}
		}
		if around := schema.Around; i == 1 && p.spoil != nil {
			schema.Around = func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
				response := around(ctx, next)
				p.spoil(response)
				return response
			}
		}
		schema.Around = record(schema.Around)
		s.handler = endpoint.New(schema, repo, log, o)
	}
	if samples.mistyped != "" { // only now: with some of these keys, no site opens
		require.NoError(p.t, p.template.Del(ctx, samples.mistyped).Err())
		require.NoError(p.t, p.template.Set(ctx, samples.mistyped, "of another type", 0).Err())
		p.restore()
	}
}

// copyAll copies all keys to another database.
var copyAll = redis.NewScript(`for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', ARGV[1]) end`)

// restore gives both sides the data of the template again.
func (p *pair) restore() {
	p.t.Helper()
	for _, s := range p.sides {
		require.NoError(p.t, s.client.FlushDB(p.t.Context()).Err())
		if err := copyAll.Run(p.t.Context(), p.template, nil, s.client.Options().DB).Err(); err != nil && !errors.Is(err, redis.Nil) {
			p.t.Fatal(err)
		}
		if s.repo != nil { // else its next post would notice that the data went back, on the side that has posted before
			require.NoError(p.t, s.repo.Live.CheckHistory(p.t.Context(), 0))
		}
	}
}

// stored returns the keys of a side and digests of their values. Expiry counts, but not when it is.
func (s *side) stored(t testing.TB) string {
	t.Helper()
	keys := require.Value(s.client.Keys(t.Context(), "*").Result())(t)
	slices.Sort(keys)
	args := []any{"debug", "digest-value"}
	for _, key := range keys {
		args = append(args, key)
	}
	digests := require.Value(s.client.Do(t.Context(), args...).StringSlice())(t)
	for i, key := range keys {
		switch {
		case strings.HasPrefix(key, "ended:") || key == "denials:" || key == "erasing:": // they have a random text
		case strings.HasPrefix(key, "voted:") || strings.HasPrefix(key, "downvoted:"):
			keys[i] += " " + s.voters(t, key)
		default:
			keys[i] += " " + digests[i]
		}
	}
	return strings.Join(keys, "\n")
}

// voters are the members of a set. Those of erased users are random.
func (s *side) voters(t testing.TB, key string) string {
	members := s.client.SMembers(t.Context(), key).Val()
	for i, member := range members {
		if strings.HasPrefix(member, "gone:") {
			members[i] = "gone:"
		}
	}
	slices.Sort(members)
	return strings.Join(members, " ")
}

// request is a document with values of its variables, by a caller.
type request struct {
	document
	values object
	viewer string
	faults faults
	// onError is what the request asks for; empty: nothing.
	onError plan.OnError
}

func (r request) String() string {
	values, _ := json.Marshal(r.values)
	return fmt.Sprintf("%s\noperation %q, variables %s\nviewer %q, faults %d of 1000 by %#x", r.text, r.operation, values, r.viewer, r.faults.share, r.faults.salt)
}

// answer is a response. errors are all errors, of which clients see at most 20.
type answer struct {
	status     int
	body, data string
	errors     []string
	paths      []ast.Path
	operation  *graphql.OperationContext
}

// invalid is the code of documents that are not executed.
const invalid = `"GRAPHQL_VALIDATION_FAILED"`

func (a answer) invalid() bool { return strings.Contains(a.body, invalid) }

type recordKey struct{}

// record keeps each response before the endpoint bounds it.
func record(around graphql.ResponseMiddleware) graphql.ResponseMiddleware {
	return func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
		response := around(ctx, next)
		if a, _ := ctx.Value(recordKey{}).(*answer); a != nil && response != nil {
			a.data = string(response.Data)
			for _, err := range response.Errors {
				text, _ := json.Marshal(err)
				a.errors = append(a.errors, string(text))
				a.paths = append(a.paths, err.Path)
			}
			if graphql.HasOperationContext(ctx) && graphql.GetOperationContext(ctx).Operation != nil {
				a.operation = graphql.GetOperationContext(ctx)
			}
		}
		return response
	}
}

func (s *side) ask(r request) answer {
	asked := map[string]any{"query": r.text, "operationName": r.operation, "variables": r.values}
	if r.onError != "" {
		asked["onError"] = r.onError
	}
	body := require.Must(json.Marshal(asked))
	var a answer
	ctx := context.WithValue(context.WithValue(context.Background(), recordKey{}, &a), faultsKey{}, r.faults)
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	if r.viewer != "" {
		req.Header.Set("X-User-ID", r.viewer)
	}
	if r.viewer == "mod" {
		req.Header.Set("X-User-Roles", "moderator")
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, req)
	a.status, a.body = w.Code, w.Body.String()
	return a
}

// differ says how two answers to a request differ, or returns "".
func (r request) differ(a, b answer) string {
	switch {
	case a.status != b.status:
		return fmt.Sprintf("status %d and %d", a.status, b.status)
	case a.data != b.data:
		return "data"
	case len(a.errors) <= 1 && a.body != b.body:
		return "response"
	}
	x, y := slices.Sorted(slices.Values(a.errors)), slices.Sorted(slices.Values(b.errors))
	if !slices.Equal(x, y) {
		return fmt.Sprintf("errors:\nonly first: %s\nonly second: %s", without(x, y), without(y, x))
	}
	if len(b.errors) > 1 && b.operation != nil {
		if pair := misplaced(b.operation, b.paths); pair != "" {
			return "order of errors: " + pair
		}
	}
	return ""
}

// without returns the elements of list that other has fewer of.
func without(list, other []string) string {
	left := slices.Clone(other)
	var only []string
	for _, text := range list {
		if i := slices.Index(left, text); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			only = append(only, text)
		}
	}
	return strings.Join(only, "\n  ")
}

// try sends a request to both sides. It returns the answers and, if these or the stores after a mutation differ,
// how.
func (p *pair) try(r request) ([2]answer, string) {
	p.t.Helper()
	if r.kind == ast.Mutation && p.changed { // reading keeps the listings of groups
		p.restore()
	}
	p.changed = r.kind != ast.Mutation
	a, b := p.sides[0].ask(r), p.sides[1].ask(r)
	difference := r.differ(a, b)
	if r.kind == ast.Mutation {
		if x, y := p.sides[0].stored(p.t), p.sides[1].stored(p.t); difference == "" && x != y {
			difference = "stores:\nfirst: " + without(strings.Split(x, "\n"), strings.Split(y, "\n")) + "\nsecond: " + without(strings.Split(y, "\n"), strings.Split(x, "\n"))
		}
		p.restore()
	}
	if difference != "" {
		difference = fmt.Sprintf("the executors differ in %s\n%s\nfirst:  %s\nsecond: %s", difference, r, a, b)
	}
	return [2]answer{a, b}, difference
}

func (a answer) String() string {
	text := fmt.Sprintf("%d %s", a.status, a.body)
	if len(a.errors) > 20 { // the response has not all of them
		text += "\n  errors: " + strings.Join(a.errors, "\n  ")
	}
	return text
}

// withoutPlan counts the operations that the second side leaves to gqlgen.
type withoutPlan struct {
	graphql.ExecutableSchema
	count *atomic.Int64
}

// Exec implements graphql.ExecutableSchema.
func (w withoutPlan) Exec(ctx context.Context) graphql.ResponseHandler {
	w.count.Add(1)
	return w.ExecutableSchema.Exec(ctx)
}
