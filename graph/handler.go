// Package graph gives the schema its meaning: its resolvers, the costs of its lists, the rate limits that
// count its mutations, and which answers subscriptions can share. Package endpoint serves it. This package
// uses neither HTTP nor Redis directly.
package graph

import (
	"cmp"
	"log/slog"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/redisrepo"
)

// Removes @defer from the schema: over a plain POST, gqlgen (v0.17.95) answers null for deferred fields, even
// for those of a non-null type.
func init() { delete(parsedSchema.Directives, "defer") }

// Schema returns the schema that NewHandler serves.
func Schema() *ast.Schema { return parsedSchema }

// NewHandler returns the endpoint of a site, which is called Frontpage unless it has a name. Subscriptions receive events while repo.Listen runs. Faults are
// written to log.
func NewHandler(repo *redisrepo.Repo, site Site, log *slog.Logger, o endpoint.Options) *endpoint.Handler {
	site.Name, site.Rules = cmp.Or(site.Name, "Frontpage"), siteRules(repo.Rules())
	resolver := newResolver(repo, site, log, o)
	return endpoint.New(resolver.served(resolver, o), repo, log, o)
}

func newResolver(repo *redisrepo.Repo, site Site, log *slog.Logger, o endpoint.Options) *Resolver {
	return &Resolver{repo: repo, site: &site, log: log, reads: endpoint.NewReads(repo, o.SharedAnswers), buckets: buckets(o.AuditSecret)}
}

// served returns what the endpoint serves: the schema, resolved by root, and what depends on its names.
func (r *Resolver) served(root ResolverRoot, o endpoint.Options) endpoint.Schema {
	return endpoint.Schema{
		ExecutableSchema: NewExecutableSchema(Config{Resolvers: root, Complexity: listCosts(o.Limits.PageSize)}),
		Compile:          compiler(planSchema(root)),
		Around:           r.withLoader,
		Rule:             ruleOf,
		DependenceOf:     dependenceOf,
		Watched:          watchedBy,
	}
}
