package graph

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
)

// sameForAll are the fields whose values are the same for all callers, by type. A field that is not listed depends on
// the caller.
var sameForAll = map[endpoint.Dependence]map[string][]string{
	endpoint.OnArticle: {
		"Subscription": {"articleChanged", "articlePosted"},
		"Article": {
			"id", "number", "title", "link", "text", "poster", "createdAt", "score", "votes", "upvotes", "downvotes",
			"isInteresting", "groups", "host", "votingEndsAt", "editedAt", "revision", "deletedAt", "rankedBy",
		},
		"User":       {"id", "name"},
		"Group":      {"id", "name"},
		"Host":       {"id", "name"},
		"Node":       {"id"},
		"RankedBy":   {"formula", "postedAt", "votesWorth"},
		"PostedEdge": {"node"},
	},
	endpoint.OnEvent: {
		"PostedEdge": {"cursor"},
	},
	endpoint.OnStore: {
		"Query":               {"site", "articles", "articlesConnection", "article", "articleByLink", "group", "groups", "user", "host", "node", "nodes", "_service", "_entities", "ranking", "frontPage", "publicLog"},
		"Group":               {"articleCount", "description", "rules", "articles", "articlesConnection", "ranking"},
		"User":                {"articlesConnection"},
		"Host":                {"articlesConnection"},
		"ArticleConnection":   {"edges", "nodes", "pageInfo", "totalCount"},
		"ArticleEdge":         {"cursor", "node"},
		"GroupConnection":     {"edges", "nodes", "pageInfo", "totalCount"},
		"GroupEdge":           {"cursor", "node"},
		"RankedConnection":    {"edges", "nodes", "pageInfo", "totalCount", "asOf"},
		"RankedEdge":          {"cursor", "node", "key"},
		"Article":             {"history", "votesToReach", "bestRank", "ranks"},
		"FrontPage":           {"at", "savedAt", "edges"},
		"FrontPageEdge":       {"rank", "score", "node"},
		"BestRank":            {"rank", "at"},
		"RankAt":              {"at", "rank"},
		"ArticleVersion":      {"title", "text", "by", "until", "votesThen"},
		"Site":                {"name", "version", "rules", "signIn", "signInURL", "explorer", "contact"},
		"PublicLogConnection": {"edges", "nodes", "pageInfo"},
		"PublicLogEdge":       {"cursor", "node"},
		"PublicLogEntry":      {"kind", "ground", "reason", "at", "title"},
		"SiteRules":           {"voteScore", "votingWindow", "interestingVotes", "downvotes", "posterVotes", "pageSize", "editWindow", "linkWindow", "ranking", "rankCap", "halfLife", "reservedGroups", "maxTitle", "maxText", "maxLink", "maxGroups", "maxGroupName", "maxSaved", "maxFollowing", "maxBlocked", "rankings", "groupRankings", "frontPages", "voteLists", "events", "webhooks", "notices", "publicLog"},
		"_Service":            {"sdl"},
		"PageInfo":            {"hasPreviousPage", "hasNextPage", "startCursor", "endCursor"},
	},
}

// dependenceOf returns what the values of a selection's fields depend on.
func dependenceOf(set ast.SelectionSet) endpoint.Dependence {
	most := endpoint.OnSchema
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			most = min(most, dependenceOfField(s.ObjectDefinition.Name, s.Name), dependenceOf(s.SelectionSet))
			if unvoted := s.Arguments.ForName("unvotedOnly"); unvoted != nil && (unvoted.Value.Kind != ast.BooleanValue || unvoted.Value.Raw != "false") { // true, or a variable
				most = endpoint.OnCaller
			}
		case *ast.InlineFragment:
			most = min(most, dependenceOf(s.SelectionSet))
		case *ast.FragmentSpread:
			most = min(most, dependenceOf(s.Definition.SelectionSet))
		}
	}
	return most
}

