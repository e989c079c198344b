package pages_test

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"frontpage/site/pages"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

const blog = "https://blog.example"

func newEmbeddedSite(t *testing.T) *testSite {
	t.Helper()
	s := newSiteWith(t, pages.Options{EmbedOrigins: []string{"https://other.example", blog}})
	s.post("alice", "A <b>link</b>", "https://example.org/tides?x=1", "")
	s.post("bob", "A text", "", "text")
	return s
}

// embedVote sends a vote as the window does. header holds pairs of name and value.
func (s *testSite) embedVote(vote string, header ...string) *response {
	s.t.Helper()
	body := strings.NewReader(url.Values{"vote": {vote}}.Encode())
	req := require.Value(http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.pages.URL+"/embed/vote", body))(s.t)
	sitetest.AddHeaders(req.Header, append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...)
	return read(s.t, "/embed/vote", require.Value(s.pages.Client().Do(req))(s.t))
}

func TestNothingIsEmbeddedByDefault(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.post("alice", "One", "", "text")
	for _, path := range []string{"/embed/vote.js", "/embed/window.js", "/embed/votes?of=article:1", "/embed/vote?article=article:1&origin=" + blog} {
		if got := s.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", path, got.status)
		}
	}
	if got := s.embedVote("article:1 UP", "X-User-ID", "carol"); got.status != http.StatusNotFound && got.status != http.StatusMethodNotAllowed {
		t.Errorf("a vote: status %d", got.status)
	}
}

func TestVotesAreForPagesOfAllOriginsAndKnowNoCaller(t *testing.T) {
	t.Parallel()
	s := newEmbeddedSite(t)
	for _, tt := range []struct{ query, want string }{
		{
			"of=article:2&of=https://example.org/tides?x=1&of=article:9&of=https://example.org/none&of=mailto:x",
			`{"votes":[{"id":"article:2","number":2,"title":"A text","revision":1,"votes":1,"upvotes":1,"downvotes":0},` +
				`{"id":"article:1","number":1,"title":"A \u003cb\u003elink\u003c/b\u003e","revision":1,"votes":1,"upvotes":1,"downvotes":0},null,null,null]}`,
		},
		{"of=article:9", `{"votes":[null]}`},
	} {
		got := s.get("/embed/votes?"+strings.ReplaceAll(tt.query, "?x=1", "%3Fx=1"), "X-User-ID", "carol", "Origin", "https://any.example")
		if got.status != http.StatusOK || strings.TrimSpace(got.body) != tt.want {
			t.Errorf("%s: status %d: %s", tt.query, got.status, got.body)
		}
		for name, want := range map[string]string{
			"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "", "Cache-Control": "public, max-age=5",
			"Cross-Origin-Resource-Policy": "cross-origin", "Content-Type": "application/json", "Set-Cookie": "",
		} {
			if have := got.header.Get(name); have != want {
				t.Errorf("%s: %s is %q, want %q", tt.query, name, have, want)
			}
		}
	}
	for _, query := range []string{"", strings.Repeat("of=article:1&", 51), strings.Repeat("of=https://example.org/&", 11)} {
		if got := s.get("/embed/votes?" + query); got.status != http.StatusBadRequest || !strings.Contains(got.body, "at most 10 of them by link") {
			t.Errorf("%.30s: status %d: %s", query, got.status, got.body)
		}
	}
}

