package graph

import (
	"context"
	"time"

	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
)

// RankedConnection is a page of a ranking.
type RankedConnection struct {
	Edges    []*RankedEdge
	PageInfo site.PageInfo
	AsOf     time.Time

	list rankings.RankedList
}

// RankedEdge is an article and its position in a ranking.
type RankedEdge struct {
	Cursor string
	Node   *site.Article
	Key    float64
}

func (e *RankedEdge) article() *site.Article { return e.Node }
func (e *RankedEdge) cursor() *string        { return &e.Cursor }

// Nodes returns the articles without their positions.
func (c *RankedConnection) Nodes() []*site.Article {
	return site.Collect(c.Edges, (*RankedEdge).article)
}

// ranking returns a page of a ranking. It reads no articles if none are selected.
func (r *Resolver) ranking(ctx context.Context, q rankings.RankQuery, first *int32, after *string, unvotedOnly bool) (*RankedConnection, error) {
	list, err := r.repo.Rankings.RankedList(q)
	if err != nil {
		return nil, err
	}
	leaves, err := r.leaves(ctx, unvotedOnly)
	if err != nil {
		return nil, err
	}
	if unvotedOnly || len(leaves.posters) > 0 {
		return r.partialRanking(ctx, list, asInt(first), after, leaves)
	}
	page, err := r.rank(ctx, list, asInt(first), after)
	if err != nil {
		return nil, err
	}
	c := &RankedConnection{PageInfo: page.Info, AsOf: page.AsOf, list: list}
	if selected(ctx, "RankedConnection.edges") || selected(ctx, "RankedConnection.nodes") {
		c.Edges, err = r.rankedEdges(ctx, page)
	}
	return c, err
}

// rankedEdges loads the articles of a page, and returns those that exist.
func (r *Resolver) rankedEdges(ctx context.Context, page rankings.RankedPage) (edges []*RankedEdge, err error) {
	articles, err := r.loadAll(ctx, site.Collect(page.Edges, func(e rankings.RankedEdge) site.ArticleID { return e.ID }))
	for i, article := range articles {
		if article != nil {
			edges = append(edges, &RankedEdge{Cursor: page.Edges[i].Cursor, Node: article, Key: page.Edges[i].Key})
		}
	}
	return edges, err
}

// RankedBy has the parts of an article's score.
type RankedBy struct {
	Formula    site.Ranking
	PostedAt   time.Time
	VotesWorth float64 // seconds
}

// The keys of shared reads of front pages.
type (
	frontPageKey  int64 // Unix seconds
	frontRanksKey int   // number of hours
)

// perPlace is about how many bytes an article on a front page takes.
const perPlace = 32
