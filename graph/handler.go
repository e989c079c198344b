// Package graph gives the schema its meaning: its resolvers, the costs of its lists, the rates of its mutations, and
// which answers subscriptions can share. Package endpoint serves it; this package knows neither HTTP nor Redis.
package graph

import (
	"log/slog"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/redisrepo"
)

// Removes @defer from the schema: over a plain POST, gqlgen (v0.17.95) answers null for a deferred field that is not
// null.
func init() { delete(parsedSchema.Directives, "defer") }

// Schema returns the schema that NewHandler serves.
func Schema() *ast.Schema { return parsedSchema }

// NewHandler makes the endpoint of a site. Subscriptions receive events while repo.Listen runs. Faults are written to
// log.
func NewHandler(repo *redisrepo.Repo, log *slog.Logger, o endpoint.Options) *endpoint.Handler {
	resolver := &Resolver{repo: repo, log: log, buckets: buckets(o.AuditSecret)}
	return endpoint.New(endpoint.Schema{
		ExecutableSchema: NewExecutableSchema(Config{Resolvers: resolver, Complexity: listCosts(o.Limits.PageSize)}),
		Around:           resolver.withLoader,
		Rule:             ruleOf,
		SameForAll:       sharedBy,
	}, repo, log, o)
}
