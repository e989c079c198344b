package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/tests/sitetest"
)

func TestConnectionsPageInBothDirections(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		for i := 1; i <= 30; i++ {
			s.Post("alice", fmt.Sprint("article ", i), "all", fmt.Sprint("g", i%3))
		}
		s.Vote("bob", "article:7", "UP")
		const fields = `edges { cursor node { id } } nodes { id } pageInfo { hasPreviousPage hasNextPage startCursor endCursor } totalCount`
		for _, order := range []string{"SCORE", "TIME"} {
			for _, direction := range []string{"ASC", "DESC"} {
				arguments := fmt.Sprintf("order: %s, direction: %s", order, direction)
				want := idsOf(s.Ask("", fmt.Sprintf(`{ articles(%s, pageSize: 100) { id } }`, arguments)).Data["articles"])
				for name, list := range map[string]string{
					"site":  `{ articlesConnection(` + arguments + `, %s) { ` + fields + ` } }`,
					"group": `{ group(name: "all") { articlesConnection(` + arguments + `, %s) { ` + fields + ` } } }`,
				} {
					for _, backward := range []bool{false, true} {
						got := walk(s, list, backward, 7)
						if !slices.Equal(got, want) {
							t.Errorf("%s, %s, backward %t:\n got %v\nwant %v", name, arguments, backward, got, want)
						}
					}
				}
			}
		}
		newest := idsOf(s.Ask("", `{ articles(order: TIME, pageSize: 100) { id } }`).Data["articles"])
		if got := walk(s, `{ user(name: "alice") { articlesConnection(%s) { `+fields+` } } }`, false, 13); !slices.Equal(got, newest) {
			t.Errorf("articles of alice: got %v, want %v", got, newest)
		}
		s.Want("", `{ user(name: "bob") { articlesConnection { nodes { id } totalCount pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } } }`,
			`{"user": {"articlesConnection": {"nodes": [], "totalCount": 0, "pageInfo": {"startCursor": null, "endCursor": null, "hasNextPage": false, "hasPreviousPage": false}}}}`)
		if got := len(idsOf(s.Ask("", `{ articlesConnection { nodes { id } } }`).Data["articlesConnection"].(map[string]any)["nodes"])); got != 25 {
			t.Errorf("without first and last: got %d articles, want 25", got)
		}

		// Fields within fragments are found, too: Relay's compiler writes such queries.
		s.Want("", `query { groups(first: 2) { ...list } g: group(name: "all") { ...counted } node(id: "group:g1") { ... on Group { ...counted } } }
			fragment list on GroupConnection { totalCount edges { node { ...counted } } pageInfo { hasNextPage } }
			fragment counted on Group { name articleCount }`,
			`{"groups": {"totalCount": 4, "edges": [{"node": {"name": "all", "articleCount": 30}}, {"node": {"name": "g0", "articleCount": 10}}], "pageInfo": {"hasNextPage": true}},
				"g": {"name": "all", "articleCount": 30}, "node": {"name": "g1", "articleCount": 10}}`)
	})
}

// walk pages through a connection of 30 articles and returns their ids. query is a format for the arguments.
func walk(s *sitetest.Site, query string, backward bool, size int) []string {
	s.T.Helper()
	var all []string
	arguments := fmt.Sprintf("first: %d", size)
	if backward {
		arguments = fmt.Sprintf("last: %d", size)
	}
	next := arguments
	for {
		a := s.Ask("", fmt.Sprintf(query, next))
		if len(a.Errors) > 0 {
			s.T.Fatal(a.Errors)
		}
		data := a.Data
		for data["edges"] == nil {
			for _, inner := range data {
				data = inner.(map[string]any)
			}
		}
		var ids []string
		for _, edge := range data["edges"].([]any) {
			ids = append(ids, edge.(map[string]any)["node"].(map[string]any)["id"].(string))
		}
		if !slices.Equal(ids, idsOf(data["nodes"])) || data["totalCount"] != 30.0 {
			s.T.Errorf("got edges %v, nodes %v and the total %v, want equal ids and 30", ids, data["nodes"], data["totalCount"])
		}
		info := data["pageInfo"].(map[string]any)
		if backward {
			all = append(ids, all...)
			if !info["hasPreviousPage"].(bool) {
				return all
			}
			next = fmt.Sprintf("%s, before: %q", arguments, info["startCursor"])
			continue
		}
		all = append(all, ids...)
		if !info["hasNextPage"].(bool) {
			return all
		}
		next = fmt.Sprintf("%s, after: %q", arguments, info["endCursor"])
	}
}

