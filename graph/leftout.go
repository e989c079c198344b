package graph

import (
	"cmp"
	"context"
	"slices"

	"frontpage/endpoint"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
)

// leftOut is what a list leaves out for its viewer.
type leftOut struct {
	voted   bool            // what the viewer voted on
	posters []site.UserName // whose articles the viewer does not want, sorted
}

// leaves returns what a list leaves out. For viewers who have never blocked a user that costs no call.
func (r *Resolver) leaves(ctx context.Context, unvotedOnly bool) (l leftOut, err error) {
	l.voted = unvotedOnly
	l.posters, err = r.repo.Denials.Blocked(ctx, endpoint.ViewerOf(ctx).Name)
	return l, err
}

// has reports whether the articles of a poster are left out.
func (l leftOut) has(poster site.UserName) bool {
	_, found := slices.BinarySearch(l.posters, poster)
	return found
}

// listedPage is articlePage without what the list leaves out.
func (r *Resolver) listedPage(ctx context.Context, l lists.Listing, p site.PageRequest, unvotedOnly bool) (*ArticleConnection, error) {
	leaves, err := r.leaves(ctx, unvotedOnly)
	if err != nil {
		return nil, err
	}
	if unvotedOnly || len(leaves.posters) > 0 {
		return r.partialPage(ctx, l, p, leaves)
	}
	return r.articlePage(ctx, l, p)
}

// partialPage is articlePage without what the list leaves out. Its ends are where reading stopped.
func (r *Resolver) partialPage(ctx context.Context, l lists.Listing, p site.PageRequest, leaves leftOut) (*ArticleConnection, error) {
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
	edges, info, err := partialEdges(ctx, r, leaves, cmp.Or(p.First, p.Last), from, func() ([]*ArticleEdge, site.PageInfo, error) {
		read, err := r.walk(ctx, l, p)
		if err != nil {
			return nil, read.info, err
		}
		edges, info, err := r.articleEdges(ctx, l, read)
		edges, info = turn(edges, info)
		return edges, info, err
	})
	edges, info = turn(edges, info)
	return &ArticleConnection{Connection[*site.Article, *ArticleEdge]{edges, info}, l}, err
}

// partialRanking is ranking without what the list leaves out. Its end is where reading stopped.
func (r *Resolver) partialRanking(ctx context.Context, list rankings.RankedList, first *int, after *string, leaves leftOut) (*RankedConnection, error) {
	c := &RankedConnection{list: list}
	var err error
	c.Edges, c.PageInfo, err = partialEdges(ctx, r, leaves, first, &after, func() ([]*RankedEdge, site.PageInfo, error) {
		if !c.AsOf.IsZero() {
			endpoint.Owe(ctx, rankingCost) // the cost includes the first page's
		}
		page, err := r.rank(ctx, list, first, after)
		if err != nil {
			return nil, page.Info, err
		}
		c.AsOf = page.AsOf // the first page's: the cursors keep it
		edges, err := r.rankedEdges(ctx, page)
		return edges, page.Info, err
	})
	return c, err
}

// maxPartialReads is the maximum number of pages that are read for one from which something is left out.
const maxPartialReads = 4

// partialEdges calls read until there are size edges (nil: Rules.PageSize) that are not left out, as far as the viewer's
// votes are known, or maxPartialReads times. Before each further call it sets from to the end of the page before.
func partialEdges[E edge[*site.Article]](ctx context.Context, r *Resolver, leaves leftOut, size *int, from **string, read func() ([]E, site.PageInfo, error)) (edges []E, info site.PageInfo, err error) {
	viewer := endpoint.ViewerOf(ctx).Name
	if viewer == "" && leaves.voted {
		return nil, info, endpoint.Unauthenticated("sign in to leave out what you voted on")
	}
	most := r.repo.Store.Rules.PageSize
	if size != nil {
		most = *size
	}
	for n := range maxPartialReads {
		if n > 0 && !leaves.voted { // the cost of a list without what the viewer voted on has these reads
			endpoint.Owe(ctx, most)
		}
		page, ends, err := read()
		if err != nil {
			return nil, info, err
		}
		page = slices.DeleteFunc(page, func(e E) bool { return leaves.has(e.node().Poster.Name) })
		var votes []*site.Vote
		if leaves.voted {
			if votes, err = r.repo.Casts.Votes(ctx, viewer, site.Collect(page, E.node)); err != nil {
				return nil, info, err
			}
		}
		for i, edge := range page {
			if votes == nil || votes[i] == nil || *votes[i] == site.None {
				edges = append(edges, edge)
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
