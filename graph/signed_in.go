package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo"
)

// requireViewer refuses anonymous callers and those that exceeded a rule's rate.
func requireViewer(ctx context.Context, rule string) (endpoint.Viewer, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return v, redisrepo.Refusal{{Code: unauthenticated, Message: "sign in first"}}
	}
	if wait := endpoint.Exceeded(ctx, rule); wait > 0 {
		return v, &rateError{wait}
	}
	return v, nil
}

// actor is the viewer as one who changes articles.
func actor(v endpoint.Viewer) redisrepo.Actor {
	return redisrepo.Actor{Name: v.Name, Moderator: v.Moderator}
}
