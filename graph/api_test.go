package graph_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/graph"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/sitetest"
)

func TestPostVoteAndRegroupReturnTheNewState(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		const fields = `id number title link text poster { id name } createdAt score votes upvotes downvotes isInteresting groups { id name articleCount } votingEndsAt viewerVote viewerCanVote revision`
		s.Want("alice", `mutation { post(input: {title: " Go 1.26 ", link: "https://go.dev/blog", groups: ["Go", "release-notes", "GO"]}) { article { `+fields+` } userErrors { code } } }`,
			`{"post": {"article": {"id": "article:1", "number": 1, "title": "Go 1.26", "link": "https://go.dev/blog", "text": null,
				"poster": {"id": "user:alice", "name": "alice"}, "createdAt": "2026-01-02T03:04:05.000Z", "score": 1767323477,
				"votes": 1, "upvotes": 1, "downvotes": 0, "isInteresting": false,
				"groups": [{"id": "group:go", "name": "go", "articleCount": 1}, {"id": "group:release-notes", "name": "release-notes", "articleCount": 1}],
				"votingEndsAt": "2026-01-09T03:04:05.000Z", "viewerVote": "UP", "viewerCanVote": true, "revision": 1}, "userErrors": []}}`)

		const vote = `mutation($d: VoteDirection!) { vote(input: {article: "article:1", direction: $d}) { article { score votes upvotes downvotes viewerVote revision } previous changed userErrors { code } } }`
		steps := []struct{ direction, want string }{
			{"UP", `{"vote": {"article": {"score": 1767323909, "votes": 2, "upvotes": 2, "downvotes": 0, "viewerVote": "UP", "revision": 2}, "previous": "NONE", "changed": true, "userErrors": []}}`},
			{"UP", `{"vote": {"article": {"score": 1767323909, "votes": 2, "upvotes": 2, "downvotes": 0, "viewerVote": "UP", "revision": 2}, "previous": "UP", "changed": false, "userErrors": []}}`},
			{"DOWN", `{"vote": {"article": {"score": 1767323045, "votes": 0, "upvotes": 1, "downvotes": 1, "viewerVote": "DOWN", "revision": 3}, "previous": "UP", "changed": true, "userErrors": []}}`},
			{"NONE", `{"vote": {"article": {"score": 1767323477, "votes": 1, "upvotes": 1, "downvotes": 0, "viewerVote": "NONE", "revision": 4}, "previous": "DOWN", "changed": true, "userErrors": []}}`},
		}
		for _, step := range steps {
			s.Want("bob", vote, step.want, "d", step.direction)
		}

		s.Want("alice", `mutation { regroup(input: {article: "1", add: ["news"], remove: ["go"]}) { article { groups { name } } userErrors { code } } }`,
			`{"regroup": {"article": {"groups": [{"name": "news"}, {"name": "release-notes"}]}, "userErrors": []}}`)
		s.Want("", `{ group(name: "NEWS") { id name articleCount articles { id } } go: group(name: "go") { articleCount articles { id } } }`,
			`{"group": {"id": "group:news", "name": "news", "articleCount": 1, "articles": [{"id": "article:1"}]}, "go": {"articleCount": 0, "articles": []}}`)
		s.Want("", `{ article(id: 1) { title viewerVote viewerCanVote } none: article(id: "article:2") { id } user(name: "zoë") { id name } viewer { id } }`,
			`{"article": {"title": "Go 1.26", "viewerVote": null, "viewerCanVote": false}, "none": null, "user": {"id": "user:zoë", "name": "zoë"}, "viewer": null}`)
		s.Want("bob", `{ viewer { id name } }`, `{"viewer": {"id": "user:bob", "name": "bob"}}`)
		if body := s.AskText("", `{ article(id: 1) { score } }`); body != `{"data":{"article":{"score":1767323477}}}` {
			t.Errorf("got %s, want the score in digits", body)
		}
	})
}

