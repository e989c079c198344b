package endpoint_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"frontpage/endpoint"
	"frontpage/tests/sitetest"
)

// A variable may be null where the schema says non-null if the variable or the place has a default. That it is null is an
// error of the request, for each transport, executor and kind of operation.
func TestNullWhereItIsNotAllowedRunsNothing(t *testing.T) {
	t.Parallel()
	var executed atomic.Int64
	s := sitetest.Open(t, executions(&executed))
	s.Post("alice", "t", "go")
	before := executed.Load()
	w := s.Socket("", "X-User-ID", "bob")
	for _, query := range []string{
		`mutation($v: VoteDirection) { vote(input: {article: 1, direction: $v}) { changed } }`,
		`mutation($v: VoteDirection = UP) { a: vote(input: {article: 1}) { changed } ...f } fragment f on Mutation { vote(input: {article: 1, direction: $v}) { changed } }`,
		`mutation($v: [String!]) { vote(input: {article: 1}) { changed } post(input: {title: "t", text: "x", groups: $v}) { article { id } } }`,
		`mutation($v: String = "go") { post(input: {title: "t", text: "x", groups: ["a", $v]}) { article { id } } }`,
		`query($v: Int) { articles(page: $v) { id } }`,
		`query($v: Int) { __schema { queryType { name } } articles(page: $v) { id } }`, // by gqlgen
		`query($v: Boolean = true) { articles @include(if: $v) { id } }`,
		`query($v: Boolean = true) { articles { id ... @skip(if: $v) { title } } }`,
		`query($v: Boolean = true) { articles { ...f @include(if: $v) } } fragment f on Article { id }`,
		`query($v: Boolean = true) { __schema { queryType { name @skip(if: $v) } } }`,
		`query($v: Boolean = true) { site { name } ...f @skip(if: false) } fragment f on Query { group(name: "go") { articles @skip(if: $v) { id } } }`,
		`query($v: ID = 1) { nodes(ids: [$v]) { id } }`,
		`query($v: RankBy) { ranking(by: $v) { nodes { id } } }`,
		`query($v: RankFormula) { ranking(by: {formula: $v}) { nodes { id } } }`,
		`subscription($v: Boolean = true) { articlePosted @include(if: $v) { cursor } }`,
		`subscription($v: Boolean = true) { articlePosted { cursor node { title @include(if: $v) } } }`,
		`subscription($v: ID = 1) { articleChanged(ids: [$v]) { id } }`,
	} {
		const code = "GRAPHQL_VALIDATION_FAILED"
		body := fmt.Sprintf(`{"query":%q,"variables":{"v":null}}`, query)
		res, answer := s.PostJSON(body, "X-User-ID", "bob", "Accept", "application/graphql-response+json")
		if res.StatusCode != http.StatusUnprocessableEntity || sitetest.CodeOf(t, answer) != code || !strings.Contains(answer, `variable \"v\" is null`) || strings.Contains(answer, `"path"`) {
			t.Errorf("%s: got %d %s, want 422 %s", query, res.StatusCode, answer, code)
			continue // a subscription would go on
		}
		if res, answer := s.PostJSON(body, "X-User-ID", "bob", "Accept", "text/event-stream"); !strings.Contains(answer, code) || strings.Contains(answer, `"data"`) {
			t.Errorf("%s as an event stream: got %d %s, want %s", query, res.StatusCode, answer, code)
		}
		w.Send(`{"type":"subscribe","id":"a","payload":` + body + `}`)
		if f := w.Read(); f.Type != "error" || !strings.Contains(string(f.Payload), code) {
			t.Errorf("%s over a WebSocket: got %v, want an error %s", query, f, code)
		}
		persistedBody := fmt.Sprintf(`{"query":%q,%s,"variables":{"v":null}}`, query, persisted(hashOf(query)))
		if _, answer := s.PostJSON(persistedBody, "X-User-ID", "bob"); sitetest.CodeOf(t, answer) != code {
			t.Errorf("%s as a persisted document: got %s, want %s", query, answer, code)
		}
	}
	if n := executed.Load() - before; n != 0 {
		t.Errorf("%d operations were executed, want none", n)
	}
	s.Want("bob", `{ articles { id votes viewerVote } }`, `{"articles": [{"id": "article:1", "votes": 1, "viewerVote": "NONE"}]}`)
	s.WantNoLog()
}

