package graph

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
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
		"Query":             {"site", "articles", "articlesConnection", "article", "articleByLink", "group", "groups", "user", "host", "node", "nodes", "ranking", "frontPage"},
		"Group":             {"articleCount", "articles", "articlesConnection", "ranking"},
		"User":              {"articlesConnection"},
		"Host":              {"articlesConnection"},
		"ArticleConnection": {"edges", "nodes", "pageInfo", "totalCount"},
		"ArticleEdge":       {"cursor", "node"},
		"GroupConnection":   {"edges", "nodes", "pageInfo", "totalCount"},
		"GroupEdge":         {"cursor", "node"},
		"RankedConnection":  {"edges", "nodes", "pageInfo", "totalCount", "asOf"},
		"RankedEdge":        {"cursor", "node", "key"},
		"Article":           {"history", "votesToReach", "bestRank", "ranks"},
		"FrontPage":         {"at", "savedAt", "edges"},
		"FrontPageEdge":     {"rank", "score", "node"},
		"BestRank":          {"rank", "at"},
		"RankAt":            {"at", "rank"},
		"ArticleVersion":    {"title", "text", "by", "until", "votesThen"},
		"Site":              {"name", "version", "rules", "signIn", "signInURL", "explorer"},
		"SiteRules":         {"voteScore", "votingWindow", "interestingVotes", "downvotes", "posterVotes", "pageSize", "editWindow", "linkWindow", "ranking", "rankCap", "halfLife"},
		"PageInfo":          {"hasPreviousPage", "hasNextPage", "startCursor", "endCursor"},
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
	switch {
	case strings.HasPrefix(name, "__"), strings.HasPrefix(typeName, "__"):
		return endpoint.OnSchema
	case slices.Contains(sameForAll[endpoint.OnArticle][typeName], name):
		return endpoint.OnArticle
	case slices.Contains(sameForAll[endpoint.OnEvent][typeName], name):
		return endpoint.OnEvent
	case slices.Contains(sameForAll[endpoint.OnStore][typeName], name):
		return endpoint.OnStore
	}
	return endpoint.OnCaller
}

// watchedBy returns how many articles a subscription with these arguments watches. The one for new articles counts
// as one.
func watchedBy(arguments map[string]any) int {
	ids, _ := arguments["ids"].([]any)
	return max(len(ids), 1)
}
