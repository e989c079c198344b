package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/events"
)

// mayReadEvents returns an error unless the caller is a moderator, or a service that acts as itself. Events tell who
// voted for what.
func mayReadEvents(ctx context.Context) error {
	switch v := endpoint.ViewerOf(ctx); {
	case v.Name == "":
		return endpoint.Unauthenticated("sign in first: the change feed is for moderators and services")
	case v.Moderator, v.Service && v.Via == "":
		return nil
	}
	return endpoint.Forbidden("the change feed is for moderators and services")
}

// events returns a page of the change feed.
func (r *Resolver) events(ctx context.Context, after *string, kinds []events.EventKind, first *int32) (*events.EventPage, error) {
	if err := mayReadEvents(ctx); err != nil {
		return nil, err
	}
	page, err := r.repo.Events(ctx, after, kinds, asInt(first))
	if err != nil {
		return nil, err
	}
	return &page, nil
}