func dependenceOfField(typeName, name string) endpoint.Dependence {
	if strings.HasPrefix(name, "__") || strings.HasPrefix(typeName, "__") {
		return endpoint.OnSchema
	}
	for _, dependence := range []endpoint.Dependence{endpoint.OnArticle, endpoint.OnEvent, endpoint.OnStore} {
		if slices.Contains(sameForAll[dependence][typeName], name) {
			return dependence
		}
	}
	return endpoint.OnCaller
}

// watchedBy returns how many articles a subscription with these arguments watches. The one for new articles counts
// as one.
func watchedBy(arguments map[string]any) int {
	ids, _ := arguments["ids"].([]any)
	return max(len(ids), 1)
}

// The keys of shared reads.
type (
	pageKey struct {
		listing lists.Listing
		page    int32
		size    optional[int32]
	}
	walkKey struct {
		listing       lists.Listing
		first, last   optional[int]
		after, before optional[string]
	}
	rankedKey struct {
		list  rankings.RankedList
		first optional[int]
		after optional[string]
	}
	batchKey idList
)

// optional is the value of a pointer, so that equal ones are equal keys.
type optional[T comparable] struct {
	given bool
	value T
}

func optionalOf[T comparable](p *T) optional[T] {
	if p == nil {
		return optional[T]{}
	}
	return optional[T]{true, *p}
}

// walked is a page of a listing that was read by cursors.
type walked struct {
	edges []lists.Edge
	info  site.PageInfo
}

// perEdge is about how many bytes an edge takes, with its cursor.
const perEdge = 200

// walk reads a page of a listing by cursors.
func (r *Resolver) walk(ctx context.Context, l lists.Listing, p site.PageRequest) (walked, error) {
	key := walkKey{l, optionalOf(p.First), optionalOf(p.Last), optionalOf(p.After), optionalOf(p.Before)}
	return endpoint.Share(ctx, r.reads, key, func(ctx context.Context) (walked, int, error) {
		edges, info, err := r.repo.Lists.Walk(ctx, l, p)
		return walked{edges, info}, perEdge*cap(edges) + len(key.after.value) + len(key.before.value), err
	})
}

// rank reads a page of a ranking, one at a time for each response.
func (r *Resolver) rank(ctx context.Context, l rankings.RankedList, first *int, after *string) (rankings.RankedPage, error) {
	response := ctx.Value(loaderKey{}).(*loader)
	response.ranking.Lock()
	defer response.ranking.Unlock()
	key := rankedKey{l, optionalOf(first), optionalOf(after)}
	return endpoint.Share(ctx, r.reads, key, func(ctx context.Context) (rankings.RankedPage, int, error) {
		page, err := r.repo.Rankings.Rank(ctx, l, first, after)
		endpoint.Owe(ctx, page.Looked/lookedPerPoint-rankingCost)
		return page, perEdge*cap(page.Edges) + len(key.after.value), err
	})
}

// batch is articles that were read together, and their errors.
type batch struct {
	articles []*site.Article
	errs     []error
}

// articlesByID reads articles in one round trip. A batch with an error is shared only by those who wait for it.
func (r *Resolver) articlesByID(ctx context.Context, ids []site.ArticleID) ([]*site.Article, []error) {
	if !r.reads.Shares(ctx) {
		return r.repo.Articles.ArticlesByID(ctx, ids)
	}
	key := batchKey(listOf(ids))
	b, err := endpoint.Share(ctx, r.reads, key, func(ctx context.Context) (batch, int, error) {
		articles, errs := r.repo.Articles.ArticlesByID(ctx, ids)
		bytes := len(key)
		for _, a := range articles {
			if a != nil {
				bytes += a.Bytes()
			}
		}
		return batch{articles, errs}, bytes, errors.Join(errs...)
	})
	if b.errs == nil { // the caller has left while it waited
		return make([]*site.Article, len(ids)), slices.Repeat([]error{err}, len(ids))
	}
	return b.articles, b.errs
}
