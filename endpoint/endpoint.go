// Package endpoint serves a gqlgen schema over HTTP, server-sent events and WebSocket. It authenticates callers, limits
// what they may ask for and how often, and decides what they see of an error. It names no type or field of the schema:
// whatever depends on the schema is passed in Schema, or by resolvers that call this package.
package endpoint

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/rs/cors"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint/plan"
	"frontpage/identity"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
)

// Options are the operator's choices. See Validate for their ranges.
type Options struct {
	BodyLimit     int64         // maximum size of a body, and of the query string of a GET, bytes
	Timeout       time.Duration // maximum time for one query or mutation
	MaxConcurrent int           // maximum number of running queries and mutations; 0: unlimited
	Limits        Limits
	Rates         Rates
	Streams       StreamLimits
	Introspection bool               // whether clients may read the schema
	SharedAnswers time.Duration      // maximum age of a shared response to a query, and of what Reads share; 0: not shared
	MaxAge        time.Duration      // how long caches may keep such a response to an anonymous GET, whole seconds; 0: not at all
	Identity      *identity.Verifier // authenticates callers; required
	AuditSecret   string             // conceals the addresses of voters; if empty, they are not recorded
	Proxies       []netip.Prefix     // whose X-Forwarded-For is trusted
	Origins       []string           // origins, besides the site's own, whose scripts may read responses; "*" for all
	Trusted       *Trusted           // the only documents that run; nil for any
	Observers     []Observer         // are notified of each operation, in this order
	Accounts      *Accounts          // what each address occupies; set by DefaultOptions
}

// DefaultOptions returns options for a public API with a public schema. Identity is not set.
func DefaultOptions() Options {
	return Options{
		// The longest text of an article fits with every character escaped.
		BodyLimit: 128 << 10,
		Timeout:   5 * time.Second,
		// Redis runs one command at a time: more operations would only wait for it, each with its memory.
		MaxConcurrent: 128,
		Limits:        DefaultLimits(),
		Rates:         Rates{Addresses: 1},
		Streams:       DefaultStreamLimits(),
		SharedAnswers: 50 * time.Millisecond,
		MaxAge:        time.Second,
		Introspection: true,
		Accounts:      NewAccounts(),
	}
}

// Schema is what an endpoint serves.
type Schema struct {
	graphql.ExecutableSchema
	// Compile prepares the execution of a valid operation. It is called once for each document and operation that
	// is kept. If it is nil, gqlgen executes all queries and mutations, and there are no subscriptions.
	Compile func(operation *ast.OperationDefinition, fragments ast.FragmentDefinitionList) Executable
	// Scalars checks literals and variables, so that an operation with an invalid one does not run.
	Scalars Scalars
	// Around is called for each response, including each event of a subscription. It may be nil.
	Around graphql.ResponseMiddleware
	// Rule maps each mutation that is limited to its rule: RuleVotes, RulePosts, RuleChanges or RuleReports.
	Rule map[string]string
	// DependenceOf returns what the response to an operation depends on. If nil, all depend on the caller, and
	// nothing is shared.
	DependenceOf func(ast.SelectionSet) Dependence
	// Watched returns how many articles a subscription with these arguments watches. If nil, it is 1.
	Watched func(arguments map[string]any) int
}

// Executable is a compiled operation. Many requests use it at the same time. Its functions get a context with
// gqlgen's operation context and response context, and add errors to the latter. They do not use the data of a
// response after they return it.
type Executable struct {
	// Execute executes a query or a mutation; if nil, gqlgen does.
	Execute func(ctx context.Context, r plan.Request) *graphql.Response
	// Event executes the selections of a subscription for one value, such as gqlgen's resolver would send over its
	// channel; if nil, the subscription is refused.
	Event func(ctx context.Context, value any, r plan.Request) *graphql.Response
	Bytes int // of memory, roughly
}

// Handler serves GraphQL: queries by GET, queries and mutations by POST, and these and subscriptions over
// WebSocket and server-sent events.
type Handler struct {
	http.Handler
	exec    *executor
	streams *streams
	meter   *meter
	proxies []netip.Prefix
}

