package endpoint_test

import (
	"net/http"
	"strings"
	"testing"

	"frontpage/redisrepo"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// gqlparser lets an object pass for a scalar or an enum.
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
			t.Errorf("%s: %v", query, a)
		}
	}
	if log := s.Log.String(); log != "" {
		t.Errorf("what clients get wrong is no fault of the server: %s", log)
	}
}

func TestInvalidUTF8IsRejected(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, redisrepo.DefaultRules())
	res, body := s.PostJSON("{\"query\": \"{ user(name: \\\"caf\xe9\\\") { id } }\"}")
	if res.StatusCode != 415 || sitetest.CodeOf(t, body) != "UNSUPPORTED_MEDIA_TYPE" {
		t.Errorf("a body: %d %s", res.StatusCode, body)
	}
	res, body = s.Send(http.MethodGet, "?query=%7Buser(name:%22caf%e9%22)%7Bid%7D%7D", "")
	if res.StatusCode != 400 || sitetest.CodeOf(t, body) != "BAD_REQUEST" {
		t.Errorf("a query string: %d %s", res.StatusCode, body)
	}
}

func TestPathsInErrorsAreCut(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, redisrepo.DefaultRules())
	body := s.AskText("alice", `mutation($i: PostInput!) { post(input: $i) { userErrors { code } } }`, "i", map[string]any{"title": "t", strings.Repeat("f", 60_000): 1})
	if len(body) > 2_000 {
		t.Errorf("an error of %d bytes", len(body))
	}
}
