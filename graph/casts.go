package graph

import (
	"slices"
	"time"

	"frontpage/redisrepo/site"
)

// CastVoteConnection is a page of a user's votes.
type CastVoteConnection struct {
	Edges    []*CastVoteEdge
	PageInfo site.PageInfo
}

// CastVoteEdge is a vote of a user and its position in the list.
type CastVoteEdge struct {
	Cursor string
	At     time.Time
	Vote   site.Vote
	Node   *site.Article // nil while it is deleted

	voter   site.UserName
	article site.ArticleID
}

// Nodes returns the articles that are not deleted, without the votes.
func (c *CastVoteConnection) Nodes() []*site.Article {
	nodes := collect(c.Edges, func(e *CastVoteEdge) *site.Article { return e.Node })
	return slices.DeleteFunc(nodes, func(a *site.Article) bool { return a == nil })
}
