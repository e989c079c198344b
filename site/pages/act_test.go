package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// actOn sends the form of a page that has a button, as a browser without scripts does: with what it has, and with what is filled in.
func (r *reader) actOn(act, from, target string, fill ...string) *response {
	r.t.Helper()
	page := r.open(from)
	if !strings.Contains(page.body, `name="act" value="`+act+`"`) {
		r.t.Fatalf("%s has no button to %s", from, act)
	}
	form := url.Values{"act": {act}, "to": {from}, "article": {target}, "target": {target}}
	for i := 0; i < len(fill); i += 2 {
		form.Set(fill[i], fill[i+1])
	}
	return r.act(form, "Sec-Fetch-Site", "same-origin")
}

func (r *reader) act(form url.Values, header ...string) *response {
	r.t.Helper()
	req := r.voteForm(form, header...)
	req.URL.Path = "/act"
	return r.do(req)
}

// Each act has a button on a page, and the page shows the effect.
func TestActsWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newSessionSite(t)
	s.post("alice", "The tides", "https://www.example.com/tides", "", "sea")
	alice, bob := s.reader("alice"), s.reader("bob")
	for _, tt := range []struct {
		by                *reader
		act, from, target string
		fill              []string
		query, want       string
	}{
		{bob, "save", "/a/1", "article:1", nil, `{ article(id: 1) { viewerHasSaved } }`, `{"article":{"viewerHasSaved":true}}`},
		{bob, "unsave", "/a/1", "article:1", nil, `{ article(id: 1) { viewerHasSaved } }`, `{"article":{"viewerHasSaved":false}}`},
		{bob, "follow", "/g/sea", "group:sea", nil, `{ group(name: "sea") { viewerFollows } }`, `{"group":{"viewerFollows":true}}`},
		{bob, "unfollow", "/g/sea", "group:sea", nil, `{ group(name: "sea") { viewerFollows } }`, `{"group":{"viewerFollows":false}}`},
		{bob, "follow", "/u/alice", "user:alice", nil, `{ user(name: "alice") { viewerFollows } }`, `{"user":{"viewerFollows":true}}`},
		{bob, "flag", "/a/1", "article:1", []string{"reason", "OFF_TOPIC", "note", "Not here."}, `{ viewerReports { nodes { reason note } } }`, `{"viewerReports":{"nodes":[{"reason":"OFF_TOPIC","note":"Not here."}]}}`},
		{alice, "edit", "/a/1", "article:1", []string{"title", "High tides", "text", "One\r\ntwo"}, `{ article(id: 1) { title text } }`, `{"article":{"title":"High tides","text":"One\ntwo"}}`},
		{alice, "delete", "/a/1", "article:1", nil, `{ articlesConnection { totalCount } }`, `{"articlesConnection":{"totalCount":0}}`},
		{alice, "restore", "/a/1", "article:1", nil, `{ articlesConnection { totalCount } }`, `{"articlesConnection":{"totalCount":1}}`},
	} {
		if sent := tt.by.actOn(tt.act, tt.from, tt.target, tt.fill...); sent.status != http.StatusSeeOther || sent.header.Get("Location") != tt.from {
			t.Fatalf("%s: got %d to %q: %s", tt.act, sent.status, sent.header.Get("Location"), sent.body)
		}
		name := map[*reader]string{alice: "alice", bob: "bob"}[tt.by]
		s.Want(name, tt.query, tt.want)
	}
}

// A refusal says why, and leads on.
func TestActsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newSessionSite(t)
	s.post("alice", "The tides", "https://www.example.com/tides", "", "sea")
	for _, tt := range []struct {
		by, site string
		form     url.Values
		status   int
		says     string
	}{
		{"bob", "same-origin", url.Values{"act": {"delete"}, "article": {"article:1"}}, http.StatusForbidden, "poster"},
		{"bob", "same-origin", url.Values{"act": {"save"}, "article": {"article:9"}}, http.StatusNotFound, "article"},
		{"bob", "same-origin", url.Values{"act": {"save"}}, http.StatusBadRequest, "not one of this site"},
		{"bob", "same-origin", url.Values{"act": {"flag"}, "target": {"article:1"}, "reason": {"SECRET"}}, http.StatusBadRequest, "not one of this site"},
		{"bob", "same-origin", url.Values{"act": {"erase"}}, http.StatusBadRequest, "not one of this site"},
		{"bob", "cross-site", url.Values{"act": {"save"}, "article": {"article:1"}}, http.StatusForbidden, "another site"},
		{"", "same-origin", url.Values{"act": {"save"}, "article": {"article:1"}, "to": {"/a/1"}}, http.StatusUnauthorized, "/signin?to=%2Fa%2F1"},
	} {
		sent := s.reader(tt.by).act(tt.form, "Sec-Fetch-Site", tt.site)
		if sent.status != tt.status || !strings.Contains(sent.body, tt.says) || sent.header.Get("Location") != "" {
			t.Errorf("%v by %q: got %d, which says %q", tt.form, tt.by, sent.status, sent.one("", "main"))
		}
	}
}
