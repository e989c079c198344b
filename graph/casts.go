package graph

import (
	"context"
	"slices"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo"
)

// CastVoteConnection is a page of the viewer's votes.
type CastVoteConnection struct {
	Edges    []*CastVoteEdge
	PageInfo redisrepo.PageInfo
}

// CastVoteEdge is a vote of the viewer and its position in the list.
type CastVoteEdge struct {
	Cursor string
	At     time.Time
	Vote   redisrepo.Vote
	Node   *redisrepo.Article // nil while it is deleted
}

// Nodes returns the articles that are not deleted, without the votes.
func (c *CastVoteConnection) Nodes() []*redisrepo.Article {
	nodes := nodesOf(c.Edges, func(e *CastVoteEdge) *redisrepo.Article { return e.Node })
	return slices.DeleteFunc(nodes, func(a *redisrepo.Article) bool { return a == nil })
}

// viewerVotes returns a page of the viewer's votes. It reads no articles if none are selected.
func (r *Resolver) viewerVotes(ctx context.Context, direction *redisrepo.Vote, first *int32, after *string) (*CastVoteConnection, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return nil, endpoint.Unauthenticated("sign in to list your votes")
	}
	votes, info, err := r.repo.CastVotes(ctx, v.Name, direction, asInt(first), after)
	if err != nil {
		return nil, err
	}
	c := &CastVoteConnection{PageInfo: info, Edges: make([]*CastVoteEdge, len(votes))}
	ids := make([]redisrepo.ArticleID, len(votes))
	for i, vote := range votes {
		ids[i] = vote.Article
		c.Edges[i] = &CastVoteEdge{Cursor: vote.Cursor, At: vote.At, Vote: vote.Vote}
	}
	if !selected(ctx, "CastVoteConnection.nodes") && !selected(ctx, "CastVoteConnection.edges", "CastVoteEdge.node") {
		return c, nil
	}
	articles, err := r.loadAll(ctx, ids)
	for i, article := range articles {
		c.Edges[i].Node = article
	}
	return c, err
}

// listedPage is articlePage or unvotedPage.
func (r *Resolver) listedPage(ctx context.Context, l redisrepo.Listing, p redisrepo.PageRequest, unvotedOnly bool) (*ArticleConnection, error) {
	if unvotedOnly {
		return r.unvotedPage(ctx, l, p)
	}
	return r.articlePage(ctx, l, p)
}

// maxUnvotedReads is the maximum number of pages that are read for one without the articles that the viewer voted on.
const maxUnvotedReads = 4

// unvoted reports for each article whether the viewer has no vote on it, as far as that is known.
func (r *Resolver) unvoted(ctx context.Context, articles []*redisrepo.Article) ([]bool, error) {
	votes, err := r.repo.Votes(ctx, endpoint.ViewerOf(ctx).Name, articles)
	if err != nil {
		return nil, err
	}
	without := make([]bool, len(articles))
	for i, vote := range votes {
		without[i] = vote == nil || *vote == redisrepo.None
	}
	return without, nil
}

// mayHideVoted returns an error for an anonymous caller, who has no votes.
func mayHideVoted(ctx context.Context) error {
	if endpoint.ViewerOf(ctx).Name == "" {
		return endpoint.Unauthenticated("sign in to leave out what you voted on")
	}
	return nil
}

// unvotedPage is articlePage without the articles that the viewer voted on. Its ends are where reading stopped.
func (r *Resolver) unvotedPage(ctx context.Context, l redisrepo.Listing, p redisrepo.PageRequest) (*ArticleConnection, error) {
	if err := mayHideVoted(ctx); err != nil {
		return nil, err
	}
	c, size := &ArticleConnection{listing: l}, r.repo.Rules().PageSize
	if given := p.First; given != nil || p.Last != nil {
		if given == nil {
			given = p.Last
		}
		size = *given
	}
	last := p.Last != nil
	for read := range maxUnvotedReads {
		part, err := r.readUnvoted(ctx, l, p)
		if err != nil {
			return nil, err
		}
		if info := part.PageInfo; last {
			c.Edges = append(part.Edges, c.Edges...)
			c.PageInfo.StartCursor, c.PageInfo.HasPreviousPage = info.StartCursor, info.HasPreviousPage
			if read == 0 {
				c.PageInfo.EndCursor, c.PageInfo.HasNextPage = info.EndCursor, info.HasNextPage
			}
			if extra := len(c.Edges) - size; extra > 0 {
				c.Edges = c.Edges[extra:]
				c.PageInfo.StartCursor, c.PageInfo.HasPreviousPage = &c.Edges[0].Cursor, true
			}
			if len(c.Edges) == size || !info.HasPreviousPage || info.StartCursor == nil {
				break
			}
			p.Before = info.StartCursor
		} else {
			c.Edges = append(c.Edges, part.Edges...)
			c.PageInfo.EndCursor, c.PageInfo.HasNextPage = info.EndCursor, info.HasNextPage
			if read == 0 {
				c.PageInfo.StartCursor, c.PageInfo.HasPreviousPage = info.StartCursor, info.HasPreviousPage
			}
			if len(c.Edges) > size {
				c.Edges = c.Edges[:size]
				c.PageInfo.EndCursor, c.PageInfo.HasNextPage = &c.Edges[size-1].Cursor, true
			}
			if len(c.Edges) == size || !info.HasNextPage || info.EndCursor == nil {
				break
			}
			p.After = info.EndCursor
		}
	}
	return c, nil
}

