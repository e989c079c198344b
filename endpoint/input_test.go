package endpoint_test

import (
	"net/http"
	"strings"
	"testing"

	"frontpage/redisrepo"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// gqlparser itself accepts an object as a value of a scalar or an enum.
func TestObjectAsScalarOrEnumIsRejected(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, redisrepo.DefaultRules())
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
	if log := s.Log.String(); log != "" {
		t.Errorf("got log %s, want nothing logged for client errors", log)
	}
}

func TestInvalidUTF8IsRejected(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, redisrepo.DefaultRules())
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
	s := sitetest.New(t, redistest.Start(t).Client, redisrepo.DefaultRules())
	body := s.AskText("alice", `mutation($i: PostInput!) { post(input: $i) { userErrors { code } } }`, "i", map[string]any{"title": "t", strings.Repeat("f", 60_000): 1})
	if len(body) > 2_000 {
		t.Errorf("got a response of %d bytes, want at most 2000", len(body))
	}
}

func TestVariablesHaveTheTypesOfTheirDefinitions(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, redisrepo.DefaultRules())
	for _, tt := range []struct{ query, variables, want string }{
		{`query($n: Int) { articles(page: $n) { id } }`, `{"n": 1}`, ""},
		{`query($n: Int) { articles(page: $n) { id } }`, `{"n": "1"}`, "a string is no Int"},
		{`query($n: Int) { articles(page: $n) { id } }`, `{"n": 1.5}`, "an Int is a whole number of 32 bits"},
		{`query($n: Int) { articles(page: $n) { id } }`, `{"n": 1e308}`, "an Int is a whole number of 32 bits"},
		{`query($n: Int) { articles(page: $n) { id } }`, `{"n": 3000000000}`, "an Int is a whole number of 32 bits"},
		{`query($s: String!) { user(name: $s) { id } }`, `{"s": "5"}`, ""},
		{`query($s: String!) { user(name: $s) { id } }`, `{"s": 5}`, "a number is no String"},
		{`query($i: ID!) { article(id: $i) { id } }`, `{"i": 5}`, ""},
		{`query($i: ID!) { article(id: $i) { id } }`, `{"i": "5"}`, ""},
		{`query($i: [ID!]!) { nodes(ids: $i) { id } }`, `{"i": [5, "5"]}`, ""},
		{`mutation($i: PostInput!) { post(input: $i) { article { id } } }`, `{"i": {"title": 5, "text": "x"}}`, "a number is no String"},
		{`mutation($i: PostInput!) { post(input: $i) { article { id } } }`, `{"i": {"title": "t", "text": "x", "groups": ["a", 5]}}`, "a number is no String"},
		{`mutation($g: [String!]) { post(input: {title: "t", text: "x", groups: $g}) { article { id } } }`, `{"g": [5]}`, "a number is no String"},
	} {
		_, body := s.PostJSON(`{"query":"`+strings.ReplaceAll(tt.query, `"`, `\"`)+`","variables":`+tt.variables+`}`, "X-User-ID", "alice")
		if tt.want == "" && strings.Contains(body, `"errors"`) || !strings.Contains(body, tt.want) {
			t.Errorf("%s with %s: got %s, want %q", tt.query, tt.variables, body, tt.want)
		}
	}
}
