package pages_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/redisrepo/site"
	"frontpage/site/pages"
	"frontpage/site/web"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// site is a server with pages. All articles are posted at sitetest.Start, and read an hour later.
type testSite struct {
	*sitetest.Site
	t     *testing.T
	redis *redistest.Server
	pages *httptest.Server
}

func newSite(t *testing.T, change ...func(*endpoint.Options)) *testSite {
	t.Helper()
	return newSiteWith(t, pages.Options{}, change...)
}

func newSiteWith(t *testing.T, o pages.Options, change ...func(*endpoint.Options)) *testSite {
	t.Helper()
	server := redistest.Start(t)
	return withPages(t, server, sitetest.New(t, server.Client, site.DefaultRules(), change...), o)
}

// withPages serves the pages of a site.
func withPages(t *testing.T, server *redistest.Server, of *sitetest.Site, o pages.Options) *testSite {
	t.Helper()
	s := &testSite{Site: of, t: t, redis: server}
	o.Log = s.Log.Logger(slog.LevelInfo)
	if o.API.Identity == nil {
		o.API.MaxAge = time.Second
		o.API.Identity = require.Value(identity.New(t.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName}))(t)
	}
	o.Now = func() time.Time { return sitetest.Start.Add(time.Hour) }
	if o.Work == nil {
		o.Work = s.Handler.Work
	}
	mux := http.NewServeMux()
	mux.Handle("/", web.Handler(web.Options{Site: true, Explorer: true, Missing: pages.Handle(mux, s.Handler, s.Repo, o)}))
	s.pages = httptest.NewServer(mux)
	t.Cleanup(s.pages.Close)
	return s
}

// response is a page as it was received.
type response struct {
	t      *testing.T
	path   string
	status int
	header http.Header
	body   string
	root   *html.Node
}

// get asks for a page. header holds pairs of name and value.
func (s *testSite) get(path string, header ...string) *response {
	return s.send(http.MethodGet, path, header...)
}

func (s *testSite) send(method, path string, header ...string) *response {
	s.t.Helper()
	req := require.Value(http.NewRequestWithContext(s.t.Context(), method, s.pages.URL+path, nil))(s.t)
	sitetest.AddHeaders(req.Header, header...)
	res := require.Value(s.pages.Client().Do(req))(s.t)
	return read(s.t, path, res)
}

func read(t *testing.T, path string, res *http.Response) *response {
	t.Helper()
	defer func() { _ = res.Body.Close() }()
	body := require.Value(io.ReadAll(res.Body))(t)
	root := require.Value(html.Parse(bytes.NewReader(body)))(t)
	return &response{t, path, res.StatusCode, res.Header, string(body), root}
}

// all returns the elements with a name that have these attributes, given as pairs of name and value.
func (r *response) all(name string, attributes ...string) (found []*html.Node) {
	for node := range r.root.Descendants() {
		matches := node.Type == html.ElementNode && node.Data == name
		for pair := range slices.Chunk(attributes, 2) {
			matches = matches && attribute(node, pair[0]) == pair[1]
		}
		if matches {
			found = append(found, node)
		}
	}
	return found
}

func attribute(node *html.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(node *html.Node) string {
	var b strings.Builder
	for each := range node.Descendants() {
		if each.Type == html.TextNode {
			b.WriteString(each.Data)
		}
	}
	return b.String()
}

// one returns the text, or the value of an attribute, of the only element that all finds; empty without one.
func (r *response) one(of, name string, attributes ...string) string {
	r.t.Helper()
	found := r.all(name, attributes...)
	switch {
	case len(found) == 0:
		return ""
	case len(found) > 1:
		r.t.Errorf("%s has %d elements %s %v, want at most one", r.path, len(found), name, attributes)
	}
	if of == "" {
		return textOf(found[0])
	}
	return attribute(found[0], of)
}

func (r *response) meta(property string) string {
	if strings.Contains(property, ":") && !strings.HasPrefix(property, "twitter:") {
		return r.one("content", "meta", "property", property)
	}
	return r.one("content", "meta", "name", property)
}

// titles are the titles of the rows.
func (r *response) titles() (titles []string) {
	for _, link := range r.all("a", "class", "title") {
		titles = append(titles, textOf(link))
	}
	return titles
}

func (s *testSite) post(poster, title, link, text string, groups ...string) {
	s.t.Helper()
	d := site.Draft{Title: title, Groups: groups}
	if link != "" {
		d.Link = &link
	}
	if text != "" {
		d.Text = &text
	}
	require.Value(s.Repo.Post(s.t.Context(), site.UserName(poster), d))(s.t)
}

func TestEachPageHasItsOwnHead(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, pages.Options{PublicURL: "https://news.example.org/"})
	s.post("alice", "The tides", "https://www.example.com/tides", "", "sea", "moon")
	s.post("bob o'neil", "A text", "", "First line.\n\nSecond   line, and "+strings.Repeat("many more words ", 20)+"end.", "sea")
	for _, tt := range []struct{ path, title, canonical, about, feeds string }{
		{"/", "Frontpage", "/", "Articles that users post and vote on, new and popular ones first.", ""},
		{"/new", "New articles · Frontpage", "/new", "Articles that users post and vote on, new and popular ones first.", "/new"},
		{"/g/sea", "sea · Frontpage", "/g/sea", "2 articles · sea", "/g/sea"},
		{"/g/SEA", "SEA · Frontpage", "/g/sea", "2 articles · SEA", "/g/sea"},
		{"/g/sea/new", "sea · Frontpage", "/g/sea/new", "2 articles · sea", "/g/sea/new"},
		{"/u/alice", "alice · Frontpage", "/u/alice", "1 article · alice", "/u/alice"},
		{"/u/bob%20o'neil%20", "bob o'neil · Frontpage", "/u/bob%20o%27neil", "1 article · bob o'neil", "/u/bob%20o%27neil"},
		{"/from/example.com", "example.com · Frontpage", "/from/example.com", "1 article · example.com", ""},
		{"/from/WWW.Example.com", "WWW.Example.com · Frontpage", "/from/example.com", "1 article · WWW.Example.com", ""},
		{"/top/week", "Top of the last 7 days · Frontpage", "/top/week", "Top of the last 7 days", ""},
		{"/groups", "Groups · Frontpage", "/groups", "Each group has its own ranking. The largest come first.", ""},
		{"/past", "Front page of 2026-01-02 · Frontpage", "/past/2026-01-02", "The front page of the site as it stood at each full hour.", ""},
		{"/past/2025-11-21?hour=3", "Front page of 2025-11-21 · Frontpage", "/past/2025-11-21", "The front page of the site as it stood at each full hour.", ""},
		{"/lab?formula=top", "Ranking lab · Frontpage", "/lab", "A ranking is a query here. Change the formula, and the articles of this site are ranked by it at once.", ""},
		{"/a/1", "The tides · Frontpage", "/a/1", "example.com · 1 vote · alice · moon · sea", ""},
		{"/a/2", "A text · Frontpage", "/a/2", "First line. Second line, and " + strings.Repeat("many more words ", 10) + "many more…", ""},
	} {
		p := s.get(tt.path)
		canonical := "https://news.example.org" + tt.canonical
		picture, card := "/icon-512.png", "summary"
		if strings.HasPrefix(tt.path, "/a/") {
			picture, card = tt.path+"/card.png", "summary_large_image"
		}
		for what, pair := range map[string][2]string{
			"status":                 {fmt.Sprint(p.status), "200"},
			"title":                  {p.one("", "title"), tt.title},
			"canonical":              {p.one("href", "link", "rel", "canonical"), canonical},
			"description":            {p.meta("description"), tt.about},
			"og:url":                 {p.meta("og:url"), canonical},
			"og:title":               {p.meta("og:title"), strings.TrimSuffix(tt.title, " · Frontpage")},
			"og:description":         {p.meta("og:description"), tt.about},
			"og:site_name":           {p.meta("og:site_name"), "Frontpage"},
			"og:type":                {p.meta("og:type"), map[bool]string{true: "article", false: "website"}[strings.HasPrefix(tt.path, "/a/")]},
			"og:image":               {p.meta("og:image"), "https://news.example.org" + picture},
			"twitter:card":           {p.meta("twitter:card"), card},
			"twitter:title":          {p.meta("twitter:title"), strings.TrimSuffix(tt.title, " · Frontpage")},
			"twitter:description":    {p.meta("twitter:description"), tt.about},
			"robots":                 {p.meta("robots"), ""},
			"Atom":                   {p.one("href", "link", "type", "application/atom+xml"), tt.feeds + "/feed.atom"},
			"JSON Feed":              {p.one("href", "link", "type", "application/feed+json"), tt.feeds + "/feed.json"},
			"sitemap":                {p.one("href", "link", "rel", "sitemap"), "/sitemap.xml"},
			"Content-Type":           {p.header.Get("Content-Type"), "text/html; charset=utf-8"},
			"X-Content-Type-Options": {p.header.Get("X-Content-Type-Options"), "nosniff"},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s: %s is %q, want %q", tt.path, what, pair[0], pair[1])
			}
		}
		if _, header := web.Index(web.Options{}); p.header.Get("Content-Security-Policy") != header.Get("Content-Security-Policy") {
			t.Errorf("%s: the content security policy is %q", tt.path, p.header.Get("Content-Security-Policy"))
		}
	}
}