// readUnvoted reads a page, and drops what the viewer voted on.
func (r *Resolver) readUnvoted(ctx context.Context, l redisrepo.Listing, p redisrepo.PageRequest) (*ArticleConnection, error) {
	read, err := r.walk(ctx, l, p)
	if err != nil {
		return nil, err
	}
	ids := make([]redisrepo.ArticleID, len(read.edges))
	for i, edge := range read.edges {
		ids[i] = edge.ID
	}
	articles, err := r.loadAll(ctx, ids)
	if err != nil {
		return nil, err
	}
	edges, info, articles := l.SortPage(read.edges, read.info, articles)
	without, err := r.unvoted(ctx, articles)
	if err != nil {
		return nil, err
	}
	c := &ArticleConnection{PageInfo: info}
	for i, edge := range edges {
		if without[i] {
			c.Edges = append(c.Edges, &ArticleEdge{Cursor: edge.Cursor, Node: articles[i]})
		}
	}
	return c, nil
}

// unvotedRanking is ranking without the articles that the viewer voted on. Its end is where reading stopped.
func (r *Resolver) unvotedRanking(ctx context.Context, q redisrepo.RankQuery, first *int32, after *string) (*RankedConnection, error) {
	if err := mayHideVoted(ctx); err != nil {
		return nil, err
	}
	list, err := r.repo.RankedList(q)
	if err != nil {
		return nil, err
	}
	c, size := &RankedConnection{list: list}, r.repo.Rules().PageSize
	if first != nil {
		size = int(*first)
	}
	for read := range maxUnvotedReads {
		page, err := r.rank(ctx, list, asInt(first), after)
		if err != nil {
			return nil, err
		}
		if read == 0 {
			c.AsOf, c.PageInfo = page.AsOf, page.Info
		}
		c.PageInfo.EndCursor, c.PageInfo.HasNextPage = page.Info.EndCursor, page.Info.HasNextPage
		if err := r.appendUnvoted(ctx, c, page); err != nil {
			return nil, err
		}
		if len(c.Edges) > size {
			c.Edges = c.Edges[:size]
			c.PageInfo.EndCursor, c.PageInfo.HasNextPage = &c.Edges[size-1].Cursor, true
		}
		if len(c.Edges) == size || !page.Info.HasNextPage || page.Info.EndCursor == nil {
			break
		}
		after = page.Info.EndCursor
	}
	return c, nil
}

// appendUnvoted appends the articles of a page that the viewer did not vote on.
func (r *Resolver) appendUnvoted(ctx context.Context, c *RankedConnection, page redisrepo.RankedPage) error {
	ids := make([]redisrepo.ArticleID, len(page.Edges))
	for i, edge := range page.Edges {
		ids[i] = edge.ID
	}
	loaded, err := r.loadAll(ctx, ids)
	if err != nil {
		return err
	}
	var edges []*RankedEdge
	var articles []*redisrepo.Article
	for i, a := range loaded {
		if a != nil {
			articles, edges = append(articles, a), append(edges, &RankedEdge{Cursor: page.Edges[i].Cursor, Node: a, Key: page.Edges[i].Key})
		}
	}
	without, err := r.unvoted(ctx, articles)
	if err != nil {
		return err
	}
	for i, edge := range edges {
		if without[i] {
			c.Edges = append(c.Edges, edge)
		}
	}
	return nil
}
