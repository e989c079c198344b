package graph

import (
	"context"
	"fmt"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"frontpage/redisrepo/site"
)

// maxNodes is the maximum number of ids in one call of nodes.
const maxNodes = 100

// nodes returns what global ids name, nil if it is missing, and reads all articles in one round trip. Unless it fails, it calls
// malformed for each id that no object can have, whose node is nil.
func (r *Resolver) nodes(ctx context.Context, ids []string, malformed func(i int, err error)) ([]Node, error) {
	found := make([]Node, len(ids))
	var articles []site.ArticleID
	var names []site.GroupName
	var articleAt, groupAt []int
	errs := make([]error, len(ids)) // of ids
	for i, id := range ids {
		object, err := parseNode(id)
		switch object := object.(type) {
		case site.ArticleID:
			articles, articleAt = append(articles, object), append(articleAt, i)
		case site.GroupName:
			names, groupAt = append(names, object), append(groupAt, i)
		case site.UserName:
			found[i] = &site.User{Name: object}
		case site.HostName:
			found[i] = &site.Host{Name: object}
		}
		errs[i] = err
	}
	loaded, err := r.loadAll(ctx, articles)
	if err != nil {
		return nil, err
	}
	for i, article := range loaded {
		if article != nil {
			found[articleAt[i]] = article
		}
	}
	groups, err := r.groups(ctx, names, selected(ctx, "Group.articleCount"))
	if err != nil {
		return nil, err
	}
	for i, group := range groups {
		found[groupAt[i]] = group
	}
	for i, err := range errs {
		if err != nil {
			malformed(i, err)
		}
	}
	return found, nil
}

// parseNode returns the ArticleID, GroupName, UserName or HostName in a global id, or an error and nil.
func parseNode(id string) (object any, err error) {
	kind, name, _ := strings.Cut(id, ":")
	switch kind {
	case "group":
		object, err = site.ParseGroupName(name)
	case "user":
		object, err = site.ParseUserName(name)
	case "host":
		object, err = site.ParseHostName(name)
	default:
		if object, err = site.ParseArticleID(id); err != nil && kind != "article" {
			err = badInput(fmt.Sprintf("nothing here has the id %.100q: ids look like article:17, group:go or user:alice", id))
		}
	}
	if err != nil {
		return nil, err
	}
	return object, nil
}

// elementFailed reports the error of an element of the current field, which is a list.
func elementFailed(ctx context.Context, index int, err error) {
	err = graphql.AddFieldLocationToError(ctx, gqlerror.WrapPath(append(graphql.GetPath(ctx), ast.PathIndex(index)), err))
	graphql.AddError(ctx, err)
}

func (r *queryResolver) Node(ctx context.Context, id string) (Node, error) {
	loadRoots(ctx)
	var malformed error
	found, err := r.nodes(ctx, []string{id}, func(_ int, err error) { malformed = err })
	if malformed != nil {
		return nil, malformed
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func (r *queryResolver) Nodes(ctx context.Context, ids []string) ([]Node, error) {
	if len(ids) > maxNodes {
		return nil, badInput(fmt.Sprintf("nodes takes at most %d ids, not %d", maxNodes, len(ids)))
	}
	return r.nodes(ctx, ids, func(i int, err error) { elementFailed(ctx, i, err) })
}