// The server reads an hour as web/site/src/pages/past.test.ts has it.
func TestHourOfAPastPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for text, want := range map[string]string{
		"": "23", "0": "00", "07": "07", "23": "23", "24": "23", "-1": "23", "%2B5": "23", "005": "23", "1.5": "23", "-0": "23", "٧": "23",
	} {
		if p := s.get("/past/2026-01-01?hour=" + text); !strings.Contains(p.body, `"at":"2026-01-01T`+want+`:00:00.000Z"`) {
			t.Errorf("hour=%s: want the hour %s, in %.300s", text, want, p.body)
		}
	}
}

// Pages for users have titles, and search engines do not list them.
func TestPagesForUsersAreNotListed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for path, title := range map[string]string{
		"/submit?group=go": "Submit · Frontpage", "/signin?to=/": "Sign in · Frontpage", "/votes": "Your votes · Frontpage", "/votes/up": "Your votes · Frontpage", "/votes/down": "Your votes · Frontpage",
		"/mod": "Moderation · Frontpage", "/mod/removed": "Moderation · Frontpage", "/mod/denied": "Moderation · Frontpage", "/mod/log": "Moderation · Frontpage",
	} {
		p := s.get(path)
		if p.status != 200 || p.one("", "title") != title || p.meta("robots") != "noindex" || p.one("href", "link", "rel", "canonical") != "" || p.meta("og:title") != "" {
			t.Errorf("%s: got %d with the title %q, and tells robots %q", path, p.status, p.one("", "title"), p.meta("robots"))
		}
	}
}

// The second script shows these pages. The browser loads it while it reads the page, which has the frame, and for browsers
// without a script what is possible without one.
func TestPagesOfTheSecondScriptHaveTheirFrame(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.post("alice", "The tides", "https://www.example.com/tides", "", "sea")
	for path, without := range map[string]string{
		"/submit": "development server", "/signin": "needs JavaScript", "/votes": "needs JavaScript", "/votes/up": "needs JavaScript", "/votes/down": "needs JavaScript",
		"/mod": "needs JavaScript", "/mod/removed": "needs JavaScript", "/mod/denied": "needs JavaScript", "/mod/log": "needs JavaScript", "/reports": "needs JavaScript", "/notice": "needs JavaScript",
		"/lab": "The tides",
	} {
		p := s.get(path)
		shown := p.one("", "noscript")
		if p.embedded().Data == nil || !strings.Contains(shown, without) || strings.Contains(shown, "GraphQL") || p.one("", "nav") == "" || p.one("", "footer") == "" ||
			!strings.Contains(shown, "<h1>") || p.header.Get("Link") != "<"+web.SecondScript()+">; rel=modulepreload" || len(p.all("script", "type", "module")) != 1 {
			t.Errorf("%s shows %q without a script, with %v", path, shown, p.header)
		}
	}
}

