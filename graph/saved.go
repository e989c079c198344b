package graph

import (
	"context"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/site"
)

// SaveInput names an article that the viewer saves or drops.
type SaveInput struct {
	Article site.ArticleID
	Saved   bool
}

// FollowInput names a group or a user that the viewer follows.
type FollowInput struct {
	Target    string // its global id
	Following bool
}

// FollowPayload is the result of following a group or a user.
type FollowPayload struct {
	Target     Node
	UserErrors []UserError
}

// SavedConnection is a page of the articles that the viewer has saved.
type SavedConnection = Connection[*site.Article, *SavedEdge]

// SavedEdge is an article that the viewer has saved, and its position in the list.
type SavedEdge struct {
	ArticleEdge // without a node while the article is deleted
	At          time.Time
}

// FeedConnection is a page of the articles of what the viewer follows.
type FeedConnection = Connection[*site.Article, *ArticleEdge]

func (r *mutationResolver) Save(ctx context.Context, input SaveInput) (*ArticlePayload, error) {
	payload := new(ArticlePayload)
	return payload, r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) error {
		article, err := r.asItStands(ctx, input.Article)
		if err == nil && article == nil && input.Saved {
			err = site.NoArticle(input.Article)
		}
		if err == nil {
			err = r.repo.Saved.SaveArticle(ctx, v.Name, input.Article, input.Saved)
		}
		if err == nil {
			payload.Article = article
		}
		return err
	})
}

func (r *mutationResolver) Follow(ctx context.Context, input FollowInput) (*FollowPayload, error) {
	payload := new(FollowPayload)
	return payload, r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) error {
		target, err := parseTarget(input.Target)
		if err != nil {
			return site.InField("target", err)
		}
		if err := r.repo.Saved.FollowTarget(ctx, v.Name, target, input.Following); err != nil {
			return err
		}
		nodes, err := r.targets(ctx, []saved.Target{target}, selected(ctx, "FollowPayload.target", "Group.articleCount"))
		if err == nil {
			payload.Target = nodes[0]
		}
		return err
	})
}

// parseTarget parses the global id of a group or a user.
func parseTarget(id string) (saved.Target, error) {
	switch object, err := parseNode(id); object := object.(type) {
	case site.GroupName:
		return saved.Target{Group: object}, nil
	case site.UserName:
		return saved.Target{User: object}, nil
	case nil:
		return saved.Target{}, err
	default:
		return saved.Target{}, badInput("only groups and users can be followed: their ids look like group:go or user:alice")
	}
}

// targets returns the groups and users that targets stand for, the groups with their numbers of articles if counted.
func (r *Resolver) targets(ctx context.Context, all []saved.Target, counted bool) ([]Node, error) {
	var names []site.GroupName
	for _, t := range all {
		if t.Group != "" {
			names = append(names, t.Group)
		}
	}
	groups, err := r.groups(ctx, names, counted)
	if err != nil {
		return nil, err
	}
	nodes := make([]Node, len(all))
	for i, t := range all {
		if t.Group != "" {
			nodes[i], groups = groups[0], groups[1:]
		} else {
			nodes[i] = &site.User{Name: t.User}
		}
	}
	return nodes, nil
}

// viewerFollows reports for each target whether the viewer follows it; nil for anonymous callers.
func (r *Resolver) viewerFollows(ctx context.Context, targets []saved.Target) ([]*bool, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return make([]*bool, len(targets)), nil
	}
	follows, err := r.repo.Saved.Follows(ctx, v.Name, targets)
	return pointers(follows), err
}

func (r *articleResolver) ViewerHasSaved(ctx context.Context, articles []*site.Article) ([]*bool, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return make([]*bool, len(articles)), nil
	}
	has, err := r.repo.Saved.HasSaved(ctx, v.Name, site.Collect(articles, func(a *site.Article) site.ArticleID { return a.ID }))
	return pointers(has), err
}

func pointers(values []bool) []*bool {
	return site.Collect(values, func(value bool) *bool { return &value })
}

func (r *queryResolver) ViewerSaved(ctx context.Context, first *int32, after *string) (*SavedConnection, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return nil, endpoint.Unauthenticated("sign in to list what you have saved")
	}
	found, info, err := r.repo.Saved.SavedArticles(ctx, v.Name, asInt(first), after)
	if err != nil {
		return nil, err
	}
	c := &SavedConnection{PageInfo: info, Edges: site.Collect(found, func(a saved.Article) *SavedEdge { return &SavedEdge{ArticleEdge{Cursor: a.Cursor}, a.At} })}
	if !selected(ctx, "SavedConnection.nodes") && !selected(ctx, "SavedConnection.edges", "SavedEdge.node") {
		return c, nil
	}
	articles, err := r.loadAll(ctx, site.Collect(found, func(a saved.Article) site.ArticleID { return a.ID }))
	for i, article := range articles {
		c.Edges[i].Node = article
	}
	return c, err
}

func (r *queryResolver) ViewerFollowing(ctx context.Context) ([]Node, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return nil, endpoint.Unauthenticated("sign in to list what you follow")
	}
	followed, err := r.repo.Saved.Following(ctx, v.Name)
	if err != nil {
		return nil, err
	}
	return r.targets(ctx, site.Collect(followed, func(f saved.Followed) saved.Target { return f.Target }), selected(ctx, "Group.articleCount"))
}

// ViewerFeed returns a page of the articles of what the viewer follows, without those of users whom the viewer has blocked.
func (r *queryResolver) ViewerFeed(ctx context.Context, first *int32, after *string) (*FeedConnection, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return nil, endpoint.Unauthenticated("sign in to read what you follow")
	}
	leaves, err := r.leaves(ctx, false)
	if err != nil {
		return nil, err
	}
	size := asInt(first)
	read := func() ([]*ArticleEdge, site.PageInfo, error) {
		found, info, looked, err := r.repo.Saved.Feed(ctx, v.Name, size, after)
		endpoint.Owe(ctx, looked/lookedPerPoint)
		if err != nil {
			return nil, info, err
		}
		articles, err := r.loadAll(ctx, site.Collect(found, func(e lists.Edge) site.ArticleID { return e.ID }))
		if err != nil {
			return nil, info, err
		}
		edges := make([]*ArticleEdge, 0, len(found))
		for i, article := range articles {
			if article != nil { // else it was deleted meanwhile
				edges = append(edges, &ArticleEdge{Cursor: found[i].Cursor, Node: article})
			}
		}
		return edges, info, nil
	}
	c := new(FeedConnection)
	if len(leaves.posters) == 0 {
		c.Edges, c.PageInfo, err = read()
	} else {
		c.Edges, c.PageInfo, err = partialEdges(ctx, r.Resolver, leaves, size, &after, read)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (r *groupResolver) ViewerFollows(ctx context.Context, objs []*site.Group) ([]*bool, error) {
	return r.viewerFollows(ctx, site.Collect(objs, func(g *site.Group) saved.Target { return saved.Target{Group: g.Name} }))
}

func (r *userResolver) ViewerFollows(ctx context.Context, objs []*site.User) ([]*bool, error) {
	return r.viewerFollows(ctx, site.Collect(objs, func(u *site.User) saved.Target { return saved.Target{User: u.Name} }))
}
