package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// DeletedConnection is a page of the deleted articles.
type DeletedConnection struct {
	Edges    []*DeletedEdge
	PageInfo site.PageInfo
}

// DeletedEdge is a deleted article and its position in the list.
type DeletedEdge struct {
	Cursor  string
	Article *site.Article
}

// deletedItems returns a page of the deleted articles to moderators. One that was restored meanwhile is left out.
func (r *Resolver) deletedItems(ctx context.Context, p site.PageRequest) (*DeletedConnection, error) {
	if !endpoint.ViewerOf(ctx).Moderator {
		return nil, endpoint.Forbidden("the deleted articles are for moderators")
	}
	read, err := r.walk(ctx, lists.Deleted(), p)
	if err != nil {
		return nil, err
	}
	articles, err := r.loadForViewer(ctx, collect(read.edges, func(e lists.Edge) site.ArticleID { return e.ID }))
	if err != nil {
		return nil, err
	}
	c := &DeletedConnection{PageInfo: read.info, Edges: make([]*DeletedEdge, 0, len(articles))}
	for i, article := range articles {
		if article != nil && article.DeletedAt != nil {
			c.Edges = append(c.Edges, &DeletedEdge{read.edges[i].Cursor, article})
		}
	}
	return c, nil
}