// Also of paths that the site does not know.
func TestEachPathIsAPageWithoutScripts(t *testing.T) {
	t.Parallel()
	dev, sessions := newSite(t), newSessionSite(t)
	dev.post("alice", "The tides", "https://www.example.com/tides", "", "sea")
	for path, status := range map[string]int{
		"/": 200, "/new": 200, "/g/sea": 200, "/g/sea/new": 200, "/g/sea/top/week": 404, "/u/alice": 200, "/from/example.com": 200, "/a/1": 200,
		"/top/day": 200, "/groups": 200, "/past": 200, "/lab": 200, "/submit": 200, "/signin": 200, "/saved": 200, "/following": 200, "/votes": 200, "/votes/up": 200,
		"/mod": 200, "/mod/removed": 200, "/mod/log": 200, "/reports": 200, "/notice": 200,
		"/log": 404, "/nope": 404, "/new/x": 404, "/a/x": 404, "/a/99": 404, "/top/hour": 404, "/u/a%0Ab": 404, "/past/2026-02-30": 404, "/votes/none": 404, "/assets/x/y": 404,
		"/nope.html": 404, "/wp-login.php": 404, "/graphiql/nope": 404, "/%3Cb%3E": 404,
	} {
		for _, p := range []*response{
			dev.get(path, "Accept", "text/html"), dev.get(path, "X-User-ID", "alice", "Accept", "text/html"),
			sessions.reader("").open(path), sessions.reader("bob").open(path),
		} {
			if p.status == http.StatusSeeOther { // to the newest hour
				continue
			}
			p.root = require.Value(html.ParseWithOptions(strings.NewReader(p.body), html.ParseOptionEnableScripting(false)))(t)
			if p.one("", "h1") == "" || len((&response{t: t, root: p.all("header", "class", "top")[0]}).all("a")) < 7 {
				t.Errorf("%s has no heading or no menu:\n%s", path, p.body)
			}
			signedIn := len(p.all("a", "class", "name")) > 0
			if isUser := p.header.Get("Cache-Control") == "private, no-cache"; signedIn != isUser && p.status != http.StatusGone {
				t.Errorf("%s: signed in: %v, want %v", path, signedIn, isUser)
			}
		}
		if p := dev.get(path, "Accept", "text/html"); p.status != status {
			t.Errorf("%s has the status %d, want %d", path, p.status, status)
		}
	}
	for _, path := range []string{"/nope.js", "/assets/nope.css", "/favicon.ico"} {
		if p := dev.get(path, "Accept", "*/*"); p.status != 404 || strings.Contains(p.body, "<html") {
			t.Errorf("%s, which no window shows: got %d with %.80q", path, p.status, p.body)
		}
	}
}

// The menu leads moderators, and no one else, to their pages.
func TestTheMenuOfModeratorsHasTheirPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, tt := range []struct {
		headers []string
		want    int
	}{
		{nil, 0},
		{[]string{"X-User-ID", "alice"}, 0},
		{[]string{"X-User-ID", "mod", "X-User-Roles", "moderator"}, 1},
	} {
		if links := s.get("/", tt.headers...).all("a", "href", "/mod"); len(links) != tt.want {
			t.Errorf("%v: %d links to the pages for moderators, want %d", tt.headers, len(links), tt.want)
		}
	}
}

func TestPreviewsShowTheLogo(t *testing.T) {
	t.Parallel()
	for extension, want := range map[string]string{"": "https://x.example/icon-512.png", ".png": "https://x.example/logo.png", ".svg": ""} {
		o := pages.Options{PublicURL: "https://x.example"}
		if extension != "" {
			o.Site.Logo = web.Logo{Content: []byte("logo"), Extension: extension}
		}
		if got := newSiteWith(t, o).get("/").meta("og:image"); got != want {
			t.Errorf("with the logo %q, the picture is %q, want %q", extension, got, want)
		}
	}
}

// Everybody reads by whom an article was deleted, its poster also why.
func TestDeletedArticleSaysWhy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.post("alice", "Spam", "", "Buy <it>", "go")
	why := site.Why{Ground: site.GroundRules, Basis: "Rule 2", Reason: "an <advertisement>"}
	moderator := site.Actor{Name: "mod", Moderator: true}
	require.Value(s.Repo.RegroupFor(t.Context(), 1, moderator, []string{"ads"}, nil, why))(t)
	const reason = "Against the rules of this site (Rule 2): an <advertisement>"
	for user, want := range map[string]bool{"alice": true, "bob": false} {
		p := s.get("/a/1", "X-User-ID", user)
		if got := strings.Contains(p.one("", "main"), "A moderator's reason: "+reason); p.status != 200 || got != want {
			t.Errorf("%s: status %d and the reason %t, want %t, in %q", user, p.status, got, want, p.one("", "main"))
		}
	}
	require.Value(s.Repo.Delete(t.Context(), 1, moderator, why))(t)
	const gone = "A moderator deleted it on 2026-01-02."
	for user, want := range map[string]bool{"alice": true, "bob": false, "": false} {
		p := s.get("/a/1", "X-User-ID", user)
		text := p.one("", "main")
		knows := strings.Contains(text, "A moderator's reason: "+reason) && strings.Contains(text, "Spam") && strings.Contains(text, "Buy <it>")
		if p.status != 410 || !strings.Contains(text, gone) || p.embedded().Gone != gone || knows != want || !want && strings.Contains(p.body, "Spam") {
			t.Errorf("%q: status %d, the reason %t, want %t, in %q", user, p.status, knows, want, text)
		}
	}
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.post("alice", "Here", "", "text", "go")
	s.post("ghost", "Gone", "https://gone.example/", "", "go")
	s.post("alice", "There", "https://h.example/", "")
	s.Want("ghost", `mutation { deleteArticle(input: {article: 2}) { deletedId } }`, `{"deleteArticle":{"deletedId":"article:2"}}`)
	s.Vote("voter", "article:1", "UP")
	for _, tt := range []struct {
		path   string
		status int
		want   string
	}{
		{"/", 200, "Here"},
		{"/?after=", 200, "Here"},
		{"/new", 200, "Here"},
		{"/g/go", 200, "Here"},
		{"/g/interesting", 200, "No interesting articles yet"},
		{"/g/interesting/new", 200, "No interesting articles yet"},
		{"/top/day", 200, "Here"},
		{"/top/all", 200, "Here"},
		{"/groups", 200, "go"},
		{"/u/alice", 200, "Here"},
		{"/a/1", 200, "Here"},
		{"/a/1%20", 200, "Here"},
		{"/from/h.example", 200, "There"},

		{"/a/2", 410, "Its poster deleted it on 2026-01-02."},
		{"/a/4", 404, "Article not found"},
		{"/from/gone.example", 404, "No articles"},
		{"/from/alice", 404, "No articles"},
		{"/from/a%20b", 404, "Page not found"},
		{"/a/2147483647", 404, "Article not found"},
		{"/g/nothing", 404, "No articles"},
		{"/g/nothing/new", 404, "No articles"},
		{"/u/unknown", 200, "No articles"},
		{"/u/ghost", 200, "No articles"},
		{"/u/voter", 200, "No articles"},

		{"/a/0", 404, "Page not found"},
		{"/a/01", 404, "Page not found"},
		{"/a/x", 404, "Page not found"},
		{"/a/article:1", 404, "Page not found"},
		{"/a/2147483648", 404, "Page not found"},
		{"/g/%20", 404, "Page not found"},
		{"/g/a%2Fb", 404, "Page not found"},
		{"/u/%01", 404, "Page not found"},
		{"/top/hour", 404, "Page not found"},
		{"/past/2026-02-29", 404, "Page not found"},
		{"/past/2026-1-2", 404, "Page not found"},
		{"/past/yesterday", 404, "Page not found"},
		{"/top/DAY", 404, "Page not found"},
		{"/?after=nonsense", 404, "Page not found"},
		{"/groups?after=nonsense", 404, "Page not found"},
	} {
		p := s.get(tt.path)
		main := p.one("", "main")
		if p.status != tt.status || !strings.Contains(main, tt.want) {
			t.Errorf("%s: status %d, want %d with %q, in %q", tt.path, p.status, tt.status, tt.want, main)
		}
		// Any name could be that of a user.
		if found := tt.status == 200 && tt.want != "No articles"; found != (p.one("href", "link", "rel", "canonical") != "") || found != (p.meta("robots") == "") {
			t.Errorf("%s has status %d, the canonical address %q, and tells robots %q", tt.path, tt.status, p.one("href", "link", "rel", "canonical"), p.meta("robots"))
		}
		head := s.send(http.MethodHead, tt.path)
		if head.status != tt.status || head.body != "" || head.header.Get("Content-Length") == "" {
			t.Errorf("HEAD %s: status %d with %d bytes, want %d and none", tt.path, head.status, len(head.body), tt.status)
		}
		if post := s.send(http.MethodPost, tt.path); post.status != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: status %d", tt.path, post.status)
		}
	}
	if own := s.get("/u/carol", "X-User-ID", "carol"); own.status != 200 {
		t.Errorf("one's own page without articles has status %d", own.status)
	}
}

