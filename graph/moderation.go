package graph

import (
	"context"
	"errors"

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
	ids := collect(read.edges, func(e lists.Edge) site.ArticleID { return e.ID })
	if _, err := r.loadAll(ctx, ids); err != nil {
		return nil, err
	}
	_, errs := load(ctx, ids...) // what was loaded above
	c := &DeletedConnection{PageInfo: read.info, Edges: make([]*DeletedEdge, 0, len(ids))}
	for i, err := range errs {
		if deleted, ok := errors.AsType[site.Deleted](err); ok {
			c.Edges = append(c.Edges, &DeletedEdge{read.edges[i].Cursor, deleted.Article})
		}
	}
	return c, nil
}
