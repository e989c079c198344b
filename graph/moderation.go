package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo"
)

// ModerationConnection is a part of the moderation log.
type ModerationConnection struct {
	Edges    []*ModerationEdge
	PageInfo redisrepo.PageInfo
}

// ModerationEdge is an entry and its place in the log.
type ModerationEdge struct {
	Cursor string
	Node   *redisrepo.ModerationEntry
}

// Nodes are the entries without their places.
func (c *ModerationConnection) Nodes() []*redisrepo.ModerationEntry {
	nodes := make([]*redisrepo.ModerationEntry, len(c.Edges))
	for i, edge := range c.Edges {
		nodes[i] = edge.Node
	}
	return nodes
}

// moderationLog answers a part of the log to moderators.
func (r *Resolver) moderationLog(ctx context.Context, s redisrepo.PageRequest) (*ModerationConnection, error) {
	if !endpoint.ViewerOf(ctx).Moderator {
		return nil, endpoint.Forbidden("the moderation log is for moderators")
	}
	entries, info, err := r.repo.ModerationLog(ctx, s)
	if err != nil {
		return nil, err
	}
	c := &ModerationConnection{PageInfo: info, Edges: make([]*ModerationEdge, len(entries))}
	for i := range entries {
		c.Edges[i] = &ModerationEdge{Cursor: entries[i].Cursor, Node: &entries[i]}
	}
	return c, nil
}