func TestHostileTextIsShownAsText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const hostile = `</script><script>alert(1)</script><!-- "quotes' & <b> {{.}} `
	s.post(`eve"><b>`, hostile+"title", `https://example.com/"><script>alert(2)</script>?a='b`, hostile+"text", "go")
	for _, path := range []string{"/", "/new", "/g/go", "/u/eve%22%3E%3Cb%3E", "/a/1", "/top/all"} {
		p := s.get(path)
		if p.status != 200 {
			t.Fatalf("%s: status %d", path, p.status)
		}
		for _, script := range p.all("script") {
			digest := sha256.Sum256([]byte(textOf(script)))
			switch kind := attribute(script, "type"); {
			case attribute(script, "src") != "":
			case kind == "" && strings.Contains(p.header.Get("Content-Security-Policy"), base64.StdEncoding.EncodeToString(digest[:])):
			case !json.Valid([]byte(textOf(script))):
				t.Errorf("%s: the %s script is neither JSON nor named by the policy: %s", path, kind, textOf(script))
			}
		}
		if n := len(p.all("script")); n > 5 || len(p.all("b")) > 0 {
			t.Errorf("%s has %d scripts and %d elements b", path, n, len(p.all("b")))
		}
		if !strings.Contains(p.one("", "main"), hostile+"title") {
			t.Errorf("%s does not show the title", path)
		}
	}
	p := s.get("/a/1")
	if got := p.meta("og:title"); got != hostile+"title" {
		t.Errorf("og:title is %q", got)
	}
	if got := p.one("", "div", "class", "text"); got != hostile+"text" {
		t.Errorf("the text is %q", got)
	}
}

// linkedData is the JSON-LD of an article.
type linkedData struct {
	Context   string `json:"@context"`
	Type      string `json:"@type"`
	URL       string
	Headline  string
	Text      string
	Author    struct{ Name, URL string }
	Published string `json:"datePublished"`
	Modified  string `json:"dateModified"`
	Keywords  string
	Shared    struct{ URL string } `json:"sharedContent"`
	Counts    []struct {
		Action string `json:"interactionType"`
		Count  int    `json:"userInteractionCount"`
	} `json:"interactionStatistic"`
}

// What users wrote is isolated: text in the other direction does not turn what stands beside it.
func TestTextOfUsersIsIsolated(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.post("עדה", "שלום", "https://שלום.example/", "", "קבוצה")
	s.post("עדה", "שלום שוב", "", "שלום לכולם", "קבוצה")
	for _, path := range []string{"/", "/new", "/g/קבוצה", "/u/עדה", "/a/1", "/a/2", "/groups", "/from/שלום.example", "/g/אין", "/u/אין"} {
		shown := 0
		for _, node := range s.get(path).all("body") {
			for text := range node.Descendants() {
				hebrew := text.Type == html.TextNode && strings.ContainsFunc(text.Data, func(c rune) bool { return unicode.Is(unicode.Hebrew, c) })
				if !hebrew || text.Parent.Data == "script" || text.Parent.Data == "template" {
					continue
				}
				shown++
				isolated := false
				for within := range text.Ancestors() {
					isolated = isolated || within.Data == "bdi" || attribute(within, "dir") == "auto"
				}
				if !isolated {
					t.Errorf("%s: %q is not isolated", path, text.Data)
				}
			}
		}
		if shown == 0 {
			t.Errorf("%s shows nothing that users wrote", path)
		}
	}
}

func TestArticlesAreDescribedForSearchEngines(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, pages.Options{PublicURL: "https://news.example.org"})
	s.post("alice", "The tides", "https://example.com/tides", "High & low.", "sea", "moon")
	s.Vote("bob", "article:1", "UP")
	s.Vote("carol", "article:1", "DOWN")
	s.Want("alice", `mutation { editArticle(input: {article: 1, title: "The tide"}) { article { title } } }`, `{"editArticle":{"article":{"title":"The tide"}}}`)
	p := s.get("/a/1")
	var got linkedData
	require.NoError(t, json.Unmarshal([]byte(p.one("", "script", "type", "application/ld+json")), &got))
	at := sitetest.Start.Format(time.RFC3339)
	if got.Context != "https://schema.org" || got.Type != "DiscussionForumPosting" || got.URL != "https://news.example.org/a/1" || got.Headline != "The tide" ||
		got.Text != "High & low." || got.Author.Name != "alice" || got.Author.URL != "https://news.example.org/u/alice" || got.Published != at || got.Modified != at ||
		got.Keywords != "moon, sea" || got.Shared.URL != "https://example.com/tides" || fmt.Sprint(got.Counts) != "[{https://schema.org/LikeAction 2} {https://schema.org/DislikeAction 1}]" {
		t.Errorf("got %+v", got)
	}
	for property, want := range map[string]string{"article:published_time": "2026-01-02T03:04:05.000Z", "article:modified_time": "2026-01-02T03:04:05.000Z"} {
		if got := p.meta(property); got != want {
			t.Errorf("%s is %q, want %q", property, got, want)
		}
	}
	if n := len(p.all("meta", "property", "article:tag")); n != 2 {
		t.Errorf("got %d tags, want 2", n)
	}
	if n := len(s.get("/").all("script", "type", "application/ld+json")); n != 0 {
		t.Errorf("the front page describes %d articles", n)
	}
}

