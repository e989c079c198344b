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

// Connection is a page of a list of nodes.
type Connection[N comparable, E edge[N]] struct {
	Edges    []E
	PageInfo site.PageInfo
}

// Nodes returns the nodes without their positions, and without those that are nil.
func (c *Connection[N, E]) Nodes() []N {
	return slices.DeleteFunc(site.Collect(c.Edges, E.node), func(node N) bool { return node == *new(N) })
}

// Edge is a node and its position in a list.
type Edge[N any] struct {
	Cursor string
	Node   N
}

func (e *Edge[N]) node() N         { return e.Node }
func (e *Edge[N]) cursor() *string { return &e.Cursor }

// edge is an Edge, or a struct with one and more.
type edge[N any] interface {
	node() N
	cursor() *string
}

// ArticleConnection is a page of a list of articles.
type ArticleConnection struct {
	Connection[*site.Article, *ArticleEdge]
	listing lists.Listing
}

// ArticleEdge is an article and its position in a list.
type ArticleEdge = Edge[*site.Article]

// GroupConnection is a page of the list of groups.
type GroupConnection struct {
	Connection[*site.Group, *GroupEdge]
	list lists.GroupList
}

// GroupEdge is a group and its position in the list.
type GroupEdge = Edge[*site.Group]

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

// list returns a numbered page of a listing, without the articles of users whom the viewer has blocked.
func (r *Resolver) list(ctx context.Context, l lists.Listing, page int32, size *int32) ([]*site.Article, error) {
	ids, err := endpoint.Share(ctx, r.reads, pageKey{l, page, optionalOf(size)}, func(ctx context.Context) ([]site.ArticleID, int, error) {
		ids, err := r.repo.Lists.List(ctx, l, int(page), asInt(size))
		return ids, 8 * cap(ids), err
	})
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

func asCount(n int, err error) (int32, error) {
	return int32(n), err // #nosec G115 -- article numbers end at 32 bits
}

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
	return int(*first), checkSize(*first)
}

