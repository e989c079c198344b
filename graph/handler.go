// Package graph says what the schema means: its resolvers, its costs, and which
// mutation counts by which rule. Package endpoint serves it.
package graph

import (
	"log/slog"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/redisrepo"
)

// Removes @defer: over a plain POST, gqlgen answers null for a deferred field that is not null.
func init() { delete(parsedSchema.Directives, "defer") }

// Schema is the schema that NewHandler serves.
func Schema() *ast.Schema { return parsedSchema }

// NewHandler makes the endpoint of a site. Subscriptions have events while
// repo.Listen runs. Faults are written to log.
func NewHandler(repo *redisrepo.Repo, log *slog.Logger, o endpoint.Options) *endpoint.Handler {
	resolver := &Resolver{repo: repo, log: log, buckets: buckets(o.AuditSecret)}
	return endpoint.New(endpoint.Schema{
		ExecutableSchema: NewExecutableSchema(Config{Resolvers: resolver, Complexity: listCosts(o.Limits.PageSize)}),
		Around:           resolver.withLoader,
		Rule:             ruleOf,
		SameForAll:       asksTheSame,
	}, repo, log, o)
}