func TestListingsFollowOrderAndDirection(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		// All are posted in the same second, so that TIME has only ties. These are ordered by bytes: 10 before 9.
		for i := 1; i <= 30; i++ {
			s.Post("alice", fmt.Sprint("article ", i), "all")
		}
		s.Vote("bob", "article:7", "UP")
		s.Vote("bob", "article:8", "DOWN")
		byTime := make([]string, 30)
		for i := range byTime {
			byTime[i] = fmt.Sprintf("article:%d", i+1)
		}
		slices.Sort(byTime)
		byScore := slices.DeleteFunc(slices.Clone(byTime), func(id string) bool { return id == "article:7" || id == "article:8" })
		byScore = append(append([]string{"article:8"}, byScore...), "article:7")

		for _, order := range []string{"SCORE", "TIME"} {
			for _, direction := range []string{"ASC", "DESC"} {
				want := slices.Clone(byScore)
				if order == "TIME" {
					want = slices.Clone(byTime)
				}
				if direction == "DESC" {
					slices.Reverse(want)
				}
				arguments := fmt.Sprintf("order: %s, direction: %s", order, direction)
				var pages []string
				for page := 1; page <= 4; page++ {
					data := s.Ask("", fmt.Sprintf(`{ articles(%s, page: %d, pageSize: 12) { id } group(name: "all") { articles(%[1]s, page: %[2]d, pageSize: 12) { id } } }`, arguments, page)).Data
					ids := idsOf(data["articles"])
					if inGroup := idsOf(data["group"].(map[string]any)["articles"]); !slices.Equal(ids, inGroup) {
						t.Errorf("%s, page %d: got %v in the group of all articles, want %v as on the site", arguments, page, inGroup, ids)
					}
					pages = append(pages, ids...)
				}
				if !slices.Equal(pages, want) {
					t.Errorf("%s\n got %v\nwant %v", arguments, pages, want)
				}
			}
		}
		if ids := idsOf(s.Ask("", `{ articles { id } }`).Data["articles"]); len(ids) != 25 || ids[0] != "article:7" {
			t.Errorf("front page: got %v, want 25 articles by score", ids)
		}
	})
}

func idsOf(list any) []string {
	var ids []string
	for _, element := range list.([]any) {
		ids = append(ids, element.(map[string]any)["id"].(string))
	}
	return ids
}

// isPath reports whether a value of a type can have something at a path, in which elements of lists have their index.
func isPath(of *ast.Type, path []any) bool {
	if len(path) == 0 {
		return true
	}
	if of.Elem != nil {
		_, err := strconv.Atoi(path[0].(string))
		return err == nil && isPath(of.Elem, path[1:])
	}
	field := graph.Schema().Types[of.NamedType].Fields.ForName(path[0].(string))
	return field != nil && isPath(field.Type, path[1:])
}

