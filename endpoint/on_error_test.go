package endpoint_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"frontpage/tests/sitetest"
)

const graphQLOnly = "application/graphql-response+json"

// Requests say what an error does to the response, over each transport. The kept response to another choice is not theirs.
func TestOnErrorIsChosenByTheRequest(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	id := s.Post("alice", "t", "go")
	const query = `{ group(name: "go") { name articlesConnection(after: "no cursor") { totalCount } } viewer { name } }`
	const inPlace = `"data":{"group":{"name":"go","articlesConnection":null},"viewer":null}`
	for range 2 { // the second time, the requests are known
		for onError, want := range map[string]string{
			``:                         `"data":{"group":null,"viewer":null}`,
			`, "onError": null`:        `"data":{"group":null,"viewer":null}`,
			`, "onError": "PROPAGATE"`: `"data":{"group":null,"viewer":null}`,
			`, "onError": "NULL"`:      inPlace,
			`, "onError": "HALT"`:      `"data":null`,
		} {
			payload := fmt.Sprintf(`{"query": %q%s}`, query, onError)
			res, body := s.PostJSON(payload, "Accept", graphQLOnly)
			if !strings.Contains(body, want) || strings.Count(body, `"message"`) != 1 || res.StatusCode != 294 || res.Header.Get("ETag") != "" {
				t.Errorf("%s: got %d %v %s, want 294, one error and %s", onError, res.StatusCode, res.Header, body, want)
			}
			w := s.Socket("")
			w.Send(`{"type":"subscribe","id":"a","payload":` + payload + `}`)
			if m := w.Read(); !strings.Contains(string(m.Payload), want) {
				t.Errorf("%s over a WebSocket: got %s, want %s", onError, m.Payload, want)
			}
		}
		_, body := s.Send("GET", "?onError=NULL&query="+url.QueryEscape(query), "")
		if !strings.Contains(body, inPlace) {
			t.Errorf("by GET: got %s, want %s", body, inPlace)
		}
	}

	// HALT ends a mutation at its first error. What was done before stays done.
	_, body := s.PostJSON(fmt.Sprintf(`{"onError": "HALT", "query": "mutation { a: vote(input: {article: \"%s\"}) { changed } b: vote(input: {article: \"nonsense\"}) { changed } c: vote(input: {article: \"%s\", direction: NONE}) { changed } }"}`, id, id), "X-User-ID", "bob")
	if want := `"path":["b"]`; !strings.Contains(body, want) || !strings.Contains(body, `"data":null`) || strings.Count(body, `"message"`) != 1 {
		t.Errorf("got %s, want no data, and one error with %s", body, want)
	}
	s.Want("bob", `{ article(id: 1) { viewerVote votes } }`, `{"article":{"viewerVote":"UP","votes":2}}`)
	s.Want("bob", `mutation { vote(input: {article: 1, direction: NONE}) { changed } }`, `{"vote":{"changed":true}}`)
}

func TestOnErrorThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for _, tt := range []struct{ body, message string }{
		{`{"query": "{ __typename }", "onError": "null"}`, "onError is NULL, PROPAGATE or HALT"},
		{`{"query": "{ __typename }", "onError": "NONSENSE"}`, "onError is NULL, PROPAGATE or HALT"},
		{`{"query": "{ __typename }", "onError": 5}`, "of the right types"},
		{`{"query": "{ __typename }", "onError": {}}`, "of the right types"},
		{`{"query": "{ __typename __schema { description } }", "onError": "NULL"}`, ""}, // nothing in it can fail
		{`{"query": "{ viewer { id } __schema { description } }", "onError": "NULL"}`, "in an operation of their own"},
		{`{"query": "{ viewer { id } __schema { description } }", "onError": "PROPAGATE"}`, ""},
	} {
		for accept, want := range map[string]int{graphQLOnly: 422, "application/json": 400} {
			if tt.message == "" {
				want = 200
			}
			if res, body := s.PostJSON(tt.body, "Accept", accept); res.StatusCode != want || !strings.Contains(body, tt.message) {
				t.Errorf("%s as %s: got %d %s, want %d %s", tt.body, accept, res.StatusCode, body, want, tt.message)
			}
		}
	}
	w := s.Socket("")
	w.Send(`{"type":"subscribe","id":"a","payload":{"query":"{ __typename }","onError":"NONSENSE"}}`)
	if _, closed := w.ReadClose(); !strings.Contains(closed.Reason, "onError is NULL") {
		t.Errorf("the socket was closed with %v", closed)
	}
}

// For application/graphql-response+json the status tells requests that are not JSON, or no document, from those that are
// not well-formed or not valid; for application/json they are one.
func TestStatusOfRequestsThatDoNotRun(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for body, want := range map[string][2]int{
		`no JSON`:                     {400, 400},
		`{"query": "{"}`:              {400, 200},
		`[]`:                          {422, 400},
		`{"qeury": "{ __typename }"}`: {422, 400},
		`{"query": "{ __typename }", "variables": [7]}`:                   {422, 400},
		`{"query": "{ nothing }"}`:                                        {422, 200},
		`{"query": "query A { __typename } query B { __typename }"}`:      {422, 200},
		`{"query": "{ __typename }", "operationName": "B"}`:               {422, 200},
		`{"query": "query($n: Int!) { articles(page: $n) { id } }"}`:      {422, 200},
		`{"query": "{ ` + strings.Repeat("a: __typename ", 5000) + ` }"}`: {422, 200},
	} {
		for i, accept := range []string{graphQLOnly, "application/json"} {
			if res, text := s.PostJSON(body, "Accept", accept); res.StatusCode != want[i] {
				t.Errorf("%.80s as %s: got %d %.300s, want %d", body, accept, res.StatusCode, text, want[i])
			}
		}
	}
	for query, want := range map[string]int{"query={__typename}&variables=[7]": 422, "query={__typename}&variables={": 400, "variables={}": 422, "query=%zz": 400} {
		if res, text := s.Send("GET", "?"+query, "", "Accept", graphQLOnly); res.StatusCode != want {
			t.Errorf("%s: got %d %s, want %d", query, res.StatusCode, text, want)
		}
	}
}