// New returns the endpoint of a schema. Subscriptions receive events while repo.Listen runs. Faults are
// written to log.
func New(schema Schema, repo *redisrepo.Repo, log *slog.Logger, o Options) *Handler {
	exec := newExecutor(schema, log, o)
	exec.queries = newSharedQueries(repo, o.SharedAnswers)
	exec.leavesOut = func(user site.UserName) bool { return repo.Denials.HasBlocks(user) }
	if o.Trusted != nil {
		exec.find = o.Trusted.find
	} else {
		persisted := persistedQueries{log: log, repo: repo, texts: newDocumentCache[string, string]()}
		exec.find, exec.keep = persisted.find, persisted.keep
	}
	streams := newStreams(o.Accounts, o.Streams, schema)
	meter := &meter{rates: o.Rates, ruleOf: schema.Rule, repo: repo, local: localRates{counters: newSubjects[localCounter]()}, spent: newSubjects[time.Time]()}
	exec.unread = meter.unread
	exec.shares.uncounted = o.Rates.Cost.Most == 0
	both := transport{exec: exec, log: log, bodyLimit: o.BodyLimit, timeout: o.Timeout, streams: streams, identity: o.Identity, meter: meter}
	sockets := &socketTransport{both, allowedOrigins(o.Origins)}
	others := &httpTransport{both, o.MaxAge}
	handler := signIn(exec, o.Identity, o.Proxies, log, func(ctx context.Context, w http.ResponseWriter, req *http.Request) {
		if strings.EqualFold(req.Header.Get("Upgrade"), "websocket") {
			sockets.serve(ctx, w, req)
		} else {
			others.serve(ctx, w, req)
		}
	})
	return &Handler{forClients(o, handler), exec, streams, meter, o.Proxies}
}

// Shutdown refuses new streams and ends all that are open, one after another over the given time, so that their clients
// connect to another server. Queries and mutations on a WebSocket may finish first. It returns when all streams are
// closed, or with ctx.Err() when ctx ends first.
func (h *Handler) Shutdown(ctx context.Context, over time.Duration) error {
	return h.streams.shutdown(ctx, over)
}

// Starting returns a handler that refuses all requests to an endpoint with these options, because its store is loading.
func Starting(o Options) http.Handler {
	refused := &refusal{
		code: codeUnavailable, message: "the server is starting: try again", status: http.StatusServiceUnavailable, wait: time.Second,
	}
	answer := refused.alone()
	return forClients(o, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		write(w, req, negotiate(req.Header.Values("Accept")).media, &operation{}, answer) // no observer is notified
	}))
}

// forClients adds to the responses of handler what scripts of other origins need, and keeps them out of caches, except
// those that publish marks. A URL may have another response for each caller, even if this request is anonymous, and a
// cache before the proxy that authenticates callers does not see who they are: so Vary, which names the headers that
// identify a caller, is not enough.
func forClients(o Options, handler http.Handler) http.Handler {
	if origins := allowedOrigins(o.Origins); origins != nil {
		handler = origins.Handler(handler)
	}
	names := append(append([]string{"Accept"}, o.Identity.Headers()...), "Accept-Encoding")
	private, vary := []string{"private, no-store"}, []string{strings.Join(names, ", ")}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header()["Cache-Control"], w.Header()["Vary"] = private, vary
		handler.ServeHTTP(w, req)
	})
}

// allowedOrigins lets scripts of other origins use the endpoint; it is nil if none may. Credentials are not
// allowed: such a page authenticates by a header, which it sets itself, and not by the cookie of a session.
func allowedOrigins(origins []string) *cors.Cors {
	if len(origins) == 0 {
		return nil // to the library, an empty list means any origin
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, methodQuery},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{"Retry-After", "RateLimit", "RateLimit-Policy", "WWW-Authenticate", "X-Request-Id"},
		MaxAge:         int((2 * time.Hour).Seconds()), // no browser caches it for longer
	})
}
