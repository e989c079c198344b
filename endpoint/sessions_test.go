package endpoint_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"frontpage/endpoint"
	"frontpage/identity"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

const siteURL = "https://news.example.org"

// sessions are those of a test, by the value of the cookie. They can be changed while the server runs.
type sessions struct {
	mu   sync.Mutex
	of   map[string]identity.Caller
	away bool
	last time.Duration // for how long an answer holds
	read int           // how often they were read
}

func newSessions() *sessions {
	return &sessions{last: time.Hour, of: map[string]identity.Caller{
		"a": {Name: "alice"}, "b": {Name: "bob"}, "m": {Name: "mod", Moderator: true}, "blank": {Name: " "},
	}}
}

func (s *sessions) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *sessions) reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read
}

func (s *sessions) find(_ context.Context, id string) (identity.Caller, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read++
	caller, found := s.of[id]
	switch {
	case s.away:
		return identity.Caller{}, errors.New("the store is away")
	case !found:
		return identity.Caller{}, identity.EndedSession()
	}
	caller.Expires = time.Now().Add(s.last)
	return caller, nil
}

func (s *sessions) verifier(t *testing.T, o identity.Options) *identity.Verifier {
	t.Helper()
	o.Sessions = &identity.Sessions{Cookie: "__Host-test", Origin: siteURL, Find: s.find}
	o.ValidName = endpoint.ValidName
	return require.Value(identity.New(t.Context(), o))(t)
}

func withSessions(t *testing.T, all *sessions, o identity.Options) *sitetest.Site {
	t.Helper()
	return sitetest.Open(t, func(options *endpoint.Options) {
		options.Identity = all.verifier(t, o)
		options.Origins = []string{"https://app.example.org"}
	})
}

func TestSessionCookieIdentifiesTheViewer(t *testing.T) {
	t.Parallel()
	all := newSessions()
	s := withSessions(t, all, identity.Options{Secret: string(sitetest.TokenSecret)})
	token := []string{"Authorization", "Bearer " + sitetest.Token()}
	tokenName := nameIn(t, second(s.PostJSON(`{"query":"`+whoAmI+`"}`, token...)))
	for name, tt := range map[string]struct {
		header []string
		status int
		want   string
		clears bool
	}{
		"no cookie":                      {nil, 200, "anonymous", false},
		"another cookie":                 {[]string{"Cookie", "test=a"}, 200, "anonymous", false},
		"a session":                      {[]string{"Cookie", "x=y; __Host-test=a"}, 200, "alice", false},
		"a session that ended":           {[]string{"Cookie", "__Host-test=z"}, 401, "SESSION_ENDED", true},
		"an empty cookie":                {[]string{"Cookie", "__Host-test="}, 401, "SESSION_ENDED", true},
		"a session without a valid name": {[]string{"Cookie", "__Host-test=blank"}, 401, "SESSION_ENDED", true},
		"two cookies":                    {[]string{"Cookie", "__Host-test=a; __Host-test=b"}, 401, "SESSION_ENDED", true},
		"a token beside it":              {append([]string{"Cookie", "__Host-test=a"}, token...), 200, tokenName, false},
		"a bad token beside it":          {[]string{"Cookie", "__Host-test=a", "Authorization", "Bearer x"}, 401, "TOKEN_INVALID", false},
		"acting for a user":              {[]string{"Cookie", "__Host-test=a", "X-On-Behalf-Of", "bob"}, 403, "FORBIDDEN", false},
		"the site's own page":            {[]string{"Cookie", "__Host-test=a", "Sec-Fetch-Site", "same-origin"}, 200, "alice", false},
		"its page, behind a proxy":       {[]string{"Cookie", "__Host-test=a", "Origin", siteURL}, 200, "alice", false},
		"a page of another site":         {[]string{"Cookie", "__Host-test=a", "Sec-Fetch-Site", "cross-site"}, 403, "ORIGIN_NOT_ALLOWED", false},
		"a page of another host":         {[]string{"Cookie", "__Host-test=a", "Sec-Fetch-Site", "same-site", "Origin", "https://app.example.org"}, 403, "ORIGIN_NOT_ALLOWED", false},
		"an old browser's foreign page":  {[]string{"Cookie", "__Host-test=a", "Origin", "https://evil.example"}, 403, "ORIGIN_NOT_ALLOWED", false},
		"a foreign page with a token":    {append([]string{"Cookie", "__Host-test=a", "Sec-Fetch-Site", "cross-site"}, token...), 200, tokenName, false},
	} {
		res, body := s.PostJSON(`{"query":"`+whoAmI+`"}`, tt.header...)
		got := sitetest.CodeOf(t, body)
		if got == "" {
			got = nameIn(t, body)
		}
		cleared := strings.HasPrefix(res.Header.Get("Set-Cookie"), "__Host-test=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax")
		if res.StatusCode != tt.status || got != tt.want || cleared != tt.clears {
			t.Errorf("%s: got %d %s, cookie cleared: %t; want %d %s, %t", name, res.StatusCode, got, cleared, tt.status, tt.want, tt.clears)
		}
		if vary := res.Header.Get("Vary"); !strings.Contains(vary, "Cookie") || res.Header.Get("Cache-Control") != "private, no-store" {
			t.Errorf("%s: got Vary %q and Cache-Control %q", name, vary, res.Header.Get("Cache-Control"))
		}
	}
	all.change(func() { all.away = true })
	res, body := s.PostJSON(`{"query":"`+whoAmI+`"}`, "Cookie", "__Host-test=a")
	if got := sitetest.CodeOf(t, body); res.StatusCode != 503 || got != "UNAVAILABLE" || res.Header.Get("Retry-After") == "" {
		t.Errorf("a session that cannot be read: got %d %s, want 503 UNAVAILABLE", res.StatusCode, got)
	}
}

