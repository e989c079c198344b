package graph

import (
	"log/slog"

	"frontpage/endpoint"
	"frontpage/redisrepo"
)

// Resolver resolves the fields of the schema that are not fields of a struct.
type Resolver struct {
	repo    *redisrepo.Repo
	site    *Site
	log     *slog.Logger
	reads   endpoint.Reads
	buckets buckets
	found   foundRings

	erasures erasures
}
