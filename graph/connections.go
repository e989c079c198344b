package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// ArticleConnection is a page of a list of articles.
type ArticleConnection struct {
	Edges    []*ArticleEdge
	PageInfo site.PageInfo

	listing lists.Listing
}

// ArticleEdge is an article and its position in a list.
type ArticleEdge struct {
	Cursor string
	Node   *site.Article
}

func (e *ArticleEdge) article() *site.Article { return e.Node }
func (e *ArticleEdge) cursor() *string        { return &e.Cursor }

// Nodes returns the articles without their positions.
func (c *ArticleConnection) Nodes() []*site.Article {
	return collect(c.Edges, (*ArticleEdge).article)
}

// GroupConnection is a page of the list of groups.
type GroupConnection struct {
	Edges    []*GroupEdge
	PageInfo site.PageInfo

	list lists.GroupList
}

// GroupEdge is a group and its position in the list.
type GroupEdge struct {
	Cursor string
	Node   *site.Group
}

// Nodes returns the groups without their positions.
func (c *GroupConnection) Nodes() []*site.Group {
	return collect(c.Edges, func(e *GroupEdge) *site.Group { return e.Node })
}

// collect returns a value of each element.
func collect[E, V any](elements []E, value func(E) V) []V {
	values := make([]V, len(elements))
	for i, element := range elements {
		values[i] = value(element)
	}
	return values
}

func pageRequest(first *int32, after *string, last *int32, before *string) site.PageRequest {
	return site.PageRequest{First: asInt(first), After: after, Last: asInt(last), Before: before}
}

// articlePage returns a page of a listing. It reads only what is selected: no articles if only cursors are,
// and no listing if only the total is.
func (r *Resolver) articlePage(ctx context.Context, l lists.Listing, p site.PageRequest) (*ArticleConnection, error) {
	c := &ArticleConnection{listing: l}
	reads := selected(ctx, "ArticleConnection.edges") || selected(ctx, "ArticleConnection.nodes")
	if !reads && !selected(ctx, "ArticleConnection.pageInfo") {
		return c, r.repo.CheckPage(l, p)
	}
	read, err := r.walk(ctx, l, p)
	if err != nil {
		return nil, err
	}
	c.PageInfo = read.info
	if reads {
		c.Edges, c.PageInfo, err = r.articleEdges(ctx, l, read)
	}
	return c, err
}

// articleEdges loads the articles of a page. It returns those that exist, in their order, and the page's new ends.
func (r *Resolver) articleEdges(ctx context.Context, l lists.Listing, read walked) ([]*ArticleEdge, site.PageInfo, error) {
	articles, err := r.loadAll(ctx, collect(read.edges, func(e lists.Edge) site.ArticleID { return e.ID }))
	if err != nil {
		return nil, site.PageInfo{}, err
	}
	found, info, articles := l.SortPage(read.edges, read.info, articles)
	edges := make([]*ArticleEdge, len(found))
	for i, edge := range found {
		edges[i] = &ArticleEdge{Cursor: edge.Cursor, Node: articles[i]}
	}
	return edges, info, nil
}

// looking returns a list that counts what is read of it, and a function that charges for that.
func looking(ctx context.Context, l lists.GroupList) (lists.GroupList, func()) {
	l.Looked = new(int)
	return l, func() { endpoint.Owe(ctx, *l.Looked/lookedPerPoint) }
}

// groupPage returns a page of a list of groups.
func (r *Resolver) groupPage(ctx context.Context, l lists.GroupList, p site.PageRequest) (*GroupConnection, error) {
	list, owe := looking(ctx, l)
	edges, info, err := r.repo.Groups(ctx, list, p)
	owe()
	if err != nil {
		return nil, err
	}
	c := &GroupConnection{PageInfo: info, Edges: make([]*GroupEdge, len(edges)), list: l}
	names := make([]site.GroupName, len(edges))
	for i, edge := range edges {
		names[i] = edge.Name
		c.Edges[i] = &GroupEdge{Cursor: edge.Cursor, Node: &edges[i].Group}
	}
	if l.Order == site.ByArticleCount {
		return c, nil // with the counts that it is sorted by
	}
	counted := selected(ctx, "GroupConnection.nodes", "Group.articleCount") ||
		selected(ctx, "GroupConnection.edges", "GroupEdge.node", "Group.articleCount")
	groups, err := r.groups(ctx, names, counted)
	if err != nil {
		return nil, err
	}
	for i, group := range groups {
		c.Edges[i].Node = group
	}
	return c, nil
}
