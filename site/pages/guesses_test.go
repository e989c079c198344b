package pages_test

import (
	"net/http"
	"strings"
	"testing"

	"frontpage/site/pages"
	"frontpage/site/web"
)

func TestGuessedPathsLeadToTheirPages(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, pages.Options{Site: web.Options{Explorer: true}})
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s.pages.Client().CheckRedirect = browser.CheckRedirect
	for path, want := range map[string]string{
		"/top": "/top/week", "/Top": "/top/week", "/top/": "/top/week", "/top?after=x": "/top/week?after=x", "/best": "/top/week",
		"/article/1": "/a/1", "/articles/1/": "/a/1", "/a/1/": "/a/1", "/user/zo%C3%AB": "/u/zo%C3%AB", "/group/go": "/g/go", "/groups/go/new": "/g/go/new", "/tag/a%2Fb": "",
		"/new/": "/new", "/g": "/groups", "/g/": "/groups", "/g/go/": "/g/go", "/submit/": "/submit", "/hot": "/", "/index.html": "/",
		"/login": "/signin", "/signup": "/signin", "/moderation": "/mod", "/rss": "/feed.atom", "/feed.xml": "/feed.atom", "/api": "/graphiql", "/altair": "/graphiql",
		"/article": "", "/article/1/x": "", "/nope": "", "/nope/": "", "/user/": "", "/evil.example/": "",
	} {
		got := s.get(path, "Accept", "text/html")
		if to := got.header.Get("Location"); to != want && got.status != http.StatusMovedPermanently || (got.status == http.StatusNotFound) != (want == "") || strings.HasPrefix(to, "//") {
			t.Errorf("%s: got %d to %q, want %q", path, got.status, to, want)
		}
	}
	without := newSiteWith(t, pages.Options{Site: web.Options{Without: []string{"top", "lab"}}})
	without.pages.Client().CheckRedirect = browser.CheckRedirect
	for _, path := range []string{"/top", "/best", "/lab/", "/api"} {
		if got := without.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s leads to %q, which the site does not have", path, got.header.Get("Location"))
		}
	}
}

// The front page of a new site's current hour does not lead to itself.
func TestThePastOfANewSiteIsNoLoop(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for path, says := range map[string]string{
		"/past": "No front page has been saved yet", "/past/2026-01-03?hour=4": "No front page has been saved yet", "/past/2025-12-01?hour=4": "See the latest one",
	} {
		p := s.get(path)
		if shown := p.one("", "main"); !strings.Contains(shown, says) || strings.Contains(shown, "See the latest") != (says == "See the latest one") {
			t.Errorf("%s says %q", path, shown)
		}
	}
}
