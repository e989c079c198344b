package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
)

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