func TestTheButtonIsSmallAndNeedsNoUnsafePolicy(t *testing.T) {
	t.Parallel()
	s := newEmbeddedSite(t)
	got := s.get("/embed/vote.js")
	if got.header.Get("Access-Control-Allow-Origin") != "*" || got.header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("the headers are %v", got.header)
	}
	if len(got.body) > 5120 {
		t.Errorf("the script has %d bytes, want at most 5120", len(got.body))
	}
	if again := s.get("/embed/vote.js", "If-None-Match", got.header.Get("ETag")); again.status != http.StatusNotModified {
		t.Errorf("with its ETag: status %d, want 304", again.status)
	}
	for _, name := range []string{"vote.js", "window.js"} {
		script := string(require.Value(os.ReadFile("embed/" + name))(t))
		if found := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function\(|\.style\b|<style`).FindString(script); found != "" {
			t.Errorf("%s has %s", name, found)
		}
	}
}

func TestTheWindowIsForAllowedOrigins(t *testing.T) {
	t.Parallel()
	s := newEmbeddedSite(t)
	open := func(article, origin string) *response {
		return s.get("/embed/vote?" + url.Values{"article": {article}, "origin": {origin}}.Encode())
	}
	got := open("article:1", blog)
	if got.status != http.StatusOK || got.one("", "h1") != "A <b>link</b>" || got.one("data-origin", "main") != blog || got.one("data-article", "main") != "article:1" {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	policy := got.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "style-src 'sha256-"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %q lacks %s", policy, part)
		}
	}
	if opener := got.header.Get("Cross-Origin-Opener-Policy"); opener != "" {
		t.Errorf("the policy for openers is %q: the window could not send the outcome", opener)
	}
	for _, tt := range []struct {
		article, origin string
		status          int
	}{
		{"article:1", "", http.StatusForbidden},
		{"article:1", "https://blog.example.evil", http.StatusForbidden},
		{"article:1", "http://blog.example", http.StatusForbidden},
		{"article:1", "*", http.StatusForbidden},
		{"article:9", blog, http.StatusNotFound},
		{"1", blog, http.StatusNotFound},
		{"https://example.org/tides?x=1", blog, http.StatusNotFound},
	} {
		if got := open(tt.article, tt.origin); got.status != tt.status {
			t.Errorf("%s for %s: status %d, want %d", tt.article, tt.origin, got.status, tt.status)
		}
	}
}

func TestOnlyTheWindowVotes(t *testing.T) {
	t.Parallel()
	s := newEmbeddedSite(t)
	got := s.embedVote("article:1 UP", "X-User-ID", "carol", "Sec-Fetch-Site", "same-origin")
	if got.status != http.StatusOK || !strings.Contains(got.body, `"votes":2`) || !strings.Contains(got.body, `"revision":2`) || got.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("status %d, %v: %s", got.status, got.header, got.body)
	}
	for _, tt := range []struct {
		what, vote string
		status     int
		header     []string
	}{
		{"a page of another origin", "article:1 UP", http.StatusForbidden, []string{"X-User-ID", "dave", "Sec-Fetch-Site", "cross-site"}},
		{"what is no vote", "article:1 SIDEWAYS", http.StatusBadRequest, []string{"X-User-ID", "dave"}},
		{"nothing", "", http.StatusBadRequest, []string{"X-User-ID", "dave"}},
	} {
		if got := s.embedVote(tt.vote, tt.header...); got.status != tt.status {
			t.Errorf("%s: status %d, want %d", tt.what, got.status, tt.status)
		}
	}
	if got := s.embedVote("article:1 UP"); !strings.Contains(got.body, `"UNAUTHENTICATED"`) {
		t.Errorf("an anonymous visitor: status %d: %s", got.status, got.body)
	}
	s.Want("carol", `{ article(id: 1) { votes viewerVote } }`, `{"article":{"votes":2,"viewerVote":"UP"}}`)
	s.Want("dave", `{ article(id: 1) { viewerVote } }`, `{"article":{"viewerVote":"NONE"}}`)
}

func TestButtonsLearnThatTheStoreIsAway(t *testing.T) {
	t.Parallel()
	s := newEmbeddedSite(t)
	s.redis.Kill()
	for _, path := range []string{"/embed/votes?of=article:1", "/embed/votes?of=https://example.org/a", "/embed/vote?article=article:1&origin=" + blog} {
		if got := s.get(path); got.status != http.StatusServiceUnavailable || strings.HasPrefix(got.header.Get("Cache-Control"), "public") {
			t.Errorf("%s: status %d, %v", path, got.status, got.header)
		}
	}
}
