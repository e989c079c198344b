package graph

import (
	"context"
	"strings"

	"frontpage/endpoint"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// DeletedConnection is a page of the deleted articles.
type DeletedConnection struct {
	Edges    []*DeletedEdge
	PageInfo site.PageInfo

	listing lists.Listing
}

// DeletedEdge is a deleted article and its position in the list.
type DeletedEdge struct {
	Cursor  string
	Article *site.Article
	By      string // who deleted it
}

// Nodes returns the articles without their positions.
func (c *DeletedConnection) Nodes() []*site.Article {
	return collect(c.Edges, func(e *DeletedEdge) *site.Article { return e.Article })
}

// ByUser is who deleted the article, or nil if the name stands for no user.
func (e *DeletedEdge) ByUser() *site.User { return site.UserName(e.By).User() }

// deletedItems returns a page of the deleted articles, or of those that lack a ground, to moderators. One that was restored meanwhile is
// left out.
func (r *Resolver) deletedItems(ctx context.Context, missingReason bool, p site.PageRequest) (*DeletedConnection, error) {
	if !endpoint.ViewerOf(ctx).Moderator {
		return nil, endpoint.Forbidden("the deleted articles are for moderators")
	}
	listing := lists.Deleted()
	if missingReason {
		listing = lists.Unexplained()
	}
	read, err := r.walk(ctx, listing, p)
	if err != nil {
		return nil, err
	}
	articles, err := r.loadForViewer(ctx, collect(read.edges, func(e lists.Edge) site.ArticleID { return e.ID }))
	if err != nil {
		return nil, err
	}
	c := &DeletedConnection{listing: listing, PageInfo: read.info, Edges: make([]*DeletedEdge, 0, len(articles))}
	for i, article := range articles {
		if article != nil && article.DeletedAt != nil {
			c.Edges = append(c.Edges, &DeletedEdge{read.edges[i].Cursor, article, strings.TrimSpace(string(site.Value(article.DeletedBy)))})
		}
	}
	return c, nil
}