// embedded is the answer in a page, with its request.
type embedded struct {
	Request json.RawMessage
	Data    json.RawMessage
	Later   bool
	Gone    string
}

func (r *response) embedded() (e embedded) {
	r.t.Helper()
	if text := r.one("", "script", "id", "answer"); text != "" {
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			r.t.Fatalf("%s: %v in %s", r.path, err, text)
		}
	}
	return e
}

func TestThePageHasTheAnswerOfTheAPI(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 3 {
		s.post("alice", fmt.Sprint("Article <", i, ">"), "", "text", "go")
	}
	s.Vote("bob", "article:2", "UP")
	for path, later := range map[string]bool{
		"/": false, "/new": false, "/g/go": false, "/g/go/new": false, "/g/nothing": false, "/u/alice": false, "/a/2": true, "/a/9": true, "/top/day": true, "/groups": true,
		"/submit": true, "/signin": true, "/votes/up": true, "/mod": true, "/past": true, "/past/2026-11-21": true, "/lab": true,
	} {
		for _, header := range [][]string{nil, {"X-User-ID", "bob"}} {
			p := s.get(path, header...)
			got := p.embedded()
			_, body := s.PostJSON(string(got.Request), header...)
			var want struct{ Data json.RawMessage }
			if err := json.Unmarshal([]byte(body), &want); err != nil || len(want.Data) == 0 {
				t.Fatalf("%s: the API answers %s to %s", path, body, got.Request)
			}
			if compact(t, got.Data) != compact(t, want.Data) {
				t.Errorf("%s by %v has the answer\n%s\nbut the API answers\n%s", path, header, got.Data, want.Data)
			}
			if got.Later != later || later != strings.Contains(p.header.Get("Link"), web.SecondScript()) {
				t.Errorf("%s: later is %v, and Link is %q", path, got.Later, p.header.Get("Link"))
			}
			if signedIn := header != nil; signedIn != strings.Contains(string(got.Data), `"name":"bob"`) {
				t.Errorf("%s by %v is not about the visitor: %s", path, header, got.Data)
			}
		}
	}
	if e := s.get("/a/x").embedded(); e.Data == nil || strings.Contains(string(e.Data), "article") {
		t.Errorf("a page that cannot be has the answer %s, want that of the frame", e.Data)
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	var value any
	require.NoError(t, json.Unmarshal(text, &value))
	require.NoError(t, json.NewEncoder(&out).Encode(value))
	return out.String()
}

// A reader without scripts reaches each article of a list by its links.
func TestListsArePagedByLinks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const articles = 60
	for i := range articles {
		s.post("alice", fmt.Sprint("Article ", i), "", "text", "go")
		s.Advance(time.Second)
	}
	for _, start := range []string{"/", "/new", "/g/go", "/g/go/new", "/u/alice", "/top/all"} {
		var titles []string
		p := s.get(start)
		for n := 1; ; n++ {
			if p.status != 200 || n > 3 {
				t.Fatalf("%s: status %d of part %d", p.path, p.status, n)
			}
			titles = append(titles, p.titles()...)
			if further := p.one("", "p", "class", "further"); (n > 1) != (further != "") {
				t.Errorf("%s, part %d says %q", start, n, further)
			}
			ranked := slices.Contains([]string{"/", "/g/go", "/top/all"}, start)
			if numbered := len(p.all("li", "value", "1")); numbered != map[bool]int{true: 1}[ranked && n == 1] {
				t.Errorf("%s, part %d has %d rows of rank 1", start, n, numbered)
			}
			if hidden := p.meta("robots") == "noindex"; hidden != (n > 1) {
				t.Errorf("%s, part %d tells robots %q", start, n, p.meta("robots"))
			}
			next := p.one("href", "a", "class", "more")
			if next == "" {
				break
			}
			p = s.get(next)
		}
		slices.Sort(titles)
		if n := len(slices.Compact(titles)); n != articles {
			t.Errorf("%s: got %d articles, want %d", start, n, articles)
		}
	}
}

func TestCachesKeepPagesOfAnonymousVisitors(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.post("alice", "Here", "", "text")
	for _, tt := range []struct {
		path, user, want string
	}{
		{"/", "", "public, max-age=1"},
		{"/a/1", "", "public, max-age=1"},
		{"/a/2", "", "public, max-age=1"},
		{"/", "bob", "private, no-cache"},
		{"/a/2", "bob", "private, no-cache"},
	} {
		var header []string
		if tt.user != "" {
			header = []string{"X-User-ID", tt.user}
		}
		p := s.get(tt.path, header...)
		if got := p.header.Values("Cache-Control"); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s by %q: Cache-Control is %q, want %q", tt.path, tt.user, got, tt.want)
		}
		if got := p.header.Values("Vary"); len(got) != 1 || got[0] != "X-User-ID, X-User-Roles, X-On-Behalf-Of, Accept-Encoding" {
			t.Errorf("%s by %q: Vary is %q", tt.path, tt.user, got)
		}
		if strings.Contains(p.body, "bob") != (tt.user == "bob") {
			t.Errorf("%s by %q names the visitor wrongly", tt.path, tt.user)
		}
		tag := p.header.Get("ETag")
		if (tag != "") != (p.status == 200) {
			t.Errorf("%s: status %d with the ETag %q", tt.path, p.status, tag)
		}
		if tag == "" {
			continue
		}
		again := s.get(tt.path, append(header, "If-None-Match", tag)...)
		if again.status != http.StatusNotModified || again.body != "" || again.header.Get("ETag") != tag || again.header.Get("Cache-Control") != tt.want {
			t.Errorf("%s by %q: got %d with %d bytes and %v for the same ETag", tt.path, tt.user, again.status, len(again.body), again.header)
		}
		if other := s.get(tt.path, append(header, "If-None-Match", `"other"`)...); other.status != 200 {
			t.Errorf("%s: got %d for another ETag", tt.path, other.status)
		}
	}
	anonymous, signedIn := s.get("/").header.Get("ETag"), s.get("/", "X-User-ID", "bob").header.Get("ETag")
	s.Vote("bob", "article:1", "UP")
	if anonymous == signedIn || s.get("/").header.Get("ETag") == anonymous {
		t.Error("different pages have one ETag")
	}
	identity := require.Value(identity.New(t.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName}))(t)
	uncached := newSiteWith(t, pages.Options{API: endpoint.Options{Identity: identity}})
	if got := uncached.get("/").header.Get("Cache-Control"); got != "private, no-cache" {
		t.Errorf("with a maximum age of 0, Cache-Control is %q", got)
	}
}

