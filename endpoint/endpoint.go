// Package graph serves the schema over HTTP: who is asking, the resolvers, and
// what a stranger gets to see of an error. It knows no Redis.
package endpoint

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
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

// Options are what an operator decides about the endpoint.
type Options struct {
	BodyLimit     int64         // largest body, and largest query string of a GET, bytes
	Timeout       time.Duration // longest time for one query or mutation
	Limits        Limits
	Rates         Rates
	Streams       StreamLimits
	Introspection bool               // whether the schema can be asked for
	GETPreflight  bool               // whether a GET needs a header that a foreign page cannot send unasked
	Identity      *identity.Verifier // who is asking
	AuditSecret   string             // with which addresses of voters are concealed; empty: they are not recorded
	Proxies       []netip.Prefix     // whose X-Forwarded-For is believed
	Origins       []string           // of the pages, besides the site's own, whose scripts may read answers
	Trusted       *Trusted           // the only documents that run; nil: any does
}

// DefaultOptions are right for a public API without secrets in its schema. They
// do not say who is asking.
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
	// Around runs around each response, each event of a subscription included.
	Around graphql.ResponseMiddleware
	// Rule names, by mutation, the rule that counts it: one of RuleVotes,
	// RulePosts and RuleChanges.
	Rule map[string]string
	// SameForAll reports whether the events of a subscription with this selection
	// depend on the article alone, and not on variables or the viewer. Such events
	// are made once for all subscriptions that ask the same.
	SameForAll func(ast.SelectionSet) bool
}

// Handler serves GraphQL: queries by GET, queries and mutations by POST, and
// these and subscriptions over WebSocket and server-sent events.
type Handler struct {
	http.Handler
	streams *streams
}

// New makes the endpoint of a schema. Subscriptions have events while
// repo.Listen runs. Faults are written to log.
func New(schema Schema, repo *redisrepo.Repo, log *slog.Logger, o Options) *Handler {
	streams := newStreams(o.Streams, schema.SameForAll)
	meter := &meter{rates: o.Rates, ruleOf: schema.Rule, repo: repo}
	server := newServer(schema, log, streams, meter, o)
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
	return &Handler{handler, streams}
}

// Shutdown ends all streams, so that their clients connect elsewhere, and
// refuses new ones. It returns when all are closed, or with the error of ctx
// when that ends first. Queries and mutations on a WebSocket may finish before.
func (h *Handler) Shutdown(ctx context.Context) error { return h.streams.shutdown(ctx) }

// newServer makes the transports and the checks that every operation goes through.
func newServer(schema graphql.ExecutableSchema, log *slog.Logger, streams *streams, meter *meter, o Options) *handler.Server {
	server := handler.New(schema)
	server.AddTransport(&socketTransport{log: log, bodyLimit: o.BodyLimit, timeout: o.Timeout, origins: allowedOrigins(o.Origins), streams: streams, identity: o.Identity, meter: meter})
	// It takes whatever is left.
	server.AddTransport(&httpTransport{log: log, bodyLimit: o.BodyLimit, timeout: o.Timeout, preflight: o.GETPreflight, streams: streams, meter: meter})
	server.SetQueryCache(newDocumentCache[*ast.QueryDocument]())
	server.SetParserTokenLimit(o.Limits.Tokens)
	server.SetDisableSuggestion(!o.Introspection)
	server.SetValidationRulesFn(validationRules(o.Limits, o.Introspection))
	server.SetErrorPresenter(presentError(log, o.Limits))
	server.SetRecoverFunc(recovered(log))
	server.AroundResponses(func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
		return next(withReported(ctx))
	})
	if o.Introspection {
		server.Use(extension.Introspection{})
	}
	server.Use(&costLimit{allowed: o.Limits.Cost, schema: schema})
	return server
}

// compress wraps answers of more than 1 KB in gzip or zstd, whichever the client
// prefers; gzip when it has no preference, since programs list zstd that cannot
// read it. Only finished JSON: an event of a stream must not wait for the next.
func compress(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.PreferZstd(false), gzhttp.ContentTypes([]string{mediaJSON, mediaGraphQL}))
	if err != nil {
		panic(err) // the options above
	}
	return wrap(next)
}

// allowedOrigins lets scripts of other pages use the endpoint; nil when none may.
// No cookies come along: who is asking is said by a header, which a page sets
// itself.
func allowedOrigins(origins []string) *cors.Cors {
	if len(origins) == 0 {
		return nil // to the library, an empty list is any origin
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{"Retry-After", "RateLimit", "RateLimit-Policy", "WWW-Authenticate"},
		MaxAge:         int((2 * time.Hour).Seconds()), // no browser remembers it for longer
	})
}