func TestNodesFollowTheOrderOfIDs(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		s.Post("alice", "t", "go")
		s.Want("bob", `{ nodes(ids: ["user:zoë", "article:9", "article:1", "group:Go", "1"]) { __typename id ... on Article { title viewerVote } ... on Group { articleCount } ... on User { name } } }`,
			`{"nodes": [{"__typename": "User", "id": "user:zoë", "name": "zoë"}, null, {"__typename": "Article", "id": "article:1", "title": "t", "viewerVote": "NONE"},
				{"__typename": "Group", "id": "group:go", "articleCount": 1}, {"__typename": "Article", "id": "article:1", "title": "t", "viewerVote": "NONE"}]}`)
		s.Want("", `{ node(id: "article:1") { id } none: node(id: "article:9") { id } nodes(ids: []) { id } }`,
			`{"node": {"id": "article:1"}, "none": null, "nodes": []}`)
	})
}

func TestMalformedIDSpoilsOnlyItsNode(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		s.Post("alice", "t", "go")
		for body, want := range map[string]string{
			`{ nodes(ids: ["1", "zzz", "group:a b", "user:", "group:go"]) { id } site { name } }`: `{"errors":[` +
				`{"message":"nothing here has the id \"zzz\": ids look like article:17, group:go or user:alice","path":["nodes",1],"locations":[{"line":1,"column":3}],"extensions":{"code":"BAD_USER_INPUT"}},` +
				`{"message":"a group name has 1 to 64 letters, digits, '-', '_' or '.': \"a b\" is invalid","path":["nodes",2],"locations":[{"line":1,"column":3}],"extensions":{"code":"BAD_USER_INPUT"}},` +
				`{"message":"a user name has 1 to 64 characters, without control characters and surrounding spaces: \"\" is invalid","path":["nodes",3],"locations":[{"line":1,"column":3}],"extensions":{"code":"BAD_USER_INPUT"}}],` +
				`"data":{"nodes":[{"id":"article:1"},null,null,null,{"id":"group:go"}],"site":{"name":"Frontpage"}}}`,
			`{ node(id: "foo") { id } }`:          `{"errors":[{"message":"nothing here has the id \"foo\": ids look like article:17, group:go or user:alice","path":["node"],"locations":[{"line":1,"column":3}],"extensions":{"code":"BAD_USER_INPUT"}}],"data":{"node":null}}`,
			`{ node(id: "article:x") { id } }`:    `{"errors":[{"message":"\"article:x\" is not an article id: ids look like article:17","path":["node"],"locations":[{"line":1,"column":3}],"extensions":{"code":"BAD_USER_INPUT"}}],"data":{"node":null}}`,
			`{ n: nodes(ids: "thing:1") { id } }`: `{"errors":[{"message":"nothing here has the id \"thing:1\": ids look like article:17, group:go or user:alice","path":["n",0],"locations":[{"line":1,"column":3}],"extensions":{"code":"BAD_USER_INPUT"}}],"data":{"n":[null]}}`,
		} {
			if got := s.AskText("", body); got != want {
				t.Errorf("%s\n got %s\nwant %s", body, got, want)
			}
		}
	})
}

// Clients that begin with an empty string instead of null get the start of a list, or its end.
func TestEmptyCursorIsTheStartOfAList(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for range 3 {
		s.Post("alice", "t", "a", "b", "c")
	}
	moderate(s, deletion(1), `{"deleteArticle":{"deletedId":"article:1","userErrors":[]}}`)
	moderate(s, deletion(2), `{"deleteArticle":{"deletedId":"article:2","userErrors":[]}}`)
	s.Post("alice", "t", "a", "b", "c")
	for _, list := range []string{
		`articlesConnection(%s)`, `articlesConnection(order: TIME, direction: ASC, %s)`, `groups(%s)`, `moderationLog(%s)`,
		`group(name: "a") { articlesConnection(%s)`, `user(name: "alice") { articlesConnection(%s)`,
	} {
		read := func(arguments string) string {
			query := fmt.Sprintf(`{ list: `+list, arguments) + ` { edges { cursor } pageInfo { hasPreviousPage hasNextPage } }`
			a := as(s, "mod", "moderator", query+strings.Repeat(" }", strings.Count(list, "{")+1))
			if len(a.Errors) > 0 || a.Data["list"] == nil {
				t.Errorf("%s: got %v, want no errors", query, a)
			}
			return fmt.Sprint(a.Data["list"])
		}
		if first, empty := read(`first: 1`), read(`first: 1, after: "", before: ""`); first != empty {
			t.Errorf("%s: got %s after an empty cursor, want the start %s", list, empty, first)
		}
		if last, empty := read(`last: 1`), read(`last: 1, after: "", before: ""`); last != empty {
			t.Errorf("%s: got %s before an empty cursor, want the end %s", list, empty, last)
		}
	}
}

