package endpoint_test

import (
	"net/http"
	"strings"
	"testing"

	"frontpage/tests/sitetest"
)

// gqlparser itself accepts an object as a value of a scalar or an enum.
func TestObjectAsScalarOrEnumIsRejected(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for _, query := range []string{
		`{ viewer @skip(if: {}) { id } }`,
		`{ node(id: {}) { id } }`,
		`{ nodes(ids: [{}]) { id } }`,
		`{ user(name: {a: 1}) { id } }`,
		`{ articlesConnection(first: {}) { totalCount } }`,
		`{ articles(order: {}) { id } }`,
		`mutation { post(input: {title: {}, text: "x"}) { userErrors { code } } }`,
		`mutation { post(input: {title: "t", link: {}}) { userErrors { code } } }`,
	} {
		a := s.Ask("alice", query)
		if len(a.Errors) == 0 || a.Errors[0].Extensions.Code != "GRAPHQL_VALIDATION_FAILED" {
			t.Errorf("%s: got %v, want GRAPHQL_VALIDATION_FAILED", query, a)
		}
	}
	s.WantNoLog()
}

func TestInvalidUTF8IsRejected(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	res, body := s.PostJSON("{\"query\": \"{ user(name: \\\"caf\xe9\\\") { id } }\"}")
	if res.StatusCode != 415 || sitetest.CodeOf(t, body) != "UNSUPPORTED_MEDIA_TYPE" {
		t.Errorf("in a body: got %d %s, want 415 UNSUPPORTED_MEDIA_TYPE", res.StatusCode, body)
	}
	res, body = s.Send(http.MethodGet, "?query=%7Buser(name:%22caf%e9%22)%7Bid%7D%7D", "")
	if res.StatusCode != 400 || sitetest.CodeOf(t, body) != "BAD_REQUEST" {
		t.Errorf("in a query string: got %d %s, want 400 BAD_REQUEST", res.StatusCode, body)
	}
}

func TestPathsInErrorsAreCut(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	body := s.AskText("alice", `mutation($i: PostInput!) { post(input: $i) { userErrors { code } } }`, "i", map[string]any{"title": "t", strings.Repeat("f", 60_000): 1})
	if len(body) > 2_000 {
		t.Errorf("got a response of %d bytes, want at most 2000", len(body))
	}
}

func TestVariablesHaveTheTypesOfTheirDefinitions(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	const (
		page  = `query($v: Int) { articles(page: $v) { id } }`
		name  = `query($v: String!) { user(name: $v) { id } }`
		id    = `query($v: ID!) { article(id: $v) { id } }`
		ids   = `query($v: [ID!]!) { nodes(ids: $v) { id } }`
		order = `query($v: ArticleOrder!) { articles(order: $v) { id } }`
		skip  = `query($v: Boolean!) { articles { id title @skip(if: $v) } }`
		post  = `mutation($v: PostInput!) { post(input: $v) { article { id } } }`
		named = `mutation($v: [String!]) { post(input: {title: "t", text: "x", groups: $v}) { article { id } } }`
	)
	for _, tt := range []struct{ query, value, want string }{
		{page, `1`, ""},
		{page, `1.0`, ""},
		{page, `1e2`, ""},
		{page, `"1"`, `\"1\" is not of type Int: give a whole number of 32 bits`},
		{page, `1.5`, `1.5 is not of type Int: give a whole number of 32 bits`},
		{page, `1e308`, `1e308 is not of type Int`},
		{page, `1e999`, `1e999 is not of type Int`},
		{page, `3000000000`, `3000000000 is not of type Int`},
		{page, `true`, `true is not of type Int`},
		{page, `[1]`, `a list is not of type Int`},
		{page, `{"a": 1}`, `an object is not of type Int`},
		{name, `"5"`, ""},
		{name, `5`, `5 is not of type String: give a text in quotes`},
		{name, `true`, `true is not of type String`},
		{name, `["5"]`, `a list is not of type String`},
		{id, `5`, ""},
		{id, `5.0`, ""},
		{id, `"5"`, ""},
		{id, `5.5`, `5.5 is not of type ID: give a text in quotes or a whole number`},
		{id, `false`, `false is not of type ID`},
		{ids, `[5, "5"]`, ""},
		{ids, `5`, ""},
		{ids, `["5", true]`, `element 1: true is not of type ID`},
		{order, `"TIME"`, ""},
		{order, `"time"`, `\"time\" is not of type ArticleOrder: give one of its values, in upper case`},
		{order, `1`, `1 is not of type ArticleOrder`},
		{skip, `true`, ""},
		{skip, `"true"`, `\"true\" is not of type Boolean: give true or false`},
		{skip, `0`, `0 is not of type Boolean`},
		{post, `{"title": "t", "text": "x"}`, ""},
		{post, `{"title": 5, "text": "x"}`, `\"title\": 5 is not of type String`},
		{post, `{"title": "t", "text": "x", "groups": ["a", 5]}`, `\"groups\": element 1: 5 is not of type String`},
		{post, `"t"`, `\"t\" is not of type PostInput: give an object with its fields`},
		{named, `[5]`, `element 0: 5 is not of type String`},
		{named, `"go"`, ""},
	} {
		_, body := s.PostJSON(`{"query":"`+strings.ReplaceAll(tt.query, `"`, `\"`)+`","variables":{"v":`+tt.value+`}}`, "X-User-ID", "alice")
		if (tt.want == "") == strings.Contains(body, `"errors"`) || tt.want != "" && !strings.Contains(body, `"variable \"v\": `+tt.want) {
			t.Errorf("%s with %s: got %s, want %q", tt.query, tt.value, body, tt.want)
		}
	}
}
