package graph

import (
	"context"
	"fmt"
	"strings"

	"frontpage/redisrepo"
)

// maxNodes is the maximum number of ids in one call of nodes.
const maxNodes = 100

// nodes returns what global ids name, nil if it is missing, and reads all articles in one round trip.
func (r *Resolver) nodes(ctx context.Context, ids []string) ([]Node, error) {
	if len(ids) > maxNodes {
		return nil, badInput(fmt.Sprintf("nodes takes at most %d ids, not %d", maxNodes, len(ids)))
	}
	found := make([]Node, len(ids))
	var articles []redisrepo.ArticleID
	var names []redisrepo.GroupName
	var articleAt, groupAt []int
	for i, id := range ids {
		kind, name, _ := strings.Cut(id, ":")
		var err error
		switch kind {
		case "group":
			var group redisrepo.GroupName
			group, err = redisrepo.ParseGroupName(name)
			names, groupAt = append(names, group), append(groupAt, i)
		case "user":
			var user redisrepo.UserName
			user, err = redisrepo.ParseUserName(name)
			found[i] = &redisrepo.User{Name: user}
		default:
			var article redisrepo.ArticleID
			article, err = redisrepo.ParseArticleID(id)
			articles, articleAt = append(articles, article), append(articleAt, i)
		}
		if err != nil {
			return nil, err
		}
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
	return found, nil
}