func TestBrokenRulesAreUserErrors(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		s.Post("alice", "hers")
		s.Want("alice", `mutation { post(input: {title: "first", text: "x", idempotencyKey: "k"}) { article { id } } }`, `{"post": {"article": {"id": "article:2"}}}`)
		s.Want("alice", `mutation { post(input: {title: "first", text: "x", idempotencyKey: "k"}) { article { id } } }`, `{"post": {"article": {"id": "article:2"}}}`)
		long := strings.Repeat("x", 10_001)
		tests := map[string]struct{ user, mutation, want string }{
			"post, anonymous":                   {"", `post(input: {title: "t", text: "x"})`, "UNAUTHENTICATED"},
			"vote, anonymous":                   {"", `vote(input: {article: "1"})`, "UNAUTHENTICATED"},
			"regroup, anonymous":                {"", `regroup(input: {article: "1", add: ["x"]})`, "UNAUTHENTICATED"},
			"delete, anonymous":                 {"", `deleteArticle(input: {article: "1"})`, "UNAUTHENTICATED"},
			"deleting another user's article":   {"bob", `deleteArticle(input: {article: "1"})`, "FORBIDDEN article"},
			"deleting a missing article":        {"bob", `deleteArticle(input: {article: "article:99"})`, "NOT_FOUND article"},
			"an empty title":                    {"bob", `post(input: {title: " ", text: "x"})`, "INVALID title"},
			"a script as a link":                {"bob", `post(input: {title: "t", link: "javascript:alert(1)"})`, "INVALID link"},
			"a text that is too long":           {"bob", `post(input: {title: "t", text: "` + long + `"})`, "TOO_LONG text"},
			"a group without a name":            {"bob", `post(input: {title: "t", text: "x", groups: ["ok", ""]})`, "INVALID groups 1"},
			"a reserved group":                  {"bob", `post(input: {title: "t", text: "x", groups: ["Interesting"]})`, "INVALID groups 0"},
			"too many groups":                   {"bob", `post(input: {title: "t", text: "x", groups: ["a","b","c","d","e","f","g","h","i","j","k"]})`, "TOO_LONG groups"},
			"two rules at once":                 {"bob", `post(input: {title: "", link: "x"})`, "INVALID title, INVALID link"},
			"a key used for another post":       {"alice", `post(input: {title: "second", text: "x", idempotencyKey: "k"})`, "CONFLICT idempotencyKey"},
			"an empty key":                      {"bob", `post(input: {title: "t", text: "x", idempotencyKey: ""})`, "INVALID idempotencyKey"},
			"groups that cannot be left":        {"alice", `editArticle(input: {article: "1", groups: ["a", "interesting"]})`, "INVALID groups 1"},
			"a group of an edit without a name": {"alice", `editArticle(input: {article: "1", groups: ["a", "b", " "]})`, "INVALID groups 2"},
			"a reason that is too long":         {"alice", `deleteArticle(input: {article: "1", reason: "` + long[:501] + `"})`, "TOO_LONG reason"},
			"a vote on a missing article":       {"bob", `vote(input: {article: "article:99"})`, "NOT_FOUND article"},
			"regrouping a missing article":      {"bob", `regroup(input: {article: "article:99", add: ["x"]})`, "NOT_FOUND article"},
			"regrouping another user's article": {"bob", `regroup(input: {article: "1", add: ["x"]})`, "FORBIDDEN article"},
			"regrouping without groups":         {"alice", `regroup(input: {article: "1"})`, "INVALID add"},
			"ending sessions, anonymous":        {"", `endSessions(input: {name: "bob"})`, "UNAUTHENTICATED"},
			"ending another user's sessions":    {"alice", `endSessions(input: {name: "bob"})`, "FORBIDDEN name"},
			"adding and removing one group":     {"alice", `regroup(input: {article: "1", add: ["x"], remove: ["X"]})`, "INVALID remove 0"},
		}
		for name, tt := range tests {
			changed := "article { id }"
			if strings.HasPrefix(tt.mutation, "deleteArticle") {
				changed = "article: deletedId"
			}
			if strings.HasPrefix(tt.mutation, "endSessions") {
				changed = "article: user { id }"
			}
			a := s.Ask(tt.user, `mutation { `+tt.mutation+` { `+changed+` userErrors { code message field } } }`)
			for mutation, payload := range a.Data {
				input := graph.Schema().Mutation.Fields.ForName(mutation).Arguments.ForName("input").Type
				var got []string
				for _, e := range payload.(map[string]any)["userErrors"].([]any) {
					e := e.(map[string]any)
					code := e["code"].(string)
					if path, ok := e["field"].([]any); ok {
						if !isPath(input, path) {
							t.Errorf("%s: %v is not a path in %v", name, path, input)
						}
						for _, step := range path {
							code += " " + step.(string)
						}
					}
					got = append(got, code)
					if e["message"] == "" {
						t.Errorf("%s: got no message", name)
					}
				}
				shown := payload.(map[string]any)["article"] != nil
				if shown != (name == "vote, anonymous") || strings.Join(got, ", ") != tt.want {
					t.Errorf("%s: got user errors %q, want %q: %v", name, got, tt.want, payload)
				}
			}
			if len(a.Errors) > 0 || len(a.Data) != 1 {
				t.Errorf("%s: got %v, want one payload and no errors", name, a)
			}
		}
		s.Advance(7*24*time.Hour + time.Second)
		s.Want("bob", `mutation { vote(input: {article: "1"}) { article { id } previous changed userErrors { code } } }`,
			`{"vote": {"article": {"id": "article:1"}, "previous": null, "changed": false, "userErrors": [{"code": "VOTING_CLOSED"}]}}`)
	})
}

