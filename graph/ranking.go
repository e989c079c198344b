package graph

import (
	"context"
	"time"

	"frontpage/redisrepo"
)

// RankedConnection is a page of a ranking.
type RankedConnection struct {
	Edges    []*RankedEdge
	PageInfo redisrepo.PageInfo
	AsOf     time.Time

	list redisrepo.RankedList
}

// RankedEdge is an article and its position in a ranking.
type RankedEdge struct {
	Cursor string
	Node   *redisrepo.Article
	Key    float64
}

// Nodes returns the articles without their positions.
func (c *RankedConnection) Nodes() []*redisrepo.Article {
	return nodesOf(c.Edges, func(e *RankedEdge) *redisrepo.Article { return e.Node })
}

// ranking returns a page of a ranking. It reads no articles if none are selected.
func (r *Resolver) ranking(ctx context.Context, q redisrepo.RankQuery, first *int32, after *string, unvotedOnly bool) (*RankedConnection, error) {
	if unvotedOnly {
		return r.unvotedRanking(ctx, q, first, after)
	}
	list, err := r.repo.RankedList(q)
	if err != nil {
		return nil, err
	}
	page, err := r.rank(ctx, list, asInt(first), after)
	if err != nil {
		return nil, err
	}
	c := &RankedConnection{PageInfo: page.Info, AsOf: page.AsOf, list: list}
	if !selected(ctx, "RankedConnection.edges") && !selected(ctx, "RankedConnection.nodes") {
		return c, nil
	}
	ids := make([]redisrepo.ArticleID, len(page.Edges))
	for i, edge := range page.Edges {
		ids[i] = edge.ID
	}
	articles, err := r.loadAll(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, edge := range page.Edges {
		if articles[i] != nil { // it was not deleted since
			c.Edges = append(c.Edges, &RankedEdge{Cursor: edge.Cursor, Node: articles[i], Key: edge.Key})
		}
	}
	return c, nil
}
