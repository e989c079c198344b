package graph

import (
	"log/slog"

	"frontpage/redisrepo"
)

// Resolver answers the fields of the schema that a struct does not hold.
type Resolver struct {
	repo    *redisrepo.Repo
	log     *slog.Logger
	buckets buckets
}
