package graph

import (
	"cmp"
	"context"
	"slices"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
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

// listedPage is articlePage or unvotedPage.
func (r *Resolver) listedPage(ctx context.Context, l lists.Listing, p site.PageRequest, unvotedOnly bool) (*ArticleConnection, error) {
	if unvotedOnly {
		return r.unvotedPage(ctx, l, p)
	}
	return r.articlePage(ctx, l, p)
}

// unvotedPage is articlePage without the articles that the viewer voted on. Its ends are where reading stopped.
func (r *Resolver) unvotedPage(ctx context.Context, l lists.Listing, p site.PageRequest) (*ArticleConnection, error) {
	backward, from := p.Last != nil, &p.After
	if backward {
		from = &p.Before
	}
	turn := func(edges []*ArticleEdge, info site.PageInfo) ([]*ArticleEdge, site.PageInfo) {
		if backward {
			slices.Reverse(edges)
			info.StartCursor, info.EndCursor = info.EndCursor, info.StartCursor
			info.HasPreviousPage, info.HasNextPage = info.HasNextPage, info.HasPreviousPage
		}
		return edges, info
	}
	edges, info, err := unvotedEdges(ctx, r, cmp.Or(p.First, p.Last), from, func() ([]*ArticleEdge, site.PageInfo, error) {
		read, err := r.walk(ctx, l, p)
		if err != nil {
			return nil, read.info, err
		}
		edges, info, err := r.articleEdges(ctx, l, read)
		edges, info = turn(edges, info)
		return edges, info, err
	})
	edges, info = turn(edges, info)
	return &ArticleConnection{Edges: edges, PageInfo: info, listing: l}, err
}

// unvotedRanking is ranking without the articles that the viewer voted on. Its end is where reading stopped.
func (r *Resolver) unvotedRanking(ctx context.Context, list rankings.RankedList, first *int, after *string) (*RankedConnection, error) {
	c := &RankedConnection{list: list}
	var err error
	c.Edges, c.PageInfo, err = unvotedEdges(ctx, r, first, &after, func() ([]*RankedEdge, site.PageInfo, error) {
		if !c.AsOf.IsZero() {
			endpoint.Owe(ctx, rankingCost) // the cost has that of the first page
		}
		page, err := r.rank(ctx, list, first, after)
		if err != nil {
			return nil, page.Info, err
		}
		c.AsOf = page.AsOf // that of the first page: the cursors keep it
		edges, err := r.rankedEdges(ctx, page)
		return edges, page.Info, err
	})
	return c, err
}

// maxUnvotedReads is the maximum number of pages that are read for one without the articles that the viewer voted on.
const maxUnvotedReads = 4

// unvotedEdges calls read until there are size edges (nil: Rules.PageSize) whose articles the viewer did not vote on, as
// far as that is known, or maxUnvotedReads times. Before each further call it sets from to the end of the page before.
func unvotedEdges[E articleEdge](ctx context.Context, r *Resolver, size *int, from **string, read func() ([]E, site.PageInfo, error)) (edges []E, info site.PageInfo, err error) {
	viewer := endpoint.ViewerOf(ctx).Name
	if viewer == "" {
		return nil, info, endpoint.Unauthenticated("sign in to leave out what you voted on")
	}
	most := r.repo.Rules.PageSize
	if size != nil {
		most = *size
	}
	for n := range maxUnvotedReads {
		page, ends, err := read()
		if err != nil {
			return nil, info, err
		}
		votes, err := r.repo.Votes(ctx, viewer, collect(page, E.article))
		if err != nil {
			return nil, info, err
		}
		for i, vote := range votes {
			if vote == nil || *vote == site.None {
				edges = append(edges, page[i])
			}
		}
		if n > 0 {
			ends.StartCursor, ends.HasPreviousPage = info.StartCursor, info.HasPreviousPage
		}
		info = ends
		if len(edges) > most {
			edges = edges[:most]
			info.EndCursor, info.HasNextPage = edges[most-1].cursor(), true
		}
		if len(edges) == most || !info.HasNextPage || info.EndCursor == nil {
			break
		}
		*from = info.EndCursor
	}
	return edges, info, nil
}

// articleEdge is an ArticleEdge or a RankedEdge.
type articleEdge interface {
	article() *site.Article
	cursor() *string
}