func TestInvalidArgumentsAreTopLevelErrors(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		s.Post("alice", "t")
		for query, code := range map[string]string{
			`{ articles(page: 0) { id } }`:                            "BAD_USER_INPUT",
			`{ articles(page: -1) { id } }`:                           "BAD_USER_INPUT",
			`{ articles(pageSize: 0) { id } }`:                        "BAD_USER_INPUT",
			`{ articles(pageSize: 101) { id } }`:                      "BAD_USER_INPUT",
			`{ articles(page: 3000000000) { id } }`:                   "GRAPHQL_VALIDATION_FAILED",
			`{ articles(page: 99999999999999999999) { id } }`:         "GRAPHQL_VALIDATION_FAILED",
			`{ group(name: "go") { articles(page: 0) { id } } }`:      "BAD_USER_INPUT",
			`{ group(name: "") { id } }`:                              "BAD_USER_INPUT",
			`{ group(name: "a b") { id } }`:                           "BAD_USER_INPUT",
			`{ user(name: "") { id } }`:                               "BAD_USER_INPUT",
			`{ article(id: "user:alice") { id } }`:                    "BAD_USER_INPUT",
			`{ article(id: "article:01") { id } }`:                    "BAD_USER_INPUT",
			`{ article(id: -1) { id } }`:                              "BAD_USER_INPUT",
			`mutation { vote(input: {article: "x"}) { changed } }`:    "BAD_USER_INPUT",
			`{ articles(order: BEST) { id } }`:                        "GRAPHQL_VALIDATION_FAILED",
			`{ articles { id @defer } }`:                              "GRAPHQL_VALIDATION_FAILED",
			`{ articles { id }`:                                       "GRAPHQL_PARSE_FAILED",
			`{` + strings.Repeat(" __typename", 2000) + ` }`:          "TOKEN_LIMIT_EXCEEDED",
			`query($l: URL) { article(id: 1) { id } x: articles { id`: "GRAPHQL_PARSE_FAILED",
		} {
			a := s.Ask("bob", query)
			if len(a.Errors) == 0 || a.Errors[0].Extensions.Code != code || a.Errors[0].Message == "" {
				t.Errorf("%.80s: got %v, want %s", query, a.Errors, code)
			}
		}
		a := s.Ask("bob", `mutation($l: URL) { post(input: {title: "t", link: $l}) { article { id } } }`, "l", 5)
		if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "GRAPHQL_VALIDATION_FAILED" {
			t.Errorf("a number as a URL: got %v, want GRAPHQL_VALIDATION_FAILED", a)
		}
		if a := s.Ask("\tbad", `{ viewer { id } articles { id } }`); len(a.Errors) > 0 {
			t.Errorf("blanks around a header's value: got %v, want no errors", a.Errors)
		}
		s.WantNoLog()
		a = s.Ask(strings.Repeat("u", 65), `{ articles { id } }`)
		if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "USER_NAME_INVALID" || a.Data != nil {
			t.Errorf("a name that is too long: got %v, want USER_NAME_INVALID and no data", a)
		}
	})
}

// A literal, or a variable, that its type does not have refuses the operation, however deep it is, and nothing of it runs.
func TestValuesOfAnotherTypeRunNothing(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.Post("alice", "t", "go")
	for _, tt := range []struct{ of, place, value string }{
		{"Int", `article { groups { articles(page: %s) { id } } }`, `3000000000`},
		{"Int", `article { groups { articles(page: %s) { id } } }`, `-2147483649`},
		{"Int", `article { ranks(hours: %s) { rank } }`, `99999999999999999999`},
		{"Int", `article { history(first: %s) { title } }`, `1.5`},
		{"Int", `article { history(first: %s) { title } }`, `"1"`},
		{"DateTime", `article { groups { ranking(postedAfter: %s) { nodes { id } } } }`, `"yesterday"`},
		{"DateTime", `article { groups { ranking(postedAfter: %s) { nodes { id } } } }`, `"2026-02-30T00:00:00.000Z"`},
		{"DateTime", `article { groups { ranking(postedAfter: %s) { nodes { id } } } }`, `1767323045`},
		{"DateTime", `article { groups { ranking(postedAfter: %s) { nodes { id } } } }`, `["2026-01-01T00:00:00.000Z"]`},
		{"DateTime", `article { groups { ranking(postedAfter: %s) { nodes { id } } } }`, `1e400`},
		{"Float", `article { groups { ranking(by: {formula: TOP, gravity: %s}) { nodes { id } } } }`, `1e400`},
		{"Float", `article { groups { ranking(by: {formula: TOP, gravity: %s}) { nodes { id } } } }`, `"1"`},
		{"VoteDirection", `article { voters(direction: %s) { nodes { name } } }`, `"up"`},
		{"Boolean", `article { groups { articlesConnection(unvotedOnly: %s) { nodes { id } } } }`, `1`},
	} {
		document := "mutation%s { vote(input: {article: 1}) { " + fmt.Sprintf(tt.place, "%s") + ` } post(input: {title: "u", text: "x"}) { article { id } } }`
		for query, variables := range map[string]string{
			fmt.Sprintf(document, "", tt.value):                           `{}`,
			fmt.Sprintf(document, "($v: "+tt.of+" = "+tt.value+")", "$v"): `{}`,
			fmt.Sprintf(document, "($v: "+tt.of+")", "$v"):                `{"v": ` + tt.value + `}`,
		} {
			if status, body := send(t, s, query, variables); status != 422 || sitetest.CodeOf(t, body) != "GRAPHQL_VALIDATION_FAILED" || strings.Contains(body, `"path"`) {
				t.Errorf("%s with %s: got %d %s, want 422 GRAPHQL_VALIDATION_FAILED", query, variables, status, body)
			}
		}
	}
	for _, literal := range []string{`link: 5`, `link: true`, `link: example`, `link: ["https://go.dev"]`, `link: 99999999999999999999`, `title: 5`, `groups: [5]`} {
		query := `mutation { vote(input: {article: 1}) { changed } post(input: {text: "x", ` + literal + `}) { article { id } } }`
		if status, body := send(t, s, query, `{}`); status != 422 || sitetest.CodeOf(t, body) != "GRAPHQL_VALIDATION_FAILED" {
			t.Errorf("%s: got %d %s, want 422 GRAPHQL_VALIDATION_FAILED", literal, status, body)
		}
	}
	s.Want("mod", `{ articles { id votes } article(id: 1) { viewerVote } }`, `{"articles": [{"id": "article:1", "votes": 1}], "article": {"viewerVote": "NONE"}}`)
	s.WantNoLog()
}