func TestInvalidConnectionArgumentsAreRejected(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		for range 3 {
			s.Post("alice", "t", "go")
		}
		cursorOf := func(list string) string {
			data := s.Ask("", `{ c: `+list+` { pageInfo { startCursor } } }`).Data["c"].(map[string]any)
			return data["pageInfo"].(map[string]any)["startCursor"].(string)
		}
		byScore, groups := cursorOf("articlesConnection(order: SCORE)"), cursorOf("groups")
		many := "[" // one id too many
		for range 101 {
			many += `"1",`
		}
		for _, query := range []string{
			`{ articlesConnection(first: 0) { totalCount } }`,
			`{ articlesConnection(last: -1) { nodes { id } } }`,
			`{ articlesConnection(first: 101) { nodes { id } } }`,
			`{ articlesConnection(first: 1, last: 1) { nodes { id } } }`,
			`{ articlesConnection(after: "x") { nodes { id } } }`,
			`{ articlesConnection(order: TIME, after: "` + byScore + `") { nodes { id } } }`,
			`{ articlesConnection(direction: ASC, before: "` + byScore + `") { nodes { id } } }`,
			`{ articlesConnection(after: "` + byScore[1:] + `") { nodes { id } } }`,
			`{ articlesConnection(after: "` + byScore[:len(byScore)-1] + `") { nodes { id } } }`,
			`{ group(name: "go") { articlesConnection(after: "` + byScore + `") { nodes { id } } } }`,
			`{ user(name: "alice") { articlesConnection(after: "` + byScore + `") { nodes { id } } } }`,
			`{ groups(after: "` + byScore + `") { nodes { id } } }`,
			`{ groups(first: 0) { nodes { id } } }`,
			`{ articlesConnection(after: "` + groups + `") { nodes { id } } }`,
			`{ node(id: "thing:1") { id } }`,
			`{ node(id: "group:a b") { id } }`,
			`{ nodes(ids: ` + many + `]) { id } }`,
		} {
			a := s.Ask("", query)
			if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "BAD_USER_INPUT" || a.Errors[0].Message == "" {
				t.Errorf("%.120s: got %v, want BAD_USER_INPUT", query, a)
			}
		}
	})
}

// spoiled has, for each root field of the schema that can fail, arguments with which it is refused, for an anonymous
// caller. A new field has to be added here, or to those that are never refused.
var spoiled = map[string]string{
	"Query.articles":           `(page: 0)`,
	"Query.articlesConnection": `(first: 0)`,
	"Query.article":            `(id: "x")`,
	"Query.articleByLink":      `(link: "x")`,
	"Query.group":              `(name: "a b")`,
	"Query.groups":             `(after: "x")`,
	"Query.user":               `(name: "")`,
	"Query.host":               `(name: "a b")`,
	"Query.search":             `(query: "")`,
	"Query.similarArticles":    `(title: "")`,
	"Query.node":               `(id: "x")`,
	"Query.nodes":              `(ids: ["x"])`,
	"Query.moderationLog":      ``,
	"Query.deletedItems":       ``,
	"Query.ranking":            `(first: 0)`,
	"Query.viewerVotes":        `(first: 0)`,
	"Query.events":             ``,
	"Query.viewerReports":      ``,
	"Query.flagged":            ``,
	"Mutation.post":            `(input: {title: ""})`,
	"Mutation.vote":            `(input: {article: "x"})`,
	"Mutation.regroup":         `(input: {article: "x"})`,
	"Mutation.editArticle":     `(input: {article: "x"})`,
	"Mutation.deleteArticle":   `(input: {article: "x"})`,
	"Mutation.restoreArticle":  `(input: {article: "x"})`,
	"Mutation.endSessions":     `(input: {name: " "})`,
	"Mutation.flag":            `(input: {target: "x", reason: SPAM})`,
	"Mutation.settleFlags":     `(input: {target: "x", throughReport: "x", act: DISMISS})`,

	"Mutation.notifyIllegalContent": `(input: {locations: [], explanation: "", goodFaith: false})`,
	"Mutation.describeGroup":        `(input: {group: " "})`,
	"Mutation.denyUser":             `(input: {user: " ", reason: ""})`,
	"Mutation.denyHost":             `(input: {host: " ", reason: ""})`,
	"Mutation.eraseViewer":          `(input: {confirm: "x"})`,
	"Mutation.voidVotes":            `(input: {article: "x", users: [], reason: ""})`,
	"Mutation.blockUser":            `(input: {user: " "})`,
	"Query.deniedUsers":             ``,
	"Query.moderationActions":       ``,
	"Query.voteRings":               ``,
	"Query.webhooks":                ``,
	"Mutation.addWebhook":           `(input: {url: "x"})`,
	"Mutation.changeWebhook":        `(input: {webhook: "x"})`,
	"Mutation.removeWebhook":        `(input: {webhook: "x"})`,
	"Query.deniedHosts":             ``,
	"Query.viewerBlocks":            `(first: 0)`,
	"Query.viewerSaved":             `(first: 0)`,
	"Query.viewerFeed":              `(first: 0)`,
	"Query.viewerFollowing":         ``,
	"Mutation.save":                 `(input: {article: "x"})`,
	"Mutation.follow":               `(input: {target: "x"})`,
	"Query.viewerExport":            `(after: "x")`,
}