func TestPagesAreCompressed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.post("alice", "Here", "", "text")
	plain := s.get("/", "Accept-Encoding", "identity")
	zipped := s.get("/", "Accept-Encoding", "gzip")
	if plain.header.Get("Content-Encoding") != "" || zipped.header.Get("Content-Encoding") != "gzip" || plain.header.Get("ETag") != zipped.header.Get("ETag") {
		t.Fatalf("got %v and %v", plain.header, zipped.header)
	}
	reader := require.Value(gzip.NewReader(strings.NewReader(zipped.body)))(t)
	if body, err := io.ReadAll(reader); err != nil || string(body) != plain.body {
		t.Errorf("the page is another one when compressed: %v", err)
	}
}

// A page costs the round trips of its query, and one more if there is no such article.
func TestPagesCostTheRoundTripsOfTheirQueries(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 30 {
		s.post("alice", "Here", "", "text", "go")
	}
	s.Want("alice", `mutation { deleteArticle(input: {article: 2}) { deletedId } }`, `{"deleteArticle":{"deletedId":"article:2"}}`)
	require.NoError(t, s.Repo.Views.CatchUpAll(t.Context())) // so that no read has to
	s.StopListening()
	for path, more := range map[string]int{
		"/": 0, "/new": 0, "/g/go": 0, "/g/nothing": 0, "/u/alice": 0, "/u/unknown": 0, "/from/none.example": 0, "/top/week": 0, "/groups": 0, "/a/1": 0, "/a/2": 1, "/a/99": 1,
	} {
		for _, header := range [][]string{nil, {"X-User-ID", "bob"}} {
			request := s.get(path, header...).embedded().Request // loads the scripts
			s.Trips.Reset()
			s.PostJSON(string(request), header...)
			want, _ := s.Trips.Read()
			s.Trips.Reset()
			s.get(path, header...)
			if got, commands := s.Trips.Read(); got != want+more {
				t.Errorf("%s by %v costs %d round trips with %v, want %d of the query and %d", path, header, got, sitetest.Tally(commands), want, more)
			}
		}
	}
	for _, path := range []string{"/a/x", "/g/%20", "/top/no"} {
		s.Trips.Reset()
		s.get(path)
		if got, commands := s.Trips.Read(); got != 0 {
			t.Errorf("%s costs %d round trips with %v", path, got, commands)
		}
	}
}

func TestRefusalsOfTheAPIAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t, sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 5, Window: time.Minute}, Addresses: 1}))
	limited := s.get("/")
	if limited.status != http.StatusTooManyRequests || limited.header.Get("Retry-After") == "" || limited.header.Get("Cache-Control") != "no-store" ||
		limited.one("", "main") != "Too many requests. Please wait a moment.Try again" {
		t.Errorf("over the limit, got %d with %v: %s", limited.status, limited.header, limited.one("", "main"))
	}
	other := newSite(t)
	if p := other.get("/", "X-User-ID", strings.Repeat("x", 65)); p.status != http.StatusUnauthorized || p.header.Get("Cache-Control") != "no-store" || p.embedded().Data != nil {
		t.Errorf("with an invalid name, got %d with %v", p.status, p.header)
	}
}

// A visitor over the limit can go on asking, so the refusal has to cost less than what is refused.
func TestRefusalOverTheLimitCostsATenthOfThePage(t *testing.T) { //nolint:paralleltest // it counts allocations
	with := sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 60_000, Window: time.Hour}, Addresses: 1})
	s := newSessionSite(t, with)
	for i := range 25 {
		s.post("alice", fmt.Sprint("Article ", i), "", "text", "go")
	}
	asked := 0
	ask := func(method, path, form string) *httptest.ResponseRecorder {
		asked++
		req := httptest.NewRequestWithContext(t.Context(), method, fmt.Sprintf("%s?n=%d", path, asked), strings.NewReader(form)) // no page is shared
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		got := httptest.NewRecorder()
		s.pages.Config.Handler.ServeHTTP(got, req)
		return got
	}
	page := ask("GET", "/", "")
	cost := testing.AllocsPerRun(5, func() { ask("GET", "/", "") })
	for _, refused := range []struct{ method, path, form string }{{"GET", "/", ""}, {"GET", "/top/day", ""}, {"POST", "/vote", "vote=article:1+UP&to=/new"}} {
		got := ask(refused.method, refused.path, refused.form)
		for range 3000 { // a vote costs few points
			if got.Code == http.StatusTooManyRequests {
				break
			}
			got = ask(refused.method, refused.path, refused.form)
		}
		if got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") == "" || got.Header().Get("Link") != "" ||
			got.Header().Get("Content-Security-Policy") != page.Header().Get("Content-Security-Policy") {
			t.Errorf("%v: got %d with %v", refused, got.Code, got.Header())
		}
		least := testing.AllocsPerRun(5, func() { ask(refused.method, refused.path, refused.form) })
		if 10*least > cost || 10*got.Body.Len() > page.Body.Len() {
			t.Errorf("%v: the refusal has %d bytes and makes %.0f allocations, the page %d and %.0f", refused, got.Body.Len(), least, page.Body.Len(), cost)
		}
	}
}

// Rendering a page takes a millisecond and more, whatever its query takes. A card takes ten.
func TestPagesCostTheirRendering(t *testing.T) {
	t.Parallel()
	s := newSite(t, sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 9_000, Window: time.Hour}, Addresses: 1}))
	s.Post("alice", "An article")
	spent := func() (all int) {
		for _, key := range sitetest.RateKeys(t, s.redis.Client) {
			all += sitetest.RateCount(t, s.redis.Client, key)
		}
		return all
	}
	for _, page := range []struct {
		path           string
		status, points int
	}{
		{"/submit", http.StatusOK, 50}, {"/a/1", http.StatusOK, 100}, {"/a/1?x=2", http.StatusOK, 100}, {"/a/99", http.StatusNotFound, 100},
		{"/a/x", http.StatusNotFound, 50}, {"/g/%20", http.StatusNotFound, 50}, {"/top/no", http.StatusNotFound, 50},
	} {
		before := spent()
		got := s.get(page.path)
		if cost := spent() - before; got.status != page.status || cost < page.points {
			t.Errorf("%s: got %d for %d points, want %d for at least %d", page.path, got.status, cost, page.status, page.points)
		}
	}
}

