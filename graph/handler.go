// Package graph serves the schema over HTTP: who is asking, the resolvers, and
// what a stranger gets to see of an error. It knows no Redis.
package graph

import (
	"log/slog"
	"net/http"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/redisrepo"
)

const (
	// tokenLimit is the most tokens of a document. The standard introspection
	// query has 184; parsing more costs seconds.
	tokenLimit = 1500
	// cachedQueries is how many parsed documents are kept.
	cachedQueries = 1000
)

// Over a plain POST, gqlgen answers null for a deferred field that is not null.
func init() { delete(parsedSchema.Directives, "defer") }

// NewHandler serves GraphQL by GET, for queries, and by POST. Requests with a
// body of more than bodyLimit bytes are refused. Faults are written to log.
func NewHandler(repo *redisrepo.Repo, log *slog.Logger, bodyLimit int64) http.Handler {
	resolver := &Resolver{repo: repo, log: log}
	server := handler.New(NewExecutableSchema(Config{Resolvers: resolver}))
	server.AddTransport(transport.Options{})
	server.AddTransport(transport.GET{})
	server.AddTransport(transport.POST{})
	server.SetQueryCache(lru.New[*ast.QueryDocument](cachedQueries))
	server.SetParserTokenLimit(tokenLimit)
	server.SetErrorPresenter(presentError(log))
	server.SetRecoverFunc(recovered)
	server.Use(extension.Introspection{})
	server.AroundResponses(resolver.withLoader)
	return limitBody(withViewer(server), bodyLimit)
}

// limitBody answers 413 to a body that says it is too large, and cuts off one
// that does not say.
func limitBody(next http.Handler, limit int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ContentLength > limit {
			w.Header().Set("Content-Type", "application/json")
			transport.SendErrorf(w, http.StatusRequestEntityTooLarge, "the request body has at most %d bytes", limit)
			return
		}
		req.Body = http.MaxBytesReader(w, req.Body, limit)
		next.ServeHTTP(w, req)
	})
}
