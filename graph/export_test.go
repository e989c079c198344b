package graph

import (
	"log/slog"

	"frontpage/endpoint"
	"frontpage/redisrepo"
)

// Served returns the schema that NewHandler serves, with other resolvers: those that wrap returns for its own.
func Served(repo *redisrepo.Repo, log *slog.Logger, o endpoint.Options, wrap func(ResolverRoot) ResolverRoot) endpoint.Schema {
	resolver := &Resolver{repo: repo, log: log, reads: endpoint.NewReads(repo, o.SharedAnswers), buckets: buckets(o.AuditSecret)}
	return resolver.served(wrap(resolver), o)
}
