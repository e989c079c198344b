package graph

import (
	"context"

	"frontpage/redisrepo/site"
)

// groupsOf returns the groups of each article. Their names are in the article; a query that selects their
// counts costs one round trip for all of them.
func (r *Resolver) groupsOf(ctx context.Context, articles []*site.Article) ([][]*site.Group, error) {
	var names []site.GroupName
	for _, article := range articles {
		names = append(names, article.Groups...)
	}
	all, err := r.groups(ctx, names, selected(ctx, "Group.articleCount"))
	if err != nil {
		return nil, err
	}
	groups := make([][]*site.Group, len(articles))
	for i, article := range articles {
		groups[i], all = all[:len(article.Groups):len(article.Groups)], all[len(article.Groups):]
	}
	return groups, nil
}

// groups returns groups by name, with their numbers of articles if counted.
func (r *Resolver) groups(ctx context.Context, names []site.GroupName, counted bool) ([]*site.Group, error) {
	groups := make([]*site.Group, len(names))
	for i, name := range names {
		groups[i] = &site.Group{Name: name}
	}
	if len(names) == 0 || !counted {
		return groups, nil
	}
	counts, err := r.repo.ArticleCounts(ctx, names)
	if err != nil {
		return nil, err
	}
	for i, count := range counts {
		groups[i].ArticleCount = count
	}
	return groups, nil
}