// checkSize refuses a number of elements that is no size of a page.
func checkSize(first int32) error {
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
type CastVoteConnection = Connection[*site.Article, *CastVoteEdge]

// CastVoteEdge is a vote of a user and its position in the list.
type CastVoteEdge struct {
	ArticleEdge // without a node while the article is deleted
	At          time.Time
	Vote        site.Vote

	voter   site.UserName
	article site.ArticleID
}

func (r *articleConnectionResolver) TotalCount(ctx context.Context, obj *ArticleConnection) (int32, error) {
	return asCount(r.repo.Lists.Count(ctx, obj.listing))
}

func (r *groupConnectionResolver) TotalCount(ctx context.Context, obj *GroupConnection) (int32, error) {
	list := obj.list
	list.Looked = new(int)
	defer func() { endpoint.Owe(ctx, *list.Looked/lookedPerPoint) }()
	return asCount(r.repo.Lists.GroupCount(ctx, list))
}

func (r *groupResolver) Articles(ctx context.Context, obj *site.Group, order site.Order, direction site.Direction, page int32, pageSize *int32) ([]*site.Article, error) {
	return r.list(ctx, lists.InGroup(obj.Name, order, direction), page, pageSize)
}

func (r *groupResolver) ArticlesConnection(ctx context.Context, obj *site.Group, order site.Order, direction site.Direction, first *int32, after *string, last *int32, before *string, unvotedOnly bool) (*ArticleConnection, error) {
	return r.listedPage(ctx, lists.InGroup(obj.Name, order, direction), pageRequest(first, after, last, before), unvotedOnly)
}

func (r *hostResolver) ArticlesConnection(ctx context.Context, obj *site.Host, first *int32, after *string, last *int32, before *string) (*ArticleConnection, error) {
	return r.listedPage(ctx, lists.LinkingTo(obj.Name), pageRequest(first, after, last, before), false)
}

func (r *userResolver) ArticlesConnection(ctx context.Context, obj *site.User, first *int32, after *string, last *int32, before *string) (*ArticleConnection, error) {
	return r.articlePage(ctx, lists.PostedBy(obj.Name), pageRequest(first, after, last, before))
}

func (r *queryResolver) Articles(ctx context.Context, order site.Order, direction site.Direction, page int32, pageSize *int32) ([]*site.Article, error) {
	return r.list(ctx, lists.AllArticles(order, direction), page, pageSize)
}

func (r *queryResolver) ArticlesConnection(ctx context.Context, order site.Order, direction site.Direction, first *int32, after *string, last *int32, before *string, unvotedOnly bool) (*ArticleConnection, error) {
	return r.listedPage(ctx, lists.AllArticles(order, direction), pageRequest(first, after, last, before), unvotedOnly)
}

func (r *queryResolver) Groups(ctx context.Context, orderBy site.GroupOrder, prefix *string, contains *string, first *int32, after *string, last *int32, before *string) (*GroupConnection, error) {
	if site.Value(prefix) != "" && site.Value(contains) != "" {
		return nil, site.Refuse(site.Invalid, "contains", "contains cannot be combined with prefix: give one of them")
	}
	c := &GroupConnection{list: lists.GroupList{Order: orderBy, Prefix: site.Value(prefix), Part: site.Value(contains), Looked: new(int)}}
	edges, info, err := r.repo.Lists.Groups(ctx, c.list, pageRequest(first, after, last, before))
	endpoint.Owe(ctx, *c.list.Looked/lookedPerPoint)
	if err != nil {
		return nil, err
	}
	c.PageInfo, c.Edges = info, make([]*GroupEdge, len(edges))
	groups := make([]*site.Group, len(edges))
	for i, edge := range edges {
		groups[i] = &edges[i].Group
		c.Edges[i] = &GroupEdge{Cursor: edge.Cursor, Node: groups[i]}
	}
	counted := orderBy == site.ByName && // by the number of articles it is there
		(selected(ctx, "GroupConnection.nodes", "Group.articleCount") || selected(ctx, "GroupConnection.edges", "GroupEdge.node", "Group.articleCount"))
	return c, r.fillGroups(ctx, groups, counted)
}

func (r *queryResolver) Group(ctx context.Context, name string) (*site.Group, error) {
	parsed, err := site.ParseGroupName(name)
	if err != nil {
		return nil, err
	}
	groups, err := r.groups(ctx, []site.GroupName{parsed}, selected(ctx, "Group.articleCount"))
	if err != nil {
		return nil, err
	}
	return groups[0], nil
}

func (r *articleResolver) Groups(ctx context.Context, objs []*site.Article) ([][]*site.Group, error) {
	// The names are in the articles; a query that selects their counts costs one round trip for all of them.
	var names []site.GroupName
	for _, article := range objs {
		names = append(names, article.Groups...)
	}
	all, err := r.groups(ctx, names, selected(ctx, "Group.articleCount"))
	if err != nil {
		return nil, err
	}
	groups := make([][]*site.Group, len(objs))
	for i, article := range objs {
		groups[i], all = all[:len(article.Groups):len(article.Groups)], all[len(article.Groups):]
	}
	return groups, nil
}

func (r *duplicateLinkErrorResolver) Article(ctx context.Context, obj *DuplicateLinkError) (*site.Article, error) {
	return articleIfAny(ctx, obj.ArticleID)
}

func (r *queryResolver) Article(ctx context.Context, id string) (*site.Article, error) {
	parsed, err := site.ParseArticleID(id)
	if err != nil {
		return nil, err
	}
	loadRoots(ctx)
	found, errs := load(ctx, parsed)
	if deleted := deletedFor(ctx, errs[0]); deleted != nil {
		return deleted, nil
	}
	return ifAny(found, errs)
}

func (r *queryResolver) ArticleByLink(ctx context.Context, link string) (*site.Article, error) {
	id, err := r.repo.Articles.ArticleByLink(ctx, link)
	if id == nil || err != nil {
		return nil, err
	}
	return articleIfAny(ctx, *id)
}
