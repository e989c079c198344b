package graph

import (
	"log/slog"

	"frontpage/endpoint"
	"frontpage/redisrepo"
)

// Served returns the schema that NewHandler serves, with other resolvers: those that wrap returns for its own.
func Served(repo *redisrepo.Repo, log *slog.Logger, o endpoint.Options, wrap func(ResolverRoot) ResolverRoot) endpoint.Schema {
	resolver := newResolver(repo, Site{}, log, o)
	return resolver.served(wrap(resolver), o)
}
