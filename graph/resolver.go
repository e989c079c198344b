package graph

import (
	"log/slog"
	"time"

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
	timeout time.Duration // of a query or mutation

	erasures erasures
}