// The path of an error names fields of the response, never an argument.
func TestPathsLeadToFields(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.Post("alice", "t", "go")
	for query, want := range map[string]string{
		`mutation { a: vote(input: {article: "x"}) { changed } }`:                                    `["a"]`,
		`{ x: article(id: "x") { id } articles { id } }`:                                             `["x"]`,
		`{ __schema { queryType { name } } article(id: "x") { id } }`:                                `["article"]`, // by gqlgen
		`{ nodes(ids: ["1", "x"]) { id } }`:                                                          `["nodes",1]`,
		`{ articles(pageSize: 1) { groups { articles(page: 0) { id } } } }`:                          `["articles",0,"groups",0,"articles"]`,
		`mutation { vote(input: {article: 1}) { article { groups { articles(page: 0) { id } } } } }`: `["vote","article","groups",0,"articles"]`,
	} {
		if _, body := send(t, s, query, `{}`); !strings.Contains(body, `"path":`+want+`,`) {
			t.Errorf("%s: got %s, want the path %s", query, body, want)
		}
	}
}

// Each scalar of the schema is checked before an operation runs.
func TestEachScalarIsChecked(t *testing.T) {
	t.Parallel()
	for name, definition := range graph.Schema().Types {
		if definition.Kind == ast.Scalar && !definition.BuiltIn && graph.Scalars[name] == nil {
			t.Errorf("graph.Scalars lacks %s", name)
		}
	}
}

func TestPagesPastTheEndAreEmpty(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		s.Want("", `{ articles { id } group(name: "none") { articleCount articles { id } } }`, `{"articles": [], "group": {"articleCount": 0, "articles": []}}`)
		s.Post("alice", "t", "go")
		s.Want("", `{ articles(page: 2) { id } far: articles(page: 2147483647, pageSize: 100) { id } group(name: "go") { articles(page: 2) { id } } }`,
			`{"articles": [], "far": [], "group": {"articles": []}}`)
	})
}

// A refused vote shows what the article is now, after the votes before it in the same mutation, too.
func TestRefusedVoteShowsTheArticleAsItStands(t *testing.T) {
	t.Parallel()
	rules := site.DefaultRules()
	rules.Downvotes = false
	s := sitetest.New(t, redistest.Start(t).Client, rules)
	s.Post("alice", "t")
	const result = ` { article { votes viewerVote } changed userErrors { code } } `
	s.Want("bob", `mutation {
		first: vote(input: {article: 1, direction: DOWN})`+result+`
		second: vote(input: {article: 1})`+result+`
		third: vote(input: {article: 1, direction: DOWN})`+result+`
		none: vote(input: {article: 2})`+result+`}`, `{
		"first": {"article": {"votes": 1, "viewerVote": "NONE"}, "changed": false, "userErrors": [{"code": "FORBIDDEN"}]},
		"second": {"article": {"votes": 2, "viewerVote": "UP"}, "changed": true, "userErrors": []},
		"third": {"article": {"votes": 2, "viewerVote": "UP"}, "changed": false, "userErrors": [{"code": "FORBIDDEN"}]},
		"none": {"article": null, "changed": false, "userErrors": [{"code": "NOT_FOUND"}]}}`)
}
