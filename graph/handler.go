// Package graph gives the schema its meaning: its resolvers, the costs of its lists, the rate limits that
// count its mutations, and which answers subscriptions can share. Package endpoint serves it. This package
// uses neither HTTP nor Redis directly.
package graph

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"

	gqlparser "github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/endpoint/plan"
	"frontpage/redisrepo"
)

func init() { usable(parsedSchema) }

// usable removes from a schema what gqlparser (v2.5.64) adds and clients cannot use. With @defer, over a plain POST, gqlgen
// (v0.17.95) answers null for deferred fields, even for those of a non-null type. The location DIRECTIVE_DEFINITION is in
// no released specification (of September 2025 at the latest), and graphql-core refuses to build a schema that has it.
func usable(schema *ast.Schema) *ast.Schema {
	delete(schema.Directives, "defer")
	deprecated := schema.Directives["deprecated"]
	deprecated.Locations = slices.DeleteFunc(deprecated.Locations, func(l ast.DirectiveLocation) bool { return l == ast.LocationDirectiveDefinition })
	locations := schema.Types["__DirectiveLocation"]
	locations.EnumValues = slices.DeleteFunc(locations.EnumValues, func(v *ast.EnumValueDefinition) bool { return v.Name == string(ast.LocationDirectiveDefinition) })
	return schema
}

// Schema returns the schema that NewHandler serves, without the fields of a subgraph.
func Schema() *ast.Schema { return plainSchema() }

// plainSchema is what the first source has, schema.graphqls.
var plainSchema = sync.OnceValue(func() *ast.Schema { return usable(gqlparser.MustLoadSchema(sources[0])) })

// NewHandler returns the endpoint of a site. An empty name of the site means Frontpage. Subscriptions receive events
// while repo.Listen runs. Faults are written to log.
func NewHandler(repo *redisrepo.Repo, site Site, log *slog.Logger, o endpoint.Options) *endpoint.Handler {
	site.Name, site.Rules = cmp.Or(site.Name, "Frontpage"), siteRules(repo, site.PublicLog)
	resolver := newResolver(repo, site, log, o)
	return endpoint.New(resolver.served(resolver, o), repo, log, o)
}

func newResolver(repo *redisrepo.Repo, site Site, log *slog.Logger, o endpoint.Options) *Resolver {
	return &Resolver{
		repo: repo, site: &site, log: log, reads: endpoint.NewReads(repo, o.SharedAnswers), buckets: buckets(o.AuditSecret),
		found: foundRings{running: make(chan struct{}, 1)}, timeout: o.Timeout,
	}
}

// served returns what the endpoint serves: the schema, resolved by root, and what depends on its names.
func (r *Resolver) served(root ResolverRoot, o endpoint.Options) endpoint.Schema {
	schema := Schema()
	if r.site.Subgraph != "" {
		schema = parsedSchema
	}
	return endpoint.Schema{
		ExecutableSchema: NewExecutableSchema(Config{Schema: schema, Resolvers: root, Complexity: listCosts(o.Limits.PageSize)}),
		Compile:          compiler(planSchema(root)),
		Scalars:          Scalars,
		Around:           r.withLoader,
		Rule:             ruleOf,
		DependenceOf:     dependenceOf,
		Watched:          watchedBy,
	}
}

// compiler returns a function that compiles an operation. What package plan cannot execute is left to gqlgen.
func compiler(schema *plan.Schema) func(*ast.OperationDefinition, ast.FragmentDefinitionList) endpoint.Executable {
	return func(definition *ast.OperationDefinition, fragments ast.FragmentDefinitionList) endpoint.Executable {
		operation := schema.Compile(definition, fragments)
		switch {
		case operation == nil:
			return endpoint.Executable{}
		case definition.Operation == ast.Subscription:
			return endpoint.Executable{Event: operation.Event, Bytes: operation.Bytes()}
		}
		return endpoint.Executable{Execute: operation.Execute, Bytes: operation.Bytes()}
	}
}