// Null is accepted where the type allows it, and where @skip and @include leave the place out.
func TestNullIsAcceptedWhereItIsAllowed(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for _, query := range []string{
		`query($v: Int) { articles(pageSize: $v) { id } }`,
		`query($v: Int) { site { name } articles(page: $v) @skip(if: true) { id } }`,
		`query($v: Boolean = true) { site { name } articles @include(if: false) { id @include(if: $v) } }`,
		`query($v: Boolean = true, $w: Boolean = false) { site { name } ... @include(if: $w) { articles @skip(if: $v) { id } } }`,
	} {
		_, answer := s.PostJSON(fmt.Sprintf(`{"query":%q,"variables":{"v":null}}`, query))
		if code := sitetest.CodeOf(t, answer); code != "" {
			t.Errorf("%s: got %s, want no error", query, answer)
		}
	}
	s.WantNoLog()
}

// The default of a variable is that of the operation that runs, also in a fragment that two operations use.
func TestDefaultsAreThoseOfTheirOperation(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.Post("alice", "t")
	const document = `mutation A($d: VoteDirection) { ...f } mutation B($d: VoteDirection = DOWN) { ...f } fragment f on Mutation { vote(input: {article: 1, direction: $d}) { article { viewerVote } } }`
	for _, tt := range []struct{ operation, want string }{{"A", "UP"}, {"B", "DOWN"}, {"A", "UP"}} {
		_, body := s.PostJSON(fmt.Sprintf(`{"query":%q,"operationName":%q}`, document, tt.operation), "X-User-ID", "bob")
		if want := fmt.Sprintf(`{"data":{"vote":{"article":{"viewerVote":%q}}}}`, tt.want); body != want {
			t.Errorf("%s: got %s, want %s", tt.operation, body, want)
		}
	}
}

// A request that names no operation of its document learns which there are.
func TestUnknownOperationNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	const two = `query Front { articles { id } } query Site { site { name } }`
	many := ""
	for i := range 20 {
		many += fmt.Sprintf("query %s%d { __typename } ", strings.Repeat("x", 200), i)
	}
	for _, tt := range []struct{ query, name, want string }{
		{two, `""`, `the document has 2 operations, so operationName must be one of \"Front\", \"Site\"`},
		{two, `null`, `the document has 2 operations, so operationName must be one of \"Front\", \"Site\"`},
		{two, `"front"`, `there is no operation \"front\": the document has \"Front\", \"Site\"`},
		{two, `"` + strings.Repeat("y", 1000) + `"`, `there is no operation \"` + strings.Repeat("y", 30) + `...\": the document has \"Front\", \"Site\"`},
		{`{ __typename }`, `"Front"`, `there is no operation \"Front\": the document's only one has no name, so leave operationName out`},
		{many, `"x"`, ` and 15 more`},
		{many, `""`, ` and 15 more`},
	} {
		_, body := s.PostJSON(fmt.Sprintf(`{"query":%q,"operationName":%s}`, tt.query, tt.name))
		if !strings.Contains(body, tt.want) || len(body) > 600 || sitetest.CodeOf(t, body) != "GRAPHQL_VALIDATION_FAILED" {
			t.Errorf("%.60s with %.20s: got %s, want %s", tt.query, tt.name, body, tt.want)
		}
	}
	if _, body := s.PostJSON(`{"query":"{ __typename }","operationName":""}`); body != `{"data":{"__typename":"Query"}}` {
		t.Errorf("one operation and an empty name: got %s, want it executed", body)
	}
	hidden := sitetest.Open(t, func(o *endpoint.Options) { o.Introspection = false })
	if _, body := hidden.PostJSON(fmt.Sprintf(`{"query":%q}`, two)); !strings.Contains(body, `\"Front\", \"Site\"`) {
		t.Errorf("without introspection: got %s, want the names in the document", body)
	}
}
