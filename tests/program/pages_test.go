package program_test

import (
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"frontpage/tests/require"
)

func TestSiteTellsItsSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  []string
		says string
	}{
		{nil, `{"signIn":"NAME","signInURL":null,"explorer":true,"rules":{"downvotes":true,"voteScore":432}}`},
		{
			[]string{"FRONTPAGE_JWT_SECRET=" + testSecret, "FRONTPAGE_SIGN_IN_URL=/login?to={return}", "FRONTPAGE_SERVE=site"},
			`{"signIn":"TOKEN","signInURL":"/login?to={return}","explorer":false,"rules":{"downvotes":true,"voteScore":432}}`,
		},
		{
			[]string{"FRONTPAGE_PROXY_USER_HEADER=X-User", "FRONTPAGE_TRUSTED_PROXIES=127.0.0.0/8", "FRONTPAGE_DOWNVOTES=false", "FRONTPAGE_VOTE_SCORE=100"},
			`{"signIn":"PROXY","signInURL":null,"explorer":true,"rules":{"downvotes":false,"voteScore":100}}`,
		},
	} {
		s := start(t, append([]string{"REDIS_URL=memory://"}, tt.env...)...)
		if _, got := s.post(http.DefaultClient, `{ site { signIn signInURL explorer rules { downvotes voteScore } } }`); got != `{"data":{"site":`+tt.says+`}}` {
			t.Errorf("%q: got %s, want %s", tt.env, got, tt.says)
		}
		s.Stop()
	}
}

// The endpoint has two paths, and a browser that opens one of them comes to GraphiQL.
func TestTheEndpointHasTwoPaths(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://", "FRONTPAGE_CORS_ORIGINS=https://app.example")
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	send := func(method, path, body string, header ...string) (*http.Response, string) {
		req := require.Value(http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body)))(t)
		for pair := range slices.Chunk(header, 2) {
			req.Header.Set(pair[0], pair[1])
		}
		res := require.Value(browser.Do(req))(t)
		defer func() { _ = res.Body.Close() }()
		return res, string(require.Value(io.ReadAll(res.Body))(t))
	}
	for _, tt := range []struct {
		method, query, body string
		header              []string
	}{
		{"POST", "", `{"query":"{site{name}}"}`, []string{"Content-Type", "application/json", "Origin", "https://app.example"}},
		{"POST", "", `{"query":"{site{nome}}"}`, []string{"Content-Type", "application/json"}},
		{"POST", "", strings.Repeat("x", 200_000), []string{"Content-Type", "application/json"}},
		{"POST", "", `{"query":"subscription{articlePosted{cursor} site{name}}"}`, []string{"Content-Type", "application/json", "Accept", "text/event-stream"}},
		{"POST", "", "query=x", []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"GET", "?query={site{name}}", "", nil},
		{"GET", "?query={site{name}}", "", []string{"Accept", "text/html,*/*;q=0.8"}},
		{"GET", "", "", []string{"Accept", "text/html,*/*;q=0.8"}},
		{"HEAD", "", "", []string{"Accept", "text/html"}},
		{"GET", "", "", nil},
		{"GET", "", "", []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol", "none"}},
		{"OPTIONS", "", "", []string{"Origin", "https://app.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type"}},
		{"PUT", "", "", nil},
	} {
		want, wantBody := send(tt.method, "/query"+tt.query, tt.body, tt.header...)
		got, gotBody := send(tt.method, "/graphql"+tt.query, tt.body, tt.header...)
		for _, each := range []*http.Response{want, got} {
			for _, differs := range []string{"Date", "X-Request-Id", "Traceparent"} {
				each.Header.Del(differs)
			}
		}
		if got.StatusCode != want.StatusCode || gotBody != wantBody || !reflect.DeepEqual(got.Header, want.Header) {
			t.Errorf("%s %s with %v: got %d %s %v, and at /query %d %s %v", tt.method, tt.query, tt.header, got.StatusCode, gotBody, got.Header, want.StatusCode, wantBody, want.Header)
		}
		isOpened := tt.query == "" && len(tt.header) > 1 && tt.header[0] == "Accept" && tt.method != "POST"
		if leads := got.Header.Get("Location") == "/graphiql"; leads != isOpened {
			t.Errorf("%s %s with %v leads to %q", tt.method, tt.query, tt.header, got.Header.Get("Location"))
		}
	}
	if got, _ := send("GET", "/playground", ""); got.Header.Get("Location") != "/graphiql" {
		t.Errorf("/playground leads to %q", got.Header.Get("Location"))
	}
}

// The schema is a file of the server as long as clients can read it by introspection, or the operator has it so.
func TestSchemaIsServed(t *testing.T) {
	t.Parallel()
	text := string(require.Value(os.ReadFile("../../schema.graphqls"))(t))
	for _, tt := range []struct {
		env    []string
		status int
		text   string
	}{
		{nil, 200, text}, {[]string{"FRONTPAGE_INTROSPECTION=false"}, 404, ""},
		{[]string{"FRONTPAGE_INTROSPECTION=false", "FRONTPAGE_PUBLIC_SCHEMA=true"}, 200, text},
		{[]string{"FRONTPAGE_SUBGRAPH=true"}, 200, text + "\n" + string(require.Value(os.ReadFile("../../graph/subgraph.graphqls"))(t))},
	} {
		s := start(t, append([]string{"REDIS_URL=memory://", "FRONTPAGE_SERVE=explorer"}, tt.env...)...)
		req := require.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/schema.graphqls", nil))(t)
		res, got := s.do(http.DefaultClient, req)
		if res.StatusCode != tt.status || tt.status == 200 && got != tt.text {
			t.Errorf("%q: got %d and %d bytes, want %d and the schema of %d", tt.env, res.StatusCode, len(got), tt.status, len(tt.text))
		}
		for _, path := range []string{"/", "/new", "/assets/site.js"} {
			if status := s.status(path); status != http.StatusNotFound {
				t.Errorf("without the site, %s: status %d, want 404", path, status)
			}
		}
		if req.Header.Set("If-None-Match", res.Header.Get("ETag")); tt.status == 200 {
			if res, _ := s.do(http.DefaultClient, req); res.StatusCode != http.StatusNotModified {
				t.Errorf("%q: the second time: got %d, want 304", tt.env, res.StatusCode)
			}
		}
		s.Stop()
	}
}
