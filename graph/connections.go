package graph

import (
	"context"

	"frontpage/redisrepo"
)

// ArticleConnection is a part of a list of articles.
type ArticleConnection struct {
	Edges    []*ArticleEdge
	PageInfo redisrepo.PageInfo

	listing redisrepo.Listing
}

// ArticleEdge is an article and its place in a list.
type ArticleEdge struct {
	Cursor string
	Node   *redisrepo.Article
}

// Nodes are the articles without their places.
func (c *ArticleConnection) Nodes() []*redisrepo.Article {
	nodes := make([]*redisrepo.Article, len(c.Edges))
	for i, edge := range c.Edges {
		nodes[i] = edge.Node
	}
	return nodes
}

// GroupConnection is a part of the list of groups.
type GroupConnection struct {
	Edges    []*GroupEdge
	PageInfo redisrepo.PageInfo
}

// GroupEdge is a group and its place in the list.
type GroupEdge struct {
	Cursor string
	Node   *redisrepo.Group
}

// Nodes are the groups without their places.
func (c *GroupConnection) Nodes() []*redisrepo.Group {
	nodes := make([]*redisrepo.Group, len(c.Edges))
	for i, edge := range c.Edges {
		nodes[i] = edge.Node
	}
	return nodes
}

func span(first *int32, after *string, last *int32, before *string) redisrepo.PageRequest {
	return redisrepo.PageRequest{First: asInt(first), After: after, Last: asInt(last), Before: before}
}

// walk answers a part of a listing. What is not asked for is not read: neither
// the articles for their cursors, nor the listing for its total.
func (r *Resolver) walk(ctx context.Context, l redisrepo.Listing, s redisrepo.PageRequest) (*ArticleConnection, error) {
	c := &ArticleConnection{listing: l}
	reads := selected(ctx, "ArticleConnection.edges") || selected(ctx, "ArticleConnection.nodes")
	if !reads && !selected(ctx, "ArticleConnection.pageInfo") {
		return c, r.repo.CheckPage(l, s)
	}
	edges, info, err := r.repo.Walk(ctx, l, s)
	if err != nil {
		return nil, err
	}
	c.PageInfo = info
	if !reads {
		return c, nil
	}
	ids := make([]redisrepo.ArticleID, len(edges))
	for i, edge := range edges {
		ids[i] = edge.ID
	}
	articles, err := r.loadAll(ctx, ids)
	if err != nil {
		return nil, err
	}
	c.Edges = make([]*ArticleEdge, 0, len(edges))
	for i, article := range articles {
		if article != nil {
			c.Edges = append(c.Edges, &ArticleEdge{Cursor: edges[i].Cursor, Node: article})
		}
	}
	return c, nil
}

// walkGroups answers a part of the list of groups.
func (r *Resolver) walkGroups(ctx context.Context, s redisrepo.PageRequest) (*GroupConnection, error) {
	edges, info, err := r.repo.Groups(ctx, s)
	if err != nil {
		return nil, err
	}
	names := make([]redisrepo.GroupName, len(edges))
	for i, edge := range edges {
		names[i] = edge.Name
	}
	counted := selected(ctx, "GroupConnection.nodes", "Group.articleCount") ||
		selected(ctx, "GroupConnection.edges", "GroupEdge.node", "Group.articleCount")
	groups, err := r.groups(ctx, names, counted)
	if err != nil {
		return nil, err
	}
	c := &GroupConnection{PageInfo: info, Edges: make([]*GroupEdge, len(edges))}
	for i, edge := range edges {
		c.Edges[i] = &GroupEdge{Cursor: edge.Cursor, Node: groups[i]}
	}
	return c, nil
}
