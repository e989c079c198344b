// Package endpoint serves a gqlgen schema over HTTP, server-sent events and WebSocket. It authenticates
// callers, limits what they may ask for and how often, and decides what they see of an error. It contains no
// name of a type or field of the schema: what depends on the schema is passed in Schema, or by resolvers that
// call this package.
package endpoint

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/klauspost/compress/gzhttp"
	"github.com/rs/cors"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/identity"
	"frontpage/redisrepo"
)

// Options are the operator's choices. See Validate for their ranges.
type Options struct {
	BodyLimit     int64         // maximum size of a body, and of the query string of a GET, bytes
	Timeout       time.Duration // maximum time for one query or mutation
	Limits        Limits
	Rates         Rates
	Streams       StreamLimits
	Introspection bool               // whether clients may read the schema
	GETPreflight  bool               // whether a GET needs a header that a foreign page cannot send without a CORS preflight
	Identity      *identity.Verifier // authenticates callers; required
	AuditSecret   string             // conceals the addresses of voters; if empty, they are not recorded
	Proxies       []netip.Prefix     // whose X-Forwarded-For is trusted
	Origins       []string           // whose pages' scripts may read responses, besides the site's own; "*" for all
	Trusted       *Trusted           // the only documents that run; nil for any
}

// DefaultOptions are right for a public API whose schema is no secret. Identity is not set.
func DefaultOptions() Options {
	return Options{
		// The longest text of an article fits with every character escaped.
		BodyLimit:     128 << 10,
		Timeout:       5 * time.Second,
		Limits:        DefaultLimits(),
		Rates:         Rates{Addresses: 1},
		Streams:       DefaultStreamLimits(),
		Introspection: true,
	}
}

// Schema is what an endpoint serves.
type Schema struct {
	graphql.ExecutableSchema
	// Around is called for each response, including each event of a subscription. It may be nil.
	Around graphql.ResponseMiddleware
	// Rule maps each mutation that is limited to its rule: RuleVotes, RulePosts or RuleChanges.
	Rule map[string]string
	// SameForAll reports whether the fields of a subscription depend on the article alone, and neither on the
	// viewer nor on anything that has to be read. Without variables such events are made once for all
	// subscriptions with the same document. If nil, each subscription makes its own.
	SameForAll func(ast.SelectionSet) bool
	// Watched returns how many articles a subscription with these arguments watches. If nil, it is 1.
	Watched func(arguments map[string]any) int
}

// Handler serves GraphQL: queries by GET, queries and mutations by POST, and these and subscriptions over
// WebSocket and server-sent events.
type Handler struct {
	http.Handler
	streams *streams
}

// New returns the endpoint of a schema. Subscriptions receive events while repo.Listen runs. Faults are
// written to log.
func New(schema Schema, repo *redisrepo.Repo, log *slog.Logger, o Options) *Handler {
	streams := newStreams(o.Streams, schema)
	server := newServer(schema, log, streams, &meter{rates: o.Rates, ruleOf: schema.Rule, repo: repo, local: newLocalRates()}, o)
	if o.Trusted != nil {
		server.Use(o.Trusted)
	} else {
		server.Use(persistedQueries{log: log, repo: repo, texts: newDocumentCache[string]()})
	}
	if schema.Around != nil {
		server.AroundResponses(schema.Around)
	}
	handler := compress(signIn(o.Identity, o.Proxies, log, server))
	if origins := allowedOrigins(o.Origins); origins != nil {
		handler = origins.Handler(handler)
	}
	return &Handler{uncached(o.Identity.Headers(), handler), streams}
}

// Shutdown ends all streams, so that their clients connect to another server, and refuses new ones. Queries
// and mutations on a WebSocket may finish first. It returns when all streams are closed, or with ctx.Err()
// when ctx ends first.
func (h *Handler) Shutdown(ctx context.Context) error { return h.streams.shutdown(ctx) }

// newServer makes the transports, and the checks that every operation passes.
func newServer(schema graphql.ExecutableSchema, log *slog.Logger, streams *streams, meter *meter, o Options) *handler.Server {
	server := handler.New(schema)
	server.AddTransport(&socketTransport{
		log: log, bodyLimit: o.BodyLimit, timeout: o.Timeout, origins: allowedOrigins(o.Origins),
		streams: streams, identity: o.Identity, meter: meter,
	})
	// The last transport: it accepts every request.
	server.AddTransport(&httpTransport{
		log: log, bodyLimit: o.BodyLimit, timeout: o.Timeout, preflight: o.GETPreflight, streams: streams, meter: meter,
	})
	server.SetQueryCache(newDocumentCache[*ast.QueryDocument]())
	server.SetParserTokenLimit(o.Limits.Tokens)
	server.SetDisableSuggestion(!o.Introspection)
	server.SetValidationRulesFn(validationRules(o.Limits, o.Introspection))
	var hidden *hiddenNames
	if !o.Introspection {
		hidden = newHiddenNames(schema.Schema())
	}
	server.SetErrorPresenter(presentError(log, o.Limits, hidden))
	server.SetRecoverFunc(recovered(log))
	server.AroundResponses(func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
		response := next(withReported(ctx))
		if response != nil {
			o.Limits.boundResponse(response)
		}
		return response
	})
	if o.Introspection {
		server.Use(extension.Introspection{})
	}
	server.Use(strictVariables{schema.Schema()})
	server.Use(&costLimit{allowed: o.Limits.Cost, schema: schema})
	return server
}

// uncached keeps every response out of caches, and is the only place that decides so. The same URL has another
// response for each caller, even if this request is anonymous, and a cache before the proxy that authenticates
// callers does not see who they are: so Vary, which names the headers that identify a caller, is not enough.
func uncached(identifying []string, next http.Handler) http.Handler {
	vary := strings.Join(append([]string{"Accept"}, identifying...), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Cache-Control", "private, no-store")
		w.Header().Add("Vary", vary)
		next.ServeHTTP(w, req)
	})
}

// compress compresses responses of at least 1 KB by gzip or zstd, as the client prefers, and by gzip without a
// preference, because some clients list zstd but cannot read it. Event streams are not compressed: an event would
// wait in the compressor for the next one.
func compress(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.PreferZstd(false), gzhttp.ContentTypes([]string{mediaJSON, mediaGraphQL}))
	if err != nil {
		panic(err) // impossible: the options are constant
	}
	return wrap(next)
}

// allowedOrigins lets scripts of other origins use the endpoint; it is nil if none may. Credentials are not
// allowed: callers authenticate by a header, which a page sets itself, not by cookies.
func allowedOrigins(origins []string) *cors.Cors {
	if len(origins) == 0 {
		return nil // to the library, an empty list means any origin
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{"Retry-After", "RateLimit", "RateLimit-Policy", "WWW-Authenticate"},
		MaxAge:         int((2 * time.Hour).Seconds()), // no browser caches it for longer
	})
}