// neverRefused are the root fields that no caller and no argument is refused.
var neverRefused = []string{"Query.publicLog", "Query.frontPage", "Query.notice", "Query.site", "Query.viewer", "Query.rateLimit"}

// leaf returns the first leaf of a type, with the fields that lead to it.
func leaf(definition *ast.Definition) string {
	for _, field := range definition.Fields {
		if child := graph.Schema().Types[field.Type.Name()]; child.IsLeafType() && len(field.Arguments) == 0 {
			return field.Name
		}
	}
	for _, field := range definition.Fields {
		if !strings.HasPrefix(field.Name, "__") {
			return field.Name + " { " + leaf(graph.Schema().Types[field.Type.Name()]) + " }"
		}
	}
	return "__typename"
}

// rootField returns a root field with arguments.
func rootField(root *ast.Definition, name, arguments string) string {
	return name + arguments + " { " + leaf(graph.Schema().Types[root.Fields.ForName(name).Type.Name()]) + " }"
}

// A root field that is refused takes nothing from the others. The test goes through all of them.
func TestNoRootFieldIsEmptiedByAnother(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.Post("alice", "t")
	witness := map[string]string{"Query": `site { name }`, "Mutation": `witness: vote(input: {article: 1, direction: UP}) { userErrors { code } }`}
	var names []string
	for _, root := range []*ast.Definition{graph.Schema().Query, graph.Schema().Mutation} {
		operation := strings.ToLower(root.Name)
		for _, field := range root.Fields {
			name := root.Name + "." + field.Name
			arguments, refused := spoiled[name]
			if strings.HasPrefix(field.Name, "__") || slices.Contains(neverRefused, name) {
				continue
			}
			names = append(names, name)
			if !refused {
				t.Errorf("%s is a new root field: with which arguments is it refused?", name)
				continue
			}
			if field.Type.NonNull {
				t.Errorf("%s is %s, want it nullable: its refusal would empty the whole answer", name, field.Type)
			}
			query := fmt.Sprintf(`%s { %s %s }`, operation, witness[root.Name], rootField(root, field.Name, arguments))
			a := s.Ask("", query)
			if a.Data["site"] == nil && a.Data["witness"] == nil {
				t.Errorf("%s\n got %v, want the other field", query, a)
			}
			if payload := a.Data[field.Name]; len(a.Errors) == 0 && (root.Name == "Query" || strings.Contains(fmt.Sprint(payload), "[]")) {
				t.Errorf("%s\n got %v, want it refused", query, a)
			}
		}
	}
	for name := range spoiled {
		if !slices.Contains(names, name) {
			t.Errorf("%s is no root field of the schema any more", name)
		}
	}
}

// The errors of several fields are in the order of the document, whichever field is done first.
func TestErrorsOfElementsAreInOrder(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, func(o *endpoint.Options) { o.SharedAnswers = 0 })
	for range 50 {
		a := s.Ask("", `{ b: nodes(ids: ["x", 1, "y"]) { id } a: nodes(ids: ["z"]) { id } c: nodes(ids: ["x"]) { id } }`)
		var paths []string
		for _, err := range a.Errors {
			paths = append(paths, fmt.Sprint(err.Path))
		}
		if got := strings.Join(paths, " "); got != "[b 0] [b 2] [a 0] [c 0]" {
			t.Fatalf("got errors at %s, want the order of the document", got)
		}
	}
}
