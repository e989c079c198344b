package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
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

// ModerationConnection is a page of the moderation log.
type ModerationConnection struct {
	Edges    []*ModerationEdge
	PageInfo site.PageInfo
}

// ModerationEdge is an entry and its position in the log.
type ModerationEdge struct {
	Cursor string
	Node   *events.ModerationEntry
}

// Nodes returns the entries without their positions.
func (c *ModerationConnection) Nodes() []*events.ModerationEntry {
	return collect(c.Edges, func(e *ModerationEdge) *events.ModerationEntry { return e.Node })
}

// moderationLog returns a page of the log to moderators.
func (r *Resolver) moderationLog(ctx context.Context, p site.PageRequest) (*ModerationConnection, error) {
	if !endpoint.ViewerOf(ctx).Moderator {
		return nil, endpoint.Forbidden("the moderation log is for moderators")
	}
	entries, info, err := r.repo.ModerationLog(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &ModerationConnection{PageInfo: info, Edges: make([]*ModerationEdge, len(entries))}
	for i := range entries {
		c.Edges[i] = &ModerationEdge{Cursor: entries[i].Cursor, Node: &entries[i]}
	}
	return c, nil
}
