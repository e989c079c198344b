package graph

import (
	"context"
	"slices"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/casts"
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

// viewerVotes returns a page of the viewer's votes. It reads no articles if none are selected.
func (r *Resolver) viewerVotes(ctx context.Context, direction *site.Vote, first *int32, after *string) (*CastVoteConnection, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return nil, endpoint.Unauthenticated("sign in to list your votes")
	}
	votes, info, err := r.repo.CastVotes(ctx, v.Name, direction, asInt(first), after)
	if err != nil {
		return nil, err
	}
	c := &CastVoteConnection{PageInfo: info, Edges: make([]*CastVoteEdge, len(votes))}
	for i, vote := range votes {
		c.Edges[i] = &CastVoteEdge{Cursor: vote.Cursor, At: vote.At, Vote: vote.Vote}
	}
	if !selected(ctx, "CastVoteConnection.nodes") && !selected(ctx, "CastVoteConnection.edges", "CastVoteEdge.node") {
		return c, nil
	}
	articles, err := r.loadAll(ctx, collect(votes, func(v casts.CastVote) site.ArticleID { return v.Article }))
	for i, article := range articles {
		c.Edges[i].Node = article
	}
	return c, err
}
