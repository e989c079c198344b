package endpoint_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

const typeEvents = "text/event-stream; charset=utf-8"

func TestEventStreamSendsEventsAndComments(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, func(o *endpoint.Options) { o.Streams.Ping = 200 * time.Millisecond })
	text := strings.Repeat("long ", 1000)
	s.Ask("alice", `mutation($t: String!) { post(input: {title: "t", text: $t}) { article { id } } }`, "t", text)
	began := time.Now()
	// An EventSource sends the same Accept. A compressed event would be held back, and could not be read here.
	e := s.Stream(`subscription { articleChanged(ids: [1]) { votes } }`, "Accept-Encoding", "gzip, zstd")
	header := e.Res.Header
	if e.Res.StatusCode != 200 || header.Get("Content-Type") != typeEvents || header.Get("Content-Encoding") != "" || header.Get("Content-Length") != "" ||
		!strings.Contains(header.Get("Cache-Control"), "no-transform") || header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("got %d %v, want an event stream without compression", e.Res.StatusCode, header)
	}
	e.Comment()
	e.Settle("1")
	for range 5 {
		n := s.VoteUp("1")
		if got := e.Votes(); got != n {
			t.Errorf("got an event of %d votes, want %d", got, n)
		}
	}
	for range 5 {
		e.Comment()
	}
	if took, least := time.Since(began), time.Duration(e.Comments-1)*200*time.Millisecond; took < least {
		t.Errorf("%d comments in %v, want at least %v", e.Comments, took, least)
	}

	large := s.Stream(`subscription { articleChanged(ids: [1]) { votes text } }`, "Accept-Encoding", "gzip, zstd")
	n := large.Settle("1")
	s.Vote("bob", "1", "DOWN")
	large.Want("next", fmt.Sprintf(`{"data":{"articleChanged":{"votes":%d,"text":%q}}}`, n-1, text))
}

// A subscription drops the variables that its events do not need. Equal requests have them in common.
func TestEqualSubscriptionsKeepTheirVariables(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.Post("alice", "t")
	for range 3 {
		s.Stream(`subscription($ids: [ID!]! = [1]) { articleChanged(ids: $ids) { votes } }`).Settle("1")
	}
}

func TestQueriesAndMutationsRunAsEventStreams(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.Post("alice", "t")
	const begin, end = ":\n\nevent: next\ndata: ", "\n\nevent: complete\ndata:\n\n"
	for _, query := range []string{`{ viewer { name } article(id: 1) { votes } }`, `{ article(id: "x") { id } }`, `{ nothing }`, `{`, `mutation { vote(input: {article: 1}) { changed } }`} {
		res, body := s.PostJSON(fmt.Sprintf(`{"query":%q}`, query), "Accept", "text/event-stream", "Accept-Encoding", "gzip")
		want := `{"data":{"vote":{"changed":true}}}`
		if !strings.HasPrefix(query, "mutation") {
			want = s.AskText("", query)
		}
		if query[0] == 'm' {
			want = strings.Replace(want, "true", "false", 1) // the caller is anonymous
		}
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != typeEvents || body != begin+want+end {
			t.Errorf("%s: got %d %v\n%s\nwant %s", query, res.StatusCode, res.Header, body, begin+want+end)
		}
	}
	const query = `{ article(id: 1) { votes } }`
	if _, body := s.Get(query, "Accept", "text/event-stream"); body != begin+`{"data":{"article":{"votes":1}}}`+end {
		t.Errorf("by GET: got %s, want the same events", body)
	}
	for _, query := range []string{query, `subscription { articlePosted { node { id } } }`} {
		res, body := s.Send("HEAD", "?query="+url.QueryEscape(query), "", "Accept", "text/event-stream")
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != typeEvents || body != "" {
			t.Errorf("by HEAD: got %d %v %q, want the header alone", res.StatusCode, res.Header, body)
		}
	}
	// A request that cannot be parsed gets a single response.
	for _, body := range []string{"x", `{"variables":{}}`} {
		if res, text := s.PostJSON(body, "Accept", "text/event-stream"); res.StatusCode != 400 || sitetest.CodeOf(t, text) != "BAD_REQUEST" {
			t.Errorf("%s: got %d %s, want 400 BAD_REQUEST", body, res.StatusCode, text)
		}
	}
}

func TestEventStreamAllowsNoMutationByGET(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	id := s.Post("alice", "t")
	for _, accept := range []string{"application/json", "application/json, text/event-stream", "text/event-stream, */*", "text/event-stream"} {
		res, body := s.Get(`mutation { vote(input: {article: 1}) { changed } }`, "Accept", accept, "X-User-ID", "bob")
		if res.StatusCode != 405 || res.Header.Get("Allow") != "POST" || !strings.Contains(body, "METHOD_NOT_ALLOWED") {
			t.Errorf("Accept %s: got %d %v %s, want 405", accept, res.StatusCode, res.Header, body)
		}
	}
	s.Want("bob", `{ article(id: 1) { id votes viewerVote } }`, `{"article": {"id": "`+id+`", "votes": 1, "viewerVote": "NONE"}}`)
}