// A refusal is for one request: another visitor of the same URL gets what is right for that one, and no cache keeps it.
func TestRefusalsAreNotShared(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const path = "/new?after=nonsense"
	refused := s.get(path, "X-User-ID", strings.Repeat("x", 65))
	anonymous, alice := s.get(path), s.get(path, "X-User-ID", "alice")
	for want, got := range map[int][]*response{http.StatusUnauthorized: {refused}, http.StatusNotFound: {anonymous, alice}} {
		for _, p := range got {
			if p.status != want || p.header.Get("Cache-Control") != "no-store" || p.header.Get("ETag") != "" {
				t.Errorf("got %d with %v, want %d and no-store", p.status, p.header, want)
			}
		}
	}
}

func TestPagesWithoutTheStore(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.redis.Own()
	s.post("alice", "Here", "", "text")
	s.get("/a/1")
	s.redis.Kill()
	for _, path := range []string{"/", "/new", "/g/go", "/u/alice", "/a/1", "/a/2", "/top/day", "/groups"} {
		p := s.get(path)
		if p.status != http.StatusServiceUnavailable || p.header.Get("Retry-After") == "" || p.header.Get("Cache-Control") != "no-store" || p.header.Get("ETag") != "" ||
			!strings.Contains(p.one("", "main"), "temporarily unavailable") || p.meta("robots") != "noindex" {
			t.Errorf("%s: got %d with %v: %s", path, p.status, p.header, p.one("", "main"))
		}
	}
	if p := s.get("/a/x"); p.status != http.StatusNotFound {
		t.Errorf("a page that cannot be has status %d", p.status)
	}
	s.redis.Restart()
	require.Eventually(t, "the page is back", func() bool { return s.get("/a/1").status == 200 })
}

// A visitor cannot make a page do anything but read.
func TestHeadersOfThePageDoNotReachTheAPI(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.post("alice", "Here", "", "text")
	for _, header := range [][]string{
		{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
		{"Accept", "text/event-stream"}, {"Accept", "image/png"}, {"If-None-Match", "*", "Range", "bytes=0-1", "Cache-Control", "no-cache"},
		{"Content-Type", "text/plain", "Origin", "https://elsewhere.example"},
	} {
		if p := s.get("/?query={nothing}&variables=x&documentId=y", header...); p.status != 200 && p.status != 304 {
			t.Errorf("%v: got %d: %s", header, p.status, p.body)
		}
	}
}

func TestNoPageLeadsToOneThatTheRulesLeaveOut(t *testing.T) {
	t.Parallel()
	left := map[string]int{"/top/day": 1, "/past": 1, "/lab": 1, "/votes": 2} // links to them on the viewer's page
	for _, without := range [][]string{nil, {"top", "past", "lab", "votes"}} {
		s := newSiteWith(t, pages.Options{Site: web.Options{Without: without}})
		s.post("alice", "The tides", "", "text", "top")
		p := s.get("/u/alice", "X-User-ID", "alice")
		for path, links := range left {
			if without != nil {
				links = 0
			}
			if have := len(p.all("a", "href", path)); have != links {
				t.Errorf("without %q: %d links to %s, want %d", without, have, path, links)
			}
		}
		for path, status := range map[string]int{"/top/day": 200, "/g/top": 200} {
			if without != nil && path == "/top/day" {
				status = 404
			}
			if got := s.get(path); got.status != status {
				t.Errorf("without %q: status %d of %s, want %d", without, got.status, path, status)
			}
		}
	}
}

// The pages of the site's router that this package renders.
func TestPathsAreThoseOfTheRouter(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.post(`a/b?#`, "Here", "", "text", "go", "new", "github.com", "über", "..", "index.html")
	for _, path := range []string{
		"/g/go", "/g/go/new", "/g/new", "/g/github.com", "/g/github.com/new", "/g/index.html", "/g/%C3%BCber", "/g/..%20", "/g/..%20/new", "/u/a%2Fb%3F%23", "/top/month", "/top/year",
	} {
		if p := s.get(path); p.status != 200 || len(p.titles()) != 1 {
			t.Errorf("%s: status %d with %q", path, p.status, p.titles())
		}
	}
	s.post("alice", "There", "https://www.h.example/", "")
	s.post("alice", "Local", "http://[::1]:81/", "")
	for path, want := range map[string]string{"/from/h.example": "[There]", "/from/WWW.H.example.": "[There]", "/from/%5B::1%5D:81": "[Local]"} {
		if p := s.get(path); p.status != 200 || fmt.Sprint(p.titles()) != want {
			t.Errorf("%s: status %d with %q, want %s", path, p.status, p.titles(), want)
		}
	}
	p := s.get("/")
	for _, href := range []string{"/u/a%2Fb%3F%23", "/g/..%20", "/g/github.com"} {
		if _, err := url.Parse(href); err != nil || len(p.all("a", "href", href)) != 1 {
			t.Errorf("the front page has %d links to %s", len(p.all("a", "href", href)), href)
		}
	}
}

// Other articles of the same host are beside an article, at most five, the newest first.
func TestArticlesOfTheSameHostAreBesideAnArticle(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	beside := func(number int) []string {
		p := s.get(fmt.Sprint("/a/", number))
		for _, section := range p.all("section", "class", "neighbours") {
			if got := textOf(section); !strings.HasPrefix(got, "Also from go.dev") {
				t.Errorf("/a/%d says %q, want that it is from go.dev", number, got)
			}
		}
		return p.titles()
	}
	s.post("alice", "<b>0</b>", "https://www.go.dev/0", "")
	s.post("alice", "A text", "", "x")
	s.post("alice", "Another host", "https://blog.go.dev/", "")
	for number := 1; number <= 3; number++ {
		if got := beside(number); got != nil {
			t.Errorf("beside article %d are %q, want none", number, got)
		}
	}
	for i := 1; i <= 6; i++ {
		s.post("alice", fmt.Sprint("title ", i), fmt.Sprintf("http://GO.dev:80/%d", i), "")
	}
	for number, want := range map[int]string{1: "[title 6 title 5 title 4]", 9: "[title 5 title 4 title 3]", 4: "[title 6 title 5 title 4]", 2: "[]"} {
		if got := fmt.Sprint(beside(number)); got != want {
			t.Errorf("beside article %d are %s, want %s", number, got, want)
		}
	}
	s.Want("alice", `mutation { deleteArticle(input: {article: 8}) { deletedId } }`, `{"deleteArticle":{"deletedId":"article:8"}}`)
	p := s.get("/a/9")
	if got := textOf(p.all("section", "class", "neighbours")[0]); !strings.HasSuffix(got, "title 2 1 vote, 1 hour ago") || strings.Contains(got, "title 5") {
		t.Errorf("after a deletion the section says %q", got)
	}
}

// What a browser would run is no link: neither for the rows and the card, nor in what is for search engines and for the
// script, which takes the API's link as it is.
func TestLinksWithAnotherSchemeAreOnNoPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.post("alice", "t", "", "A text.", "go")
	for _, link := range []string{"javascript:alert(1)", "data:text/html,alert", "vbscript:alert"} {
		s.Client.HSet(t.Context(), "article:1", "link", link)
		for _, path := range []string{"/", "/g/go", "/u/alice", "/a/1"} {
			p := s.get(path + "?of=" + url.QueryEscape(link[:4]))
			if p.status != http.StatusOK || strings.Contains(p.body, link) || !strings.Contains(p.one("", "main"), "t") {
				t.Errorf("%s with %s: status %d and the page %s", path, link, p.status, p.body)
			}
		}
	}
	s.Client.HSet(t.Context(), "article:1", "link", "https://example.com/here")
	if p := s.get("/a/1"); len(p.all("a", "href", "https://example.com/here")) == 0 {
		t.Error("a link by https is missing")
	}
}