func TestWithoutTokensAnAuthorizationIsRefused(t *testing.T) {
	t.Parallel()
	s := withSessions(t, newSessions(), identity.Options{})
	res, body := s.PostJSON(`{"query":"`+whoAmI+`"}`, "Authorization", "Bearer "+sitetest.Token())
	if got := sitetest.CodeOf(t, body); res.StatusCode != 401 || got != "TOKEN_INVALID" {
		t.Errorf("got %d %s, want 401 TOKEN_INVALID", res.StatusCode, got)
	}
}

// A browser sends the cookie with what a page of another site makes it send, if SameSite does not prevent that.
func TestForeignPageChangesNothing(t *testing.T) {
	t.Parallel()
	s := withSessions(t, newSessions(), identity.Options{})
	vote := func(id string) string {
		return `{"query":"mutation { vote(input: {article: \"` + id + `\", direction: UP}) { changed } }"}`
	}
	_, body := s.PostJSON(`{"query":"mutation { post(input: {title: \"t\", text: \"x\"}) { article { id } } }"}`, "Cookie", "__Host-test=a")
	if !strings.Contains(body, `"article:1"`) {
		t.Fatal(body)
	}
	foreign := []string{"Cookie", "__Host-test=b", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}
	for name, send := range map[string]func() (*http.Response, string){
		"a fetch of JSON": func() (*http.Response, string) { return s.PostJSON(vote("article:1"), foreign...) },
		"a form of text": func() (*http.Response, string) {
			return s.Send("POST", "/query", vote("article:1"), append(foreign, "Content-Type", "text/plain")...)
		},
		"a form": func() (*http.Response, string) {
			return s.Send("POST", "/query", "query=mutation", append(foreign, "Content-Type", "application/x-www-form-urlencoded")...)
		},
		"a form with a file": func() (*http.Response, string) {
			return s.Send("POST", "/query", vote("article:1"), append(foreign, "Content-Type", "multipart/form-data; boundary=x")...)
		},
		"a fetch without a type": func() (*http.Response, string) { return s.Send("POST", "/query", vote("article:1"), foreign...) },
	} {
		if res, body := send(); res.StatusCode != 403 || sitetest.CodeOf(t, body) != "ORIGIN_NOT_ALLOWED" {
			t.Errorf("%s: got %d %s, want 403 ORIGIN_NOT_ALLOWED", name, res.StatusCode, body)
		}
	}
	if res, body := s.Get(`mutation { vote(input: {article: "article:1", direction: UP}) { changed } }`, "Cookie", "__Host-test=b", "Sec-Fetch-Site", "cross-site"); res.StatusCode != 405 {
		t.Errorf("a link: got %d %s, want 405", res.StatusCode, body)
	}
	_, res, err := s.Dial(websocket.DialOptions{Subprotocols: []string{sitetest.Subprotocol}}, "Cookie", "__Host-test=b", "Origin", "https://evil.example")
	if err == nil || res == nil || res.StatusCode != 403 {
		t.Errorf("a WebSocket: got %v, %v, want 403", res, err)
	}
	_, body = s.Get(`{ article(id: "article:1") { upvotes } }`)
	if want := `{"data":{"article":{"upvotes":1}}}`; body != want {
		t.Errorf("got %s, want %s", body, want)
	}
}

