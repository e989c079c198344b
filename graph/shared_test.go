package graph_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/sitetest"
)

// ofCaller are the fields of queries that depend on the caller.
var ofCaller = []string{"Query.viewer", "Query.viewerVotes", "Query.rateLimit", "Query.moderationLog", "Query.deletedItems", "Query.events", "User.isModerator", "Article.viewerVote", "Article.viewerCanVote", "Article.viewerCanEdit", "Article.viewerCanDelete", "Article.viewerCanRegroup", "Article.removal", "Event.removal", "Article.openReports",
	"Query.viewerReports", "Query.flagged", "Query.notice", "Query.deniedUsers", "Query.deniedHosts", "Query.viewerBlocks", "User.denial", "User.viewerHasBlocked", "Query.moderationActions", "Query.voteRings", "Query.webhooks", "Query.viewerExport", "User.votesCast", "Article.voters", "Article.viewerVoid",
	"Query.search", "Query.similarArticles", "Query.viewerSaved", "Query.viewerFollowing", "Query.viewerFeed", "Article.viewerHasSaved", "Group.viewerFollows", "Group.viewerCanPost", "User.viewerFollows"}

// selection selects all fields of a type to a depth, except those that depend on the caller.
func selection(definition *ast.Definition, depth int) string {
	if definition.IsLeafType() {
		return ""
	}
	arguments := map[string]string{"article": `(id: 2)`, "articleByLink": `(link: "https://go.dev")`, "user": `(name: "alice")`, "host": `(name: "example.com")`, "frontPage": `(at: "2026-03-01T12:00:00.000Z")`, "group": `(name: "go")`, "node": `(id: "article:1")`, "nodes": `(ids: ["2", "group:go", "user:bob"])`}
	fields := []string{"__typename"}
	for _, field := range definition.Fields {
		child := graph.Schema().Types[field.Type.Name()]
		if strings.HasPrefix(field.Name, "__") || slices.Contains(ofCaller, definition.Name+"."+field.Name) || !child.IsLeafType() && depth <= 0 {
			continue
		}
		selected := field.Name + selection(child, depth-1)
		if definition.Name == "Query" {
			selected = field.Name + arguments[field.Name] + selection(child, depth-1)
		}
		if definition.Name == "Article" && field.Name == "votesToReach" {
			selected += `(rank: 1)`
		}
		fields = append(fields, selected)
	}
	for _, name := range []string{"Article", "Group", "User", "Host"} {
		if definition.Name == "Node" {
			fields = append(fields, "... on "+name+selection(graph.Schema().Types[name], depth-1))
		}
	}
	return " { " + strings.Join(fields, " ") + " }"
}

// Every field of the schema, now and later, is either the same for all callers, and cacheable, or one of those above.
func TestSharedFieldsAreTheSameForAllCallers(t *testing.T) {
	t.Parallel()
	rules := site.DefaultRules()
	rules.GroupTop = true
	s := sitetest.New(t, redistest.Start(t).Client, rules, func(o *endpoint.Options) {
		o.Limits.Cost, o.Limits.Fields, o.Limits.Tokens, o.BodyLimit = 1<<30, 10_000, 100_000, 1<<20
	})
	s.PostMany("alice", 3, "go", "web")
	s.Vote("bob", "article:2", "UP")
	query := selection(graph.Schema().Query, 4)
	answers := map[string]bool{}
	for _, header := range [][]string{{}, {"X-User-ID", "alice"}, {"X-User-ID", "bob"}, {"X-User-ID", "mod", "X-User-Roles", "moderator"}} {
		res, body := s.Get(query, header...)
		answers[body] = true
		if public := strings.HasPrefix(res.Header.Get("Cache-Control"), "public"); public != (len(header) == 0) || !strings.HasPrefix(body, `{"data":`) {
			t.Errorf("%v: got %q and %.300s, want data, and for an anonymous caller a public answer: is a new field in no list?", header, res.Header.Get("Cache-Control"), body)
		}
	}
	if len(answers) != 1 {
		t.Errorf("got %d different answers to %s, want the same one for all callers", len(answers), query)
	}
	for _, field := range ofCaller {
		typeName, name, _ := strings.Cut(field, ".")
		selected := name + selection(graph.Schema().Types[graph.Schema().Types[typeName].Fields.ForName(name).Type.Name()], 0)
		if typeName == "Article" {
			selected = `articles { ` + selected + ` }`
		}
		for _, query := range []string{`{ ` + selected + ` }`, `{ ... { ...f } } fragment f on Query { ` + selected + ` }`} {
			if res, body := s.Send("GET", "?query="+url.QueryEscape(query), ""); res.Header.Get("Cache-Control") != "private, no-store" {
				t.Errorf("%s: got %q %s, want it private", query, res.Header.Get("Cache-Control"), body)
			}
		}
	}
}