// hostileTexts are texts that a page must not take for anything but text.
var hostileTexts = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"><svg/onload=alert(1)>`, `javascript:alert(1)`, `</ul><script>`, `{{.Site}} &lt;b&gt;`, `' onclick='alert(1)`,
}

// aboutSite serves the pages of a site with its own contact, or with a public log.
func aboutSite(t *testing.T, about graph.Site) *testSite {
	t.Helper()
	server := redistest.Start(t)
	return withPages(t, server, sitetest.NewAbout(t, server.Client, about, site.DefaultRules()), pages.Options{})
}

// moderate has the moderator mod change something.
func (s *testSite) moderate(mutation string, variables ...string) {
	s.t.Helper()
	for i := 0; i < len(variables); i += 2 {
		mutation = strings.ReplaceAll(mutation, "$"+variables[i], fmt.Sprintf("%q", variables[i+1]))
	}
	if got := s.PostQuery(`mutation { `+mutation+` { userErrors { message } } }`, "X-User-ID", "mod", "X-User-Roles", "moderator"); !strings.Contains(got, `"userErrors":[]`) {
		s.t.Fatalf("%s: %s", mutation, got)
	}
}

// The public log is a page without a script, in which titles and reasons are text, and no one is named.
func TestPublicLogIsAPage(t *testing.T) {
	t.Parallel()
	s := aboutSite(t, graph.Site{PublicLog: true})
	if p := s.get("/log"); p.status != http.StatusOK || !strings.Contains(p.one("", "main"), "Moderators have done nothing yet.") {
		t.Errorf("the empty log: %d %s", p.status, p.body)
	}
	for i, text := range hostileTexts {
		s.post("postername", text+" title", "", "x")
		s.moderate(`deleteArticle(input: {article: $number, ground: RULES, basis: "Rule 2", reason: $reason})`, "number", fmt.Sprint(i+1), "reason", text+" reason")
	}
	for range 30 {
		s.moderate(`denyUser(input: {user: "deniedname", ground: OTHER, reason: "spam"})`)
	}
	first := s.get("/log?of=1")
	last := s.get(first.one("href", "a", "class", "more"))
	for _, p := range []*response{first, last} {
		if p.status != http.StatusOK || len(p.all("script", "type", "module")) > 0 || !strings.HasPrefix(p.header.Get("Cache-Control"), "public, max-age=") {
			t.Errorf("%s: status %d, %v", p.path, p.status, p.header)
		}
		for _, name := range []string{"postername", "deniedname", `"mod"`} {
			if strings.Contains(p.body, name) {
				t.Errorf("%s names %s", p.path, name)
			}
		}
		for _, element := range []string{"img", "svg", "script"} {
			for _, found := range p.all(element) {
				if element != "script" && strings.Contains(textOf(found.Parent), "alert") || strings.Contains(textOf(found), "alert(1)") && found.Attr == nil {
					t.Errorf("%s runs %s", p.path, textOf(found))
				}
			}
		}
	}
	if text := last.one("", "main"); !strings.Contains(text, "denied a user changes, or links to a host") {
		t.Errorf("the log has %s", text)
	}
	for _, hostile := range hostileTexts {
		if text := last.one("", "main"); !strings.Contains(text, hostile+" title") || !strings.Contains(text, "Against the rules of this site: "+hostile+" reason") {
			t.Errorf("the log lacks %s: %s", hostile, text)
		}
	}
	off := newSite(t)
	if p := off.get("/log"); p.status != http.StatusNotFound || !strings.Contains(p.one("", "main"), "Page not found") {
		t.Errorf("without the setting: %d %s", p.status, p.one("", "main"))
	}
}

// The poster of a deleted article reads how to object: words are text, an address is a link.
func TestPostersReadHowToObject(t *testing.T) {
	t.Parallel()
	for contact, link := range map[string]string{
		"mods@example.org": "mailto:mods@example.org", "https://example.org/object?a=b&c": "https://example.org/object?a=b&c",
		`Write to <b>us</b>`: "", "javascript:alert(1)": "", `"><script>alert(1)</script>`: "", "a@b <script>": "",
	} {
		s := aboutSite(t, graph.Site{Contact: &contact})
		s.post("eve", "an advertisement", "", "x")
		s.moderate(`deleteArticle(input: {article: 1, ground: RULES, reason: "ads"})`)
		p := s.get("/a/1", "X-User-ID", "eve")
		if text := p.one("", "main"); !strings.Contains(text, "To object: "+contact) {
			t.Errorf("with %s the page says %s", contact, text)
		}
		if links := p.all("a", "href", link); link != "" && (len(links) != 1 || textOf(links[0]) != contact) {
			t.Errorf("with %s there are %d links", contact, len(links))
		}
		if got := web.ContactURL(contact); got != link {
			t.Errorf("the URL of %s is %q, want %q", contact, got, link)
		}
		if other := s.get("/a/1", "X-User-ID", "bob"); strings.Contains(other.one("", "main"), "object") {
			t.Errorf("others read %s", other.one("", "main"))
		}
		s.post("eve", "another", "", "x")
		s.moderate(`editArticle(input: {article: 2, title: "a fact", reason: "clearer"})`)
		if text := s.get("/a/2", "X-User-ID", "eve").one("", "main"); !strings.Contains(text, "To object: "+contact) {
			t.Errorf("with %s the page of an edited article says %s", contact, text)
		}
	}
}
