package graph

import (
	"context"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
)

// RankedConnection is a page of a ranking.
type RankedConnection struct {
	Connection[*site.Article, *RankedEdge]
	AsOf time.Time
	list rankings.RankedList
}

// RankedEdge is an article and its position in a ranking.
type RankedEdge struct {
	ArticleEdge
	Key float64
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
	c := &RankedConnection{AsOf: page.AsOf, list: list}
	c.PageInfo = page.Info
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
			edges = append(edges, &RankedEdge{ArticleEdge{page.Edges[i].Cursor, article}, page.Edges[i].Key})
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

func (r *articleResolver) BestRank(ctx context.Context, objs []*site.Article) ([]*rankings.BestRank, error) {
	return r.repo.Rankings.BestRanks(ctx, site.Collect(objs, func(a *site.Article) site.ArticleID { return a.ID }))
}

func (r *articleResolver) Ranks(ctx context.Context, objs []*site.Article, hours int32) ([][]*rankings.RankAt, error) {
	found, err := endpoint.Share(ctx, r.reads, frontRanksKey(hours), func(ctx context.Context) (*rankings.FrontRanks, int, error) {
		ranks, err := r.repo.Rankings.FrontRanks(ctx, int(hours))
		if ranks == nil {
			return nil, 0, err
		}
		return ranks, ranks.Bytes(), err
	})
	if err != nil {
		return nil, err
	}
	return site.Collect(objs, func(a *site.Article) []*rankings.RankAt { return found.Of(a.ID) }), nil
}

func (r *articleResolver) RankedBy(_ context.Context, objs []*site.Article) ([]*RankedBy, error) {
	return site.Collect(objs, func(a *site.Article) *RankedBy {
		return &RankedBy{Formula: r.repo.Store.Rules.Ranking, PostedAt: a.CreatedAt, VotesWorth: r.repo.Store.Rules.Worth(float64(a.Votes))}
	}), nil
}

func (r *articleResolver) VotesToReach(ctx context.Context, objs []*site.Article, rank int32) ([]*int32, error) {
	return r.repo.Lists.VotesToReach(ctx, objs, int(rank))
}

func (r *frontPageEdgeResolver) Node(ctx context.Context, objs []*rankings.FrontPlace) ([]*site.Article, error) {
	return r.loadAll(ctx, site.Collect(objs, func(p *rankings.FrontPlace) site.ArticleID { return p.ID }))
}

func (r *groupResolver) Ranking(ctx context.Context, obj *site.Group, by rankings.RankBy, span *rankings.Span, postedAfter *time.Time, postedBefore *time.Time, first *int32, after *string, unvotedOnly bool) (*RankedConnection, error) {
	return r.ranking(ctx, rankings.RankQuery{By: by, Span: span, PostedAfter: postedAfter, PostedBefore: postedBefore, Group: obj.Name}, first, after, unvotedOnly)
}

func (r *queryResolver) Ranking(ctx context.Context, by rankings.RankBy, span *rankings.Span, postedAfter *time.Time, postedBefore *time.Time, first *int32, after *string, unvotedOnly bool) (*RankedConnection, error) {
	return r.ranking(ctx, rankings.RankQuery{By: by, Span: span, PostedAfter: postedAfter, PostedBefore: postedBefore}, first, after, unvotedOnly)
}

func (r *queryResolver) FrontPage(ctx context.Context, at time.Time) (*rankings.FrontPage, error) {
	at = at.Truncate(time.Hour) // the last full hour that is not after it
	return endpoint.Share(ctx, r.reads, frontPageKey(at.Unix()), func(ctx context.Context) (*rankings.FrontPage, int, error) {
		page, err := r.repo.Rankings.FrontPage(ctx, at)
		if page == nil {
			return nil, perPlace, err
		}
		return page, perPlace * (len(page.Places) + 4), err
	})
}

func (r *rankedConnectionResolver) TotalCount(ctx context.Context, obj *RankedConnection) (int32, error) {
	return asCount(r.repo.Rankings.RankCount(ctx, obj.list, obj.AsOf))
}
