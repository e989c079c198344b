package graph

import (
	"slices"
	"time"

	"frontpage/redisrepo/site"
)

// CastVoteConnection is a page of the viewer's votes.
type CastVoteConnection struct {
	Edges    []*CastVoteEdge
	PageInfo site.PageInfo
}

// CastVoteEdge is a vote of the viewer and its position in the list.
type CastVoteEdge struct {
	Cursor string
	At     time.Time
	Vote   site.Vote
	Node   *site.Article // nil while it is deleted
}

// Nodes returns the articles that are not deleted, without the votes.
func (c *CastVoteConnection) Nodes() []*site.Article {
	nodes := collect(c.Edges, func(e *CastVoteEdge) *site.Article { return e.Node })
	return slices.DeleteFunc(nodes, func(a *site.Article) bool { return a == nil })
}
