// Package graph serves the schema over HTTP: who is asking, the resolvers, and
// what a stranger gets to see of an error. It knows no Redis.
package graph

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/klauspost/compress/gzhttp"
	"github.com/rs/cors"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/redisrepo"
)

// Options are what an operator decides about the endpoint.
type Options struct {
	BodyLimit     int64         // largest body, and largest query string of a GET, bytes
	Timeout       time.Duration // longest time for one query or mutation
	Limits        Limits
	Introspection bool     // whether the schema can be asked for
	GETPreflight  bool     // whether a GET needs a header that a foreign page cannot send unasked
	Origins       []string // of the pages, besides the site's own, whose scripts may read answers
	Trusted       *Trusted // the only documents that run; nil: any does
}

// DefaultOptions are right for development and for a public API without secrets
// in its schema.
func DefaultOptions() Options {
	return Options{
		// The longest text of an article fits with every character escaped.
		BodyLimit:     128 << 10,
		Timeout:       5 * time.Second,
		Limits:        DefaultLimits(),
		Introspection: true,
	}
}

// Over a plain POST, gqlgen answers null for a deferred field that is not null.
func init() { delete(parsedSchema.Directives, "defer") }

// NewHandler serves GraphQL by GET, for queries, and by POST. Faults are written
// to log.
func NewHandler(repo *redisrepo.Repo, log *slog.Logger, o Options) http.Handler {
	resolver := &Resolver{repo: repo, log: log}
	documents := persistedQueries{log: log, repo: repo, texts: newDocumentCache[string]()}
	server := newServer(resolver, log, o)
	if o.Trusted != nil {
		server.Use(o.Trusted)
	} else {
		server.Use(documents)
	}
	server.AroundResponses(resolver.withLoader)
	return allowOrigins(compress(withViewer(server)), o.Origins)
}

// newServer is NewHandler without what needs a store.
func newServer(root ResolverRoot, log *slog.Logger, o Options) *handler.Server {
	schema := NewExecutableSchema(Config{Resolvers: root, Complexity: listCosts(o.Limits.PageSize)})
	server := handler.New(schema)
	// It takes whatever is left: a transport of another kind goes in front of it.
	server.AddTransport(&plainTransport{log: log, bodyLimit: o.BodyLimit, timeout: o.Timeout, preflight: o.GETPreflight})
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

// allowOrigins lets scripts of other pages use the endpoint. It sends no
// cookies along: who is asking is said by a header, which a page sets itself.
func allowOrigins(next http.Handler, origins []string) http.Handler {
	if len(origins) == 0 {
		return next // to the library, an empty list is any origin
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost},
		AllowedHeaders: []string{"*"},
		MaxAge:         int((2 * time.Hour).Seconds()), // no browser remembers it for longer
	}).Handler(next)
}