func TestSessionOfAWebSocket(t *testing.T) {
	t.Parallel()
	all := newSessions()
	s := withSessions(t, all, identity.Options{Secret: string(sitetest.TokenSecret)})
	for name, tt := range map[string]struct {
		header  []string
		payload string
		want    string
	}{
		"a session":                           {[]string{"Cookie", "__Host-test=a"}, "", `{"name":"alice"}`},
		"its page":                            {[]string{"Cookie", "__Host-test=a", "Origin", s.URL}, "", `{"name":"alice"}`},
		"a page that may connect without one": {[]string{"Cookie", "__Host-test=a", "Origin", "https://app.example.org"}, "", "null"},
		"no cookie":                           {nil, "", "null"},
	} {
		w := s.Socket(tt.payload, tt.header...)
		w.Subscribe("a", whoAmI, "")
		if got, want := string(w.Read().Payload), `{"data":{"viewer":`+tt.want+`}}`; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	// The session ends between the handshake and connection_init.
	w := s.OpenSocket("Cookie", "__Host-test=b")
	all.change(func() { delete(all.of, "b") })
	w.Send(`{"type":"connection_init"}`)
	if _, how := w.ReadClose(); how.Code != 4403 || !strings.HasPrefix(how.Reason, "SESSION_ENDED: ") {
		t.Errorf("got %v, want 4403 SESSION_ENDED", how)
	}
}

func TestStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	all := newSessions()
	all.last = 50 * time.Millisecond
	s := withSessions(t, all, identity.Options{})
	for name, tt := range map[string]struct {
		cookie string
		change func()
		code   websocket.StatusCode
		reason string
	}{
		"it ends":             {"a", func() { delete(all.of, "a") }, 4403, "SESSION_ENDED: "},
		"its user has roles":  {"b", func() { all.of["b"] = identity.Caller{Name: "bob", Moderator: true} }, 1013, "UNAVAILABLE: "},
		"it is another's now": {"m", func() { all.of["m"] = identity.Caller{Name: "eve", Moderator: true} }, 1013, "UNAVAILABLE: "},
	} {
		w := s.Socket("", "Cookie", "__Host-test="+tt.cookie)
		events := s.Stream(`subscription { articlePosted { node { title } } }`, "Cookie", "__Host-test="+tt.cookie)
		events.Comment()
		asked := all.reads()
		require.Eventually(t, "the session is read again", func() bool { return all.reads() > asked+3 })
		w.Subscribe("a", whoAmI, "") // the streams go on as long as the session does
		if got := string(w.Read().Payload); !strings.Contains(got, "name") {
			t.Errorf("%s: got %s", name, got)
		}
		w.Read() // complete
		all.change(tt.change)
		if _, how := w.ReadClose(); how.Code != tt.code || !strings.HasPrefix(how.Reason, tt.reason) {
			t.Errorf("%s: got %v, want %d %s", name, how, tt.code, tt.reason)
		}
		if text, err := io.ReadAll(events.Body); err != nil || strings.Contains(string(text), "event: ") {
			t.Errorf("%s: got %q, %v, want the end of the stream", name, text, err)
		}
	}
}

func second[A, B any](_ A, b B) B { return b }
