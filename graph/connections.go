package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/failover"
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
	return site.Collect(c.Edges, (*ArticleEdge).article)
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
	return site.Collect(c.Edges, func(e *GroupEdge) *site.Group { return e.Node })
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
		return c, r.repo.Lists.CheckPage(l, p)
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
	articles, err := r.loadAll(ctx, site.Collect(read.edges, func(e lists.Edge) site.ArticleID { return e.ID }))
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
	edges, info, err := r.repo.Lists.Groups(ctx, list, p)
	owe()
	if err != nil {
		return nil, err
	}
	c := &GroupConnection{PageInfo: info, Edges: make([]*GroupEdge, len(edges)), list: l}
	groups := make([]*site.Group, len(edges))
	for i, edge := range edges {
		groups[i] = &edges[i].Group
		c.Edges[i] = &GroupEdge{Cursor: edge.Cursor, Node: groups[i]}
	}
	counted := l.Order == site.ByName && // by the number of articles it is there
		(selected(ctx, "GroupConnection.nodes", "Group.articleCount") || selected(ctx, "GroupConnection.edges", "GroupEdge.node", "Group.articleCount"))
	return c, r.fillGroups(ctx, groups, counted)
}

// list returns a numbered page of a listing, without the articles of users whom the viewer has blocked.
func (r *Resolver) list(ctx context.Context, l lists.Listing, page int32, size *int32) ([]*site.Article, error) {
	ids, err := r.idsOn(ctx, l, page, size)
	if err != nil {
		return nil, err
	}
	leaves, err := r.leaves(ctx, false)
	if err != nil {
		return nil, err
	}
	articles, err := r.loadAll(ctx, ids)
	articles = slices.DeleteFunc(articles, func(a *site.Article) bool { return a == nil || leaves.has(a.Poster.Name) })
	l.Sort(articles)
	return articles, err
}

// loadAll loads articles. An element is nil if its article is missing or cannot be decoded: one bad article
// must not make a page fail.
func (r *Resolver) loadAll(ctx context.Context, ids []site.ArticleID) ([]*site.Article, error) {
	articles, errs := load(ctx, ids...)
	for i, err := range errs {
		switch {
		case err == nil:
		case isRefusal(err): // deleted, or it never existed
		case errors.Is(err, failover.ErrUnavailable) || ctx.Err() != nil:
			return nil, err
		default:
			r.log.ErrorContext(ctx, "article cannot be read", "article", ids[i].String(), "err", err)
		}
	}
	return articles, nil
}

// articleIfAny returns an article, or nil if it is missing.
func articleIfAny(ctx context.Context, id site.ArticleID) (*site.Article, error) {
	return ifAny(load(ctx, id))
}

// articleForViewer returns an article, or nil if it is missing. A deleted one is there for its poster and for moderators.
func articleForViewer(ctx context.Context, id site.ArticleID) (*site.Article, error) {
	found, errs := load(ctx, id)
	if deleted := deletedFor(ctx, errs[0]); deleted != nil {
		return deleted, nil
	}
	return ifAny(found, errs)
}

// loadForViewer is loadAll with the deleted articles that are there for the viewer.
func (r *Resolver) loadForViewer(ctx context.Context, ids []site.ArticleID) ([]*site.Article, error) {
	found, err := r.loadAll(ctx, ids)
	if err != nil {
		return nil, err
	}
	_, errs := load(ctx, ids...) // of what was loaded above
	for i, err := range errs {
		found[i] = cmp.Or(found[i], deletedFor(ctx, err))
	}
	return found, nil
}

// deletedFor returns the article of a site.Deleted to its poster and to moderators, and nil to everybody else.
func deletedFor(ctx context.Context, err error) *site.Article {
	deleted, ok := errors.AsType[site.Deleted](err)
	if !ok {
		return nil
	}
	viewer := endpoint.ViewerOf(ctx)
	if viewer.Name == "" {
		endpoint.MayDiffer(ctx)
	}
	if !mayKnowWhy(viewer, deleted.Article) {
		return nil
	}
	return deleted.Article
}

// mayKnowWhy reports whether a viewer may read why an article was removed, and that it is deleted.
func mayKnowWhy(v endpoint.Viewer, a *site.Article) bool {
	return v.Moderator || v.Name != "" && v.Name == a.Poster.Name
}

// asItStands reads an article, also one that an earlier field of the same mutation has changed; nil if it does not exist.
func (r *Resolver) asItStands(ctx context.Context, id site.ArticleID) (*site.Article, error) {
	return ifAny(r.articlesByID(ctx, []site.ArticleID{id}))
}

func ifAny(articles []*site.Article, errs []error) (*site.Article, error) {
	if errs[0] != nil && isRefusal(errs[0]) {
		return nil, nil
	}
	return articles[0], errs[0]
}

func isRefusal(err error) bool { return errors.As(err, new(site.Refusal)) }

func asInt(n *int32) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}

// sizeOf returns how many elements of a list are asked for: first, or without it the usual number.
func sizeOf(first *int32, usual int) (int, error) {
	if first == nil {
		return usual, nil
	}
	return int(*first), checkSize(int(*first))
}

// checkSize refuses a number of elements that is no size of a page.
func checkSize(first int) error {
	if first < 1 || first > site.MaxPageSize {
		return badInput(fmt.Sprintf("first is between 1 and %d, not %d", site.MaxPageSize, first))
	}
	return nil
}

// groups returns groups by name, with what fillGroups reads.
func (r *Resolver) groups(ctx context.Context, names []site.GroupName, counted bool) ([]*site.Group, error) {
	groups := site.Collect(names, func(name site.GroupName) *site.Group { return &site.Group{Name: name} })
	return groups, r.fillGroups(ctx, groups, counted)
}

// fillGroups reads the numbers of articles of groups if counted, and what they are about if the query asks for it.
func (r *Resolver) fillGroups(ctx context.Context, groups []*site.Group, counted bool) error {
	if mentioned(ctx, "description", "rules") {
		if err := r.repo.Descriptions.Describe(ctx, groups); err != nil {
			return err
		}
	}
	if !counted || len(groups) == 0 {
		return nil
	}
	return r.countArticles(ctx, groups...)
}

// countArticles reads the numbers of articles of groups.
func (r *Resolver) countArticles(ctx context.Context, groups ...*site.Group) error {
	names := site.Collect(groups, func(group *site.Group) site.GroupName { return group.Name })
	counts, err := r.repo.Articles.ArticleCounts(ctx, names)
	if err != nil {
		return err
	}
	for i, group := range groups {
		group.ArticleCount = counts[i]
	}
	return nil
}

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
	nodes := site.Collect(c.Edges, func(e *CastVoteEdge) *site.Article { return e.Node })
	return slices.DeleteFunc(nodes, func(a *site.Article) bool { return a == nil })
}
