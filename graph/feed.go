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