func TestAcceptSelectsEventStreams(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	tests := []struct{ accept, query, subscription string }{
		{"text/event-stream", typeEvents, typeEvents},
		{"TEXT/Event-Stream", typeEvents, typeEvents},
		{"text/event-stream;q=0.1", typeEvents, typeEvents},
		{"application/json, text/event-stream", typeJSON, typeEvents},
		{"application/graphql-response+json, application/json, text/event-stream", typeGraphQL, typeEvents},
		{"text/event-stream, application/json", typeEvents, typeEvents},
		{"text/event-stream;q=0.5, application/json", typeJSON, typeEvents},
		{"text/event-stream, application/json;q=0.9", typeEvents, typeEvents},
		{"application/json;q=0.4, text/event-stream;q=0.5", typeEvents, typeEvents},
		{"*/*, text/event-stream", typeJSON, typeEvents},
		{"application/json, text/event-stream;q=0", typeJSON, "400"},
		{"text/event-stream;q=0", "406", "406"},
		{"application/json", typeJSON, "400"},
		{"application/graphql-response+json", typeGraphQL, "400"},
		{"*/*", typeJSON, "400"},
		{"text/*", "406", "406"},
		{"", typeJSON, "400"},
	}
	for _, tt := range tests {
		for query, want := range map[string]string{`{ __typename }`: tt.query, `subscription { articleChanged(ids: []) { id } }`: tt.subscription} {
			var header []string
			if tt.accept != "" {
				header = []string{"Accept", tt.accept}
			}
			get, body := s.Get(query, header...)
			post, _ := s.PostJSON(fmt.Sprintf(`{"query":%q}`, query), header...)
			for _, res := range []*http.Response{get, post} {
				got := res.Header.Get("Content-Type")
				if res.StatusCode != 200 {
					got = fmt.Sprint(res.StatusCode)
				}
				if got != want {
					t.Errorf("Accept %s, %s %s: got %s, want %s: %s", tt.accept, res.Request.Method, query, got, want, body)
				}
			}
			if want == "400" && sitetest.CodeOf(t, body) != "BAD_REQUEST" {
				t.Errorf("Accept %s: got %s, want BAD_REQUEST", tt.accept, body)
			}
		}
	}
}

func TestEventStreamOutlivesServerTimeouts(t *testing.T) {
	t.Parallel()
	s := sitetest.NewOn(t, func(server *http.Server) {
		server.ReadTimeout, server.WriteTimeout = 3*time.Second, 3*time.Second
	}, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) { o.Streams.Ping = 500 * time.Millisecond })
	id := s.Post("alice", "t")
	e := s.Stream(fmt.Sprintf(`subscription { articleChanged(ids: [%q]) { votes } }`, id))
	e.Settle(id)
	before := e.Comments
	for e.Comments < before+8 {
		e.Comment()
	}
	n := s.VoteUp(id)
	if got := e.Votes(); got != n {
		t.Errorf("got an event of %d votes, want %d", got, n)
	}
}

// A client that has read the beginning of a stream misses no event. The writer casts a vote while the handler
// sends that beginning.
func TestEventStreamWatchesBeforeItOpens(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.Post("alice", "t")
	ctx, cancel := context.WithTimeout(t.Context(), require.Timeout)
	defer cancel()
	query := url.Values{"query": {`subscription { articleChanged(ids: [1]) { votes } }`}}
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/query?"+query.Encode(), nil)
	req.Header.Set("Accept", "text/event-stream")
	w := &openingWriter{ResponseRecorder: httptest.NewRecorder(), opened: func() { s.VoteUp("1") }, sent: cancel}
	s.Handler.ServeHTTP(w, req)
	const want = ":\n\nid: ID\n\nevent: next\ndata: {\"data\":{\"articleChanged\":{\"votes\":2}}}\nid: ID\n\n"
	if got := regexp.MustCompile(`id: \S+`).ReplaceAllString(w.Body.String(), "id: ID"); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// openingWriter calls opened in its first write, and sent after the second.
type openingWriter struct {
	*httptest.ResponseRecorder
	opened, sent func()
	writes       int
}

func (w *openingWriter) Write(text []byte) (int, error) {
	w.writes++
	switch w.writes {
	case 1:
		w.opened()
	case 2:
		defer w.sent()
	}
	return w.ResponseRecorder.Write(text)
}

func (w *openingWriter) SetReadDeadline(time.Time) error  { return nil }
func (w *openingWriter) SetWriteDeadline(time.Time) error { return nil }
