package pages_test

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"frontpage/redisrepo"
	"frontpage/redisrepo/search"
	"frontpage/redisrepo/site"
	"frontpage/site/pages"
	"frontpage/site/web"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// searched serves the pages of a site with search, which is not ready until build is called.
func searched(t *testing.T) (s *testSite, build func()) {
	t.Helper()
	server := redistest.Start(t)
	of := sitetest.NewWith(t, server.Client, site.DefaultRules(), redisrepo.WithSearch(search.Options{Titles: true, Memory: 1 << 20}))
	s = withPages(t, server, of, pages.Options{Site: web.Options{Name: "News & <more> of all"}})
	return s, func() {
		ctx, stop := context.WithCancel(context.Background())
		var following sync.WaitGroup
		following.Go(func() { s.Repo.Search.Follow(ctx, func(int, int) {}, func(error) {}) })
		t.Cleanup(func() { stop(); following.Wait() })
		require.Eventually(t, "search is ready", func() bool { return s.Repo.Search.Status().Ready })
	}
}

func TestSearchIsAPage(t *testing.T) {
	t.Parallel()
	s, build := searched(t)
	want := func(path string, status int, texts ...string) *response {
		t.Helper()
		p := s.get(path)
		for _, text := range texts {
			if !strings.Contains(p.one("", "main"), text) {
				t.Errorf("%s has no %q: %s", path, text, p.one("", "main"))
			}
		}
		if p.status != status || len(p.all("meta", "name", "robots")) == 0 {
			t.Errorf("%s: status %d, want %d, and it should be hidden from search engines", path, p.status, status)
		}
		return p
	}
	if p := want("/search?q=go", http.StatusServiceUnavailable, "The search is being prepared."); p.header.Get("Cache-Control") != "no-store" {
		t.Errorf("before the index is built: %v", p.header)
	}
	build()
	for i := range 30 {
		s.post("alice", fmt.Sprintf("Straße %d", i), "", "x")
	}
	want("/search", http.StatusOK, "By words of titles.")
	first := want("/search?q=STRASSE", http.StatusOK, "30 articles", "Straße 29")
	if got := first.one("value", "input", "id", "find"); got != "STRASSE" {
		t.Errorf("the field has %q", got)
	}
	last := s.get(first.one("href", "a", "class", "more"))
	if last.status != http.StatusOK || !strings.Contains(last.one("", "main"), "Straße 0") || len(last.all("a", "class", "more")) > 0 {
		t.Errorf("the last part of the list: %d %s", last.status, last.one("", "main"))
	}
	if len(last.all("a", "href", "/search?q=STRASSE")) != 1 {
		t.Error("the last part of the list has no link to its start")
	}
	want("/search?q=strase+29", http.StatusOK, "1 article · found as strasse 29")
	for _, text := range hostileTexts {
		if p := s.get("/search?q=" + strings.NewReplacer(" ", "+", "<", "%3C", ">", "%3E", "&", "%26", ";", "%3B", `"`, "%22").Replace(text)); p.status != http.StatusOK || p.one("value", "input", "id", "find") != text {
			t.Errorf("%q: %d, the field has %q", text, p.status, p.one("value", "input", "id", "find"))
		}
	}
	want("/search?q=nowhere", http.StatusOK, "Nothing found for “nowhere”")
	if p := s.get("/search?q=" + strings.Repeat("x", 201)); p.status != http.StatusNotFound {
		t.Errorf("a query that is too long: %d", p.status)
	}
}

func TestSearchIsDescribedToBrowsers(t *testing.T) {
	t.Parallel()
	s, _ := searched(t)
	front := s.get("/")
	p := s.get(front.one("href", "link", "rel", "search"))
	var d struct {
		ShortName string
		URL       struct {
			Template string `xml:"template,attr"`
		} `xml:"Url"`
	}
	require.NoError(t, xml.Unmarshal([]byte(p.body), &d))
	if d.ShortName != "News & <more> of" || !strings.HasSuffix(d.URL.Template, "/search?q={searchTerms}") || p.header.Get("Content-Type") != "application/opensearchdescription+xml" {
		t.Errorf("got %+v, %v", d, p.header)
	}
	if len(front.all("form", "action", "/search")) != 1 {
		t.Error("the header has no field for a search")
	}
	without := newSiteWith(t, pages.Options{Site: web.Options{Without: []string{"search"}}})
	if p := without.get("/"); len(p.all("form", "action", "/search"))+len(p.all("link", "rel", "search"))+len(p.all("a", "href", "/search")) > 0 {
		t.Error("a site without search has a field for it")
	}
	if p := without.get("/search"); p.status != http.StatusNotFound {
		t.Errorf("/search of a site without search: %d", p.status)
	}
}

func TestSearchIsInTheLanguageOfTheSite(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, pages.Options{Site: web.Options{Texts: require.Value(web.ReadTexts("de"))(t)}})
	if p := s.get("/search"); !strings.Contains(p.one("", "main"), "Artikel suchen") {
		t.Errorf("the page is %s", p.body)
	}
}
