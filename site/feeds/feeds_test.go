package feeds_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/site/feeds"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// site is a server with feeds, over a Redis of its own.
type testSite struct {
	*redisrepo.Repo
	t      *testing.T
	raw    *redis.Client
	server *httptest.Server
	trips  *atomic.Int64 // round trips to Redis
	now    *atomic.Int64 // Unix seconds
}

func newSite(t *testing.T, partitions int, publicURL string) *testSite {
	t.Helper()
	raw := redistest.Start(t).Client
	client := redis.NewClient(raw.Options())
	t.Cleanup(func() { _ = client.Close() })
	s := &testSite{t: t, raw: raw, trips: new(atomic.Int64), now: new(atomic.Int64)}
	s.now.Store(1_767_323_045) // 2026-01-02T03:04:05Z
	clock := func() time.Time { return time.Unix(s.now.Load(), 0) }
	repo := require.Value(redisrepo.New(t.Context(), client, site.DefaultRules(), redisrepo.WithClock(clock), redisrepo.WithPartitions(partitions)))(t)
	client.AddHook(redistest.Before(func(commands ...redis.Cmder) {
		if !redistest.IsAside(commands[0]) {
			s.trips.Add(1)
		}
	}))
	s.Repo, s.server = repo, serve(t, repo, publicURL)
	return s
}

// serve serves the feeds of a site.
func serve(t *testing.T, repo *redisrepo.Repo, publicURL string) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	feeds.Handle(mux, repo, feeds.Options{PublicURL: publicURL, PageSize: 25, Timeout: time.Minute, Log: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func (s *testSite) post(title, link, text string, groups ...string) *site.Article {
	s.t.Helper()
	d := site.Draft{Title: title, Groups: groups}
	if link != "" {
		d.Link = &link
	}
	if text != "" {
		d.Text = &text
	}
	a := require.Value(s.Post(s.t.Context(), "alice", d))(s.t)
	s.now.Add(60)
	return a
}

func (s *testSite) get(path string, header ...string) (*http.Response, string) {
	s.t.Helper()
	req := require.Value(http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.server.URL+path, nil))(s.t)
	sitetest.AddHeaders(req.Header, header...)
	response := require.Value(s.server.Client().Do(req))(s.t)
	defer func() { _ = response.Body.Close() }()
	body := require.Value(io.ReadAll(response.Body))(s.t)
	return response, string(body)
}

// nasty are texts that a careless feed would break at.
var nasty = []string{`<script>alert("&amp;")</script>`, "]]>", "a & b <b>", "quote \" ' `", "日本語 🧑‍🚀", "5 > 3 && 2 < 4", "\\u003c %3C &lt;"}

func fill(s *testSite) {
	for i, text := range nasty {
		s.post(text, fmt.Sprintf("https://b\u00fccher.example/\u00e4/%d?a=1&b=%%22<>'\"", i), text+"\n\n"+text+"\nlast", "go", "c.d")
	}
	s.post("only a text", "", "one\r\n\r\n\r\ntwo\r\nthree\n")
	s.post("only a link", "https://example.com/", "")
}

var feedPaths = []string{"", "/new", "/interesting", "/g/go", "/g/GO", "/g/%E6%97%A5", "/g/c.d/new", "/u/alice", "/u/bob", "/u/a%2Fb%3Cc"}

// Feeds keep to the rules of RFC 4287 and of JSON Feed 1.1.
func TestFeedsAreValid(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		s := newSite(t, partitions, "")
		for _, filled := range []bool{false, true} {
			if filled {
				fill(s)
				// A legacy client's article may hold any bytes.
				require.NoError(t, s.raw.HSet(t.Context(), map[int]string{1: "", 4: "{p11}"}[partitions]+"article:"+fmt.Sprint(s.some(partitions)), "title", "bad \x00\x1b\xff\ufffe text", "poster", "user:x\x01").Err())
			}
			for _, path := range feedPaths {
				response, body := s.get(path + "/feed.atom")
				validAtom(t, path, response, body)
				response, body = s.get(path + "/feed.json")
				validJSON(t, path, response, body)
			}
		}
	}
}

// A link in a text can be followed from a reader of feeds, as from the site. Nothing else in the text becomes HTML.
func TestLinksInTextsAreLinks(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, "https://news.example")
	s.post("text", "", "<b>see</b> (https://a.example/x_(y)?a=1&b='2'#c).\nhttp://b.example, javascript:x\n\nxhttps://c.example")
	want := `<p>&lt;b&gt;see&lt;/b&gt; (<a href="https://a.example/x_(y)?a=1&amp;b=&#39;2&#39;#c">https://a.example/x_(y)?a=1&amp;b=&#39;2&#39;#c</a>).` +
		`<br><a href="http://b.example">http://b.example</a>, javascript:x</p><p>xhttps://c.example</p>` +
		`<p><a href="https://news.example/a/1">Vote on Frontpage</a></p>`
	_, body := s.get("/feed.atom")
	var feed node
	require.NoError(t, xml.Unmarshal([]byte(body), &feed))
	if got := feed.all("entry")[0].one(t, "content"); got != want {
		t.Errorf("Atom: %s\nwant %s", got, want)
	}
	_, body = s.get("/feed.json")
	var document struct {
		Items []struct {
			Content string `json:"content_html"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &document))
	if got := document.Items[0].Content; got != want {
		t.Errorf("JSON: %s\nwant %s", got, want)
	}
}

// some returns the number of an article in the first partition.
func (s *testSite) some(partitions int) site.ArticleID {
	ids, err := s.Lists.Part(s.t.Context(), 0, 1)
	if err != nil || len(ids) == 0 {
		s.t.Fatalf("no article in the first of %d partitions: %v", partitions, err)
	}
	return ids[0]
}

// validURL checks an absolute URL that is written in ASCII, as RFC 3986 has it.
func validURL(t *testing.T, what, text string) {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || text == "" ||
		strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r) }) {
		t.Errorf("%s is %q: %v, want an absolute URL", what, text, err)
	}
}

func validID(t *testing.T, text string) {
	t.Helper()
	if id, ok := strings.CutPrefix(text, "urn:uuid:"); !ok || uuid.Validate(id) != nil {
		t.Errorf("the id is %q, want the URN of a UUID", text)
	}
}

func validTime(t *testing.T, what, text string) {
	t.Helper()
	if _, err := time.Parse(time.RFC3339, text); err != nil || !strings.HasSuffix(text, "Z") {
		t.Errorf("%s is %q: %v, want a time of RFC 3339", what, text, err)
	}
}

type node struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Nodes   []node     `xml:",any"`
	Text    string     `xml:",chardata"`
}

func (n node) all(name string) (found []node) {
	for _, child := range n.Nodes {
		if child.XMLName.Local == name {
			found = append(found, child)
		}
	}
	return found
}

func (n node) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// one returns the text of the only child with a name.
func (n node) one(t *testing.T, name string) string {
	t.Helper()
	found := n.all(name)
	if len(found) != 1 {
		t.Errorf("%s has %d elements %s, want one", n.XMLName.Local, len(found), name)
		return ""
	}
	return found[0].Text
}

// atomElements are the children that an element may have: the section of RFC 4287.
var atomElements = map[string]string{ // 4.1.1, 4.1.2
	"feed":  " author category contributor generator icon id link logo rights subtitle title updated entry ",
	"entry": " author category content contributor id link published rights source summary title updated ",
}

func validAtom(t *testing.T, path string, response *http.Response, body string) {
	t.Helper()
	if got := response.Header.Get("Content-Type"); response.StatusCode != 200 || got != "application/atom+xml; charset=utf-8" {
		t.Errorf("%s: status %d, type %q", path, response.StatusCode, got)
	}
	var feed node
	decoder := xml.NewDecoder(strings.NewReader(body))
	if err := decoder.Decode(&feed); err != nil || feed.XMLName.Space != "http://www.w3.org/2005/Atom" || feed.XMLName.Local != "feed" {
		t.Fatalf("%s: %v, want an Atom feed: %s", path, err, body)
	}
	validID(t, feed.one(t, "id"))                   // 4.2.6: an IRI
	validTime(t, "updated", feed.one(t, "updated")) // 4.2.15, 3.3
	if feed.one(t, "title") == "" {
		t.Error("the feed has no title")
	}
	seen, self := map[string]bool{}, 0
	for _, element := range append([]node{feed}, feed.all("entry")...) {
		name, alternates := element.XMLName.Local, map[string]bool{}
		for _, child := range element.Nodes {
			if !strings.Contains(atomElements[name], " "+child.XMLName.Local+" ") || child.XMLName.Space != feed.XMLName.Space {
				t.Errorf("%s must not have a child %v", name, child.XMLName)
			}
		}
		links := element.all("link")
		if len(links) == 0 || links[0].attr("rel") != "alternate" {
			t.Errorf("the first link of %s is %v, want the alternate one, which some readers take without a look at its rel", name, links)
		}
		for _, link := range links { // 4.2.7
			validURL(t, "link", link.attr("href"))
			switch link.attr("rel") {
			case "self":
				self++
			case "alternate": // 4.1.1: one for each type and language
				if key := link.attr("type") + link.attr("hreflang"); alternates[key] {
					t.Errorf("%s has two alternate links of one type", name)
				} else {
					alternates[key] = true
				}
			}
		}
		if name != "entry" {
			continue
		}
		id := element.one(t, "id")
		validID(t, id)
		if seen[id] {
			t.Errorf("two entries have the id %s", id)
		}
		seen[id] = true
		validTime(t, "updated", element.one(t, "updated"))
		validTime(t, "published", element.one(t, "published"))
		if element.one(t, "updated") > feed.one(t, "updated") {
			t.Error("an entry is newer than the feed")
		}
		if element.one(t, "title") == "" || len(alternates) == 0 {
			t.Error("an entry has no title or no alternate link")
		}
		for _, author := range element.all("author") { // 3.2
			validURL(t, "uri", author.one(t, "uri"))
			if author.one(t, "name") == "" {
				t.Error("an author has no name")
			}
		}
		if len(element.all("author")) != 1 { // 4.1.1
			t.Error("an entry has no author, and the feed has none")
		}
		for _, category := range element.all("category") { // 4.2.2
			if category.attr("term") == "" {
				t.Error("a category has no term")
			}
		}
		content := element.all("content") // 4.1.3
		if len(content) != 1 || content[0].attr("type") != "html" {
			t.Errorf("content = %+v, want one of HTML", content)
			continue
		}
		validHTML(t, content[0].Text)
	}
	if self != 1 {
		t.Errorf("%s: %d links to itself, want one", path, self)
	}
}

// validHTML checks that a content consists of paragraphs, line breaks and links.
func validHTML(t *testing.T, content string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader("<div>" + strings.ReplaceAll(content, "<br>", "<br/>") + "</div>"))
	decoder.Entity = xml.HTMLEntity
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("content %q: %v", content, err)
			return
		}
		if start, ok := token.(xml.StartElement); ok && !strings.Contains(" div p br a ", " "+start.Name.Local+" ") {
			t.Errorf("content %q has an element %s", content, start.Name.Local)
		}
	}
}

func validJSON(t *testing.T, path string, response *http.Response, body string) {
	t.Helper()
	if got := response.Header.Get("Content-Type"); response.StatusCode != 200 || got != "application/feed+json; charset=utf-8" {
		t.Errorf("%s: status %d, type %q", path, response.StatusCode, got)
	}
	type author struct{ Name, URL string }
	var feed struct {
		Version, Title, Favicon string
		Home                    string `json:"home_page_url"`
		Self                    string `json:"feed_url"`
		Items                   []struct {
			ID, URL, Title string
			External       *string `json:"external_url"`
			Content        string  `json:"content_html"`
			Published      string  `json:"date_published"`
			Modified       *string `json:"date_modified"`
			Authors        []author
			Tags           []string
		}
	}
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&feed); err != nil {
		t.Fatalf("%s: %v: %s", path, err, body)
	}
	if feed.Version != "https://jsonfeed.org/version/1.1" || feed.Title == "" || feed.Items == nil {
		t.Errorf("%s: want version, title and items: %s", path, body)
	}
	for _, address := range []string{feed.Home, feed.Self, feed.Favicon} {
		validURL(t, "address of the feed", address)
	}
	seen := map[string]bool{}
	for _, item := range feed.Items {
		if item.ID == "" || seen[item.ID] || item.Content == "" {
			t.Errorf("item %+v, want an id of its own and a content", item)
		}
		seen[item.ID] = true
		validURL(t, "url", item.URL)
		if item.External != nil {
			validURL(t, "external_url", *item.External)
		}
		validTime(t, "date_published", item.Published)
		if len(item.Authors) != 1 || item.Authors[0].Name == "" {
			t.Errorf("item %+v, want an author", item)
		}
		validHTML(t, item.Content)
	}
}

// An unchanged feed costs a 304 and one round trip, also at another process, and a changed one is sent.
func TestUnchangedFeedCostsOneRoundTrip(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		s := newSite(t, partitions, "https://news.example.org/")
		fill(s)
		bob, _ := site.ParseUserName("bob")
		for _, path := range []string{"", "/new", "/g/go", "/g/go/new", "/u/alice", "/g/empty"} {
			for _, file := range []string{"/feed.atom", "/feed.json"} {
				s.get(path + file) // builds the listing of a group
				first, body := s.get(path + file)
				tag := first.Header.Get("ETag")
				if !strings.HasPrefix(tag, `W/"`) || first.Header.Get("Cache-Control") != "public, max-age=60" || first.Header.Get("Set-Cookie") != "" {
					t.Errorf("%s: headers %v", path, first.Header)
				}
				for _, sent := range []string{tag, "W/\"x\", " + tag, "*"} {
					require.Value(s.Vote(t.Context(), s.some(partitions), bob, site.Up, ""))(t) // ends what is shared, and changes no feed
					before := s.trips.Load()
					response, got := s.get(path+file, "If-None-Match", sent)
					if response.StatusCode != http.StatusNotModified || got != "" {
						t.Errorf("%s with %s: status %d and %d bytes, want 304", path, sent, response.StatusCode, len(got))
					}
					if trips := s.trips.Load() - before; sent == tag && trips != 1 {
						t.Errorf("%s, %d partitions: %d round trips for an unchanged feed, want 1", path, partitions, trips)
					}
				}
				require.Value(s.Vote(t.Context(), s.some(partitions), bob, site.None, ""))(t)
				if response, again := s.get(path+file, "If-None-Match", `W/"0.zzzzzzzz.1.1.-1.!.99"`); response.StatusCode != http.StatusOK || again != body {
					t.Errorf("%s with a forged ETag: status %d, want the feed", path, response.StatusCode)
				}
			}
		}
		first, _ := s.get("/u/alice/feed.atom")
		next := s.post("one more", "", "text")
		second, body := s.get("/u/alice/feed.atom", "If-None-Match", first.Header.Get("ETag"))
		if second.StatusCode != http.StatusOK || !strings.Contains(body, "one more") || !strings.Contains(body, fmt.Sprintf(`href="https://news.example.org/a/%d"`, next.ID)) {
			t.Errorf("after a post: status %d, want the article: %s", second.StatusCode, body)
		}
		require.Value(s.Regroup(t.Context(), next.ID, site.Actor{Name: "alice"}, []string{"more"}, nil))(t)
		third, body := s.get("/u/alice/feed.atom", "If-None-Match", second.Header.Get("ETag"))
		if third.StatusCode != http.StatusOK || !strings.Contains(body, `<category term="more">`) {
			t.Errorf("after a regrouping: status %d, want the group: %s", third.StatusCode, body)
		}
		require.Value(s.Delete(t.Context(), next.ID, site.Actor{Name: "alice"}, site.Why{}))(t)
		fourth, body := s.get("/u/alice/feed.atom", "If-None-Match", third.Header.Get("ETag"))
		if fourth.StatusCode != http.StatusOK || strings.Contains(body, "one more") {
			t.Errorf("after a deletion: status %d, want a feed without the article", fourth.StatusCode)
		}
	}
}

// An edited article is sent again, with the time of its last edit.
func TestFeedsSayWhenArticlesWereEdited(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		s := newSite(t, partitions, "")
		article, moderator := s.post("Tpyo", "", "text"), site.Actor{Name: "mod", Moderator: true}
		s.post("newer", "", "text")
		first, body := s.get("/feed.json")
		if strings.Contains(body, "date_modified") {
			t.Errorf("a date of change without a change: %s", body)
		}
		atom, _ := s.get("/feed.atom")
		for _, next := range []struct{ title, text, at string }{{"Typo", "text", "2026-01-02T03:06:05Z"}, {"Typo", "other", "2026-01-02T03:07:05Z"}} {
			require.Value(s.Edit(t.Context(), article.ID, moderator, redisrepo.Edit{Title: &next.title, Text: &next.text}))(t)
			s.now.Add(60)
			first, body = s.get("/feed.json", "If-None-Match", first.Header.Get("ETag"))
			if first.StatusCode != http.StatusOK || strings.Count(body, `"date_modified":"`+next.at+`"`) != 1 || strings.Count(body, "date_modified") != 1 ||
				!strings.Contains(body, `"date_published":"2026-01-02T03:04:05Z"`) {
				t.Errorf("status %d, want one article changed at %s: %s", first.StatusCode, next.at, body)
			}
			validJSON(t, "", first, body)
			atom, body = s.get("/feed.atom", "If-None-Match", atom.Header.Get("ETag"))
			if atom.StatusCode != http.StatusOK || strings.Count(body, "<updated>"+next.at+"</updated>") != 2 || !strings.Contains(body, "<title>Typo</title>") || !strings.Contains(body, next.text) {
				t.Errorf("status %d, want the article and the feed updated at %s: %s", atom.StatusCode, next.at, body)
			}
			validAtom(t, "", atom, body)
		}
	}
}

// ids returns the id of the Atom feed at a path and those of its entries, in turn with their times of change, and checks that
// the JSON feed has the same entries.
func (s *testSite) ids(path string) (ids []string) {
	s.t.Helper()
	_, body := s.get(path + "/feed.atom")
	var feed node
	require.NoError(s.t, xml.Unmarshal([]byte(body), &feed))
	ids = append(ids, feed.one(s.t, "id"))
	_, body = s.get(path + "/feed.json")
	var items struct{ Items []struct{ ID string } }
	require.NoError(s.t, json.Unmarshal([]byte(body), &items))
	for i, entry := range feed.all("entry") {
		ids = append(ids, entry.one(s.t, "id"), entry.one(s.t, "updated"))
		if i >= len(items.Items) || items.Items[i].ID != entry.one(s.t, "id") {
			s.t.Errorf("%s: entry %d has not the same id in both formats: %s", path, i, body)
		}
	}
	return ids
}

// RFC 4287, 4.2.6: an id never changes when a feed is relocated, and no two feeds or entries share one. An entry's time of
// change is that of its text (4.2.15): readers show what has changed again.
func TestIdsInFeedsNeverChange(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		s := newSite(t, partitions, "http://a.example")
		fill(s)
		moderator, bob := site.Actor{Name: "mod", Moderator: true}, require.Value(site.ParseUserName("bob"))(t)
		article := s.post("first", "", "text", "go")
		before, feed := map[string][]string{}, map[string]string{}
		for _, path := range feedPaths {
			before[path] = s.ids(path)
			if other, taken := feed[before[path][0]]; taken && !strings.EqualFold(other, path) {
				t.Errorf("the feeds of %s and %s have one id", path, other)
			}
			feed[before[path][0]] = path
		}
		if len(before["/u/alice"]) != 1+2*10 {
			t.Fatalf("feed of alice: %v, want 10 entries", before["/u/alice"])
		}
		compare := func(what string, now *testSite) {
			t.Helper()
			for _, path := range feedPaths {
				if got := now.ids(path); !slices.Equal(got, before[path]) {
					t.Errorf("%s: %s has %v, want %v", what, path, got, before[path])
				}
			}
		}
		again := require.Value(redisrepo.New(t.Context(), s.raw, site.DefaultRules(), redisrepo.WithClock(func() time.Time { return time.Unix(s.now.Load(), 0) })))(t)
		for _, address := range []string{"https://a.example", "https://b.example/", ""} {
			compare("another process at "+address, &testSite{Repo: again, t: t, server: serve(t, again, address)})
		}
		for what, change := range map[string]func() error{
			"a vote":            func() error { _, err := s.Vote(t.Context(), article.ID, bob, site.Up, ""); return err },
			"a downvote":        func() error { _, err := s.Vote(t.Context(), article.ID, bob, site.Down, ""); return err },
			"a vote taken back": func() error { _, err := s.Vote(t.Context(), article.ID, "alice", site.None, ""); return err },
			"another group": func() error {
				_, err := s.Regroup(t.Context(), article.ID, moderator, []string{"x"}, nil)
				return err
			},
		} {
			require.NoError(t, change())
			s.now.Add(60)
			compare(what, s)
		}
		require.Value(s.Edit(t.Context(), article.ID, moderator, redisrepo.Edit{Text: new("other")}))(t)
		if now, was := s.ids("/u/alice"), before["/u/alice"]; now[1] != was[1] || now[2] <= was[2] || !slices.Equal(now[3:], was[3:]) {
			t.Errorf("after an edit: %v, want only another time of the first of %v", now, was)
		}
		if other := newSite(t, partitions, "http://a.example"); other.ids("")[0] == before[""][0] {
			t.Error("another site has the same id")
		}
	}
}

func TestPathsThatNothingCanHaveAreMissing(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, "")
	for _, path := range []string{"/g/a%20b/feed.atom", "/u/" + strings.Repeat("a", 65) + "/feed.json", "/sitemap/x.xml", "/sitemap/01.xml", "/sitemap/1", "/sitemap/-1.xml",
		"/sitemap/groups.xml", "/sitemap/groups-.xml", "/sitemap/groups-01.xml", "/sitemap/groups--1.xml", "/sitemap/groups-x.xml", "/sitemap/other-0.xml", "/sitemap/-0.xml", "/sitemap/groups-0",
		"/sitemap/0.xml", "/sitemap/groups-7.xml"} { // the last two have nothing in them
		if response, body := s.get(path); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d: %s, want 404", path, response.StatusCode, body)
		}
	}
}

func TestSitemapHasEveryArticleGroupAndUser(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4, 64} { // some of 64 are empty
		s := newSite(t, partitions, "https://news.example.org")
		want := map[string]bool{}
		for i := range 9 {
			want[fmt.Sprintf("https://news.example.org/a/%d", s.post(fmt.Sprint(i), "", "text", "all", fmt.Sprint("of-", i%3)).ID)] = true
		}
		text := "text"
		for _, user := range []site.UserName{"bob", "a/b?", "..", "carol", "bob"} {
			a := require.Value(s.Post(t.Context(), user, site.Draft{Title: "by", Text: &text, Groups: []string{".."}}))(t)
			want[fmt.Sprintf("https://news.example.org/a/%d", a.ID)] = true
			s.now.Add(60)
		}
		gone := require.Value(s.Post(t.Context(), "dave", site.Draft{Title: "gone", Text: &text, Groups: []string{"gone"}}))(t)
		require.Value(s.Delete(t.Context(), gone.ID, site.Actor{Name: "dave"}, site.Why{}))(t)
		for _, path := range []string{"/g/all", "/g/of-0", "/g/of-1", "/g/of-2", "/g/..%20", "/u/alice", "/u/bob", "/u/carol", "/u/a%2Fb%3F", "/u/..%20"} {
			want["https://news.example.org"+path] = true
		}
		_, body := s.get("/robots.txt")
		if !strings.Contains(body, "\nSitemap: https://news.example.org/sitemap.xml\n") {
			t.Errorf("robots.txt = %s, want the sitemap", body)
		}
		response, body := s.get("/sitemap.xml")
		var index node
		if err := xml.Unmarshal([]byte(body), &index); err != nil || index.XMLName.Local != "sitemapindex" || response.Header.Get("Content-Type") != "application/xml; charset=utf-8" {
			t.Fatalf("%v, %v: %s, want an index", err, response.Header, body)
		}
		pages := map[string]bool{}
		for _, part := range index.all("sitemap") {
			_, body := s.get(strings.TrimPrefix(part.one(t, "loc"), "https://news.example.org"))
			var set node
			if err := xml.Unmarshal([]byte(body), &set); err != nil || set.XMLName.Local != "urlset" || set.XMLName.Space != index.XMLName.Space {
				t.Fatalf("%v: %s, want a part of the sitemap", err, body)
			}
			if len(set.all("url")) == 0 {
				t.Errorf("%s is empty, which the protocol forbids", part.one(t, "loc"))
			}
			for _, page := range set.all("url") {
				at := page.one(t, "loc")
				if pages[at] && partitions == 1 {
					t.Errorf("the sitemap has %s twice", at)
				}
				pages[at] = true
			}
		}
		for page := range want {
			if !pages[page] {
				t.Errorf("the sitemap lacks %s", page)
			}
		}
		if !pages["https://news.example.org/"] || !pages["https://news.example.org/top/week"] || !pages["https://news.example.org/groups"] || len(pages) != len(want)+11 {
			t.Errorf("pages = %v, want the articles, groups and users, and eleven others", pages)
		}
		parts, err := s.Lists.Parts(t.Context(), 1)
		var articles []site.ArticleID
		users, groups := map[site.UserName]int{}, map[site.GroupName]int{}
		for _, i := range parts {
			ids, partErr := s.Lists.Part(t.Context(), i, 1)
			if articles = append(articles, ids...); partErr != nil || len(ids) != 1 {
				t.Fatalf("part %d of one article each is %v, %v", i, ids, partErr)
			}
			names, err := s.Lists.Posters(t.Context(), ids)
			for _, name := range names {
				users[name]++
			}
			if err != nil || len(names) > 1 {
				t.Errorf("the posters of one article are %q, %v", names, err)
			}
		}
		if err != nil || len(articles) != len(want)-10 {
			t.Errorf("parts of one article = %v, %v, want all", articles, err)
		}
		groupParts, err := s.Lists.GroupParts(t.Context(), 2)
		for _, i := range groupParts {
			names, partErr := s.Lists.GroupPart(t.Context(), i, 2)
			for _, name := range names {
				groups[name]++
			}
			if partErr != nil || len(names) > 2 || len(names) == 0 {
				t.Errorf("a part of up to two groups has %q, %v", names, partErr)
			}
		}
		if err != nil || len(users) != 5 || len(groups) != 5 || users["alice"] > partitions || groups["all"] > partitions {
			t.Errorf("small parts have the users %v and the groups %v, %v, want five of each, once for each partition", users, groups, err)
		}
	}
}

func TestSitemapHasThePagesOfTheSite(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, "")
	mux := http.NewServeMux()
	feeds.Handle(mux, s.Repo, feeds.Options{PageSize: 25, Timeout: time.Minute, Log: slog.New(slog.DiscardHandler), Has: func(path string) bool { return !strings.HasPrefix(path, "/top/") }})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/sitemap/pages.xml", nil))
	if body := w.Body.String(); strings.Contains(body, "/top/") || !strings.Contains(body, "/past") {
		t.Errorf("without the lists of top articles, the sitemap has %s", body)
	}
}

func TestFeedsFailClearlyWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, "")
	_ = s.raw.Do(t.Context(), "SHUTDOWN", "NOSAVE").Err() // it does not reply
	response, body := s.get("/feed.atom")
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || response.Header.Get("Cache-Control") != "no-store" || strings.Contains(body, "redis") {
		t.Errorf("status %d, %v, %s, want 503", response.StatusCode, response.Header, body)
	}
}

func TestFeedsAreCompressed(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, "")
	fill(s)
	response, _ := s.get("/feed.atom", "Accept-Encoding", "gzip")
	if response.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(response.Header.Get("Vary"), "Accept-Encoding") {
		t.Errorf("headers = %v, want gzip", response.Header)
	}
	if response, body := s.get("/feed.atom", "Accept-Encoding", "identity"); response.Header.Get("Content-Encoding") != "" || !strings.HasPrefix(body, xml.Header) {
		t.Errorf("headers = %v, want no encoding", response.Header)
	}
}

func TestSeveralRangesGetTheWholeFeed(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, "")
	fill(s)
	for _, path := range []string{"/feed.atom", "/sitemap.xml"} {
		_, whole := s.get(path)
		if response, body := s.get(path, "Range", "bytes=1-1,2-2,3-3"); response.StatusCode != http.StatusOK || body != whole {
			t.Errorf("%s: status %d, %d bytes, want 200 and the %d bytes of the document", path, response.StatusCode, len(body), len(whole))
		}
	}
}

// A feed's reader may not ask what a link is before it opens it.
func TestLinksWithAnotherSchemeAreInNoFeed(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, "")
	s.post("t", "", "A text.", "go")
	for _, link := range []string{"javascript:alert(1)", "data:text/html,alert", "vbscript:alert"} {
		s.raw.HSet(t.Context(), "article:1", "link", link)
		for _, path := range []string{"/feed", "/new/feed", "/g/go/feed", "/u/alice/feed"} {
			for _, format := range []string{".atom", ".json"} {
				if response, body := s.get(path + format); response.StatusCode != http.StatusOK || strings.Contains(body, link) || !strings.Contains(body, "A text.") {
					t.Errorf("%s%s with %s has status %d: %s", path, format, link, response.StatusCode, body)
				}
			}
		}
	}
}

// A feed and a part of the sitemap are paid for from the same points as queries, in a sentence once none are left.
func TestFeedsAreChargedLikeQueries(t *testing.T) {
	t.Parallel()
	const most = 7_000
	s := sitetest.Open(t, sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: most, Window: time.Hour}, Addresses: 1}))
	mux := http.NewServeMux()
	feeds.Handle(mux, s.Repo, feeds.Options{PageSize: 25, Timeout: time.Minute, Log: slog.New(slog.DiscardHandler), Work: s.Handler.Work})
	s.Post("alice", "Here", "go")
	left := func() (points int) {
		res, _ := s.PostJSON(`{"query": "{ site { name } }"}`) // for 2 points
		_, quota, _ := strings.Cut(res.Header.Get("RateLimit"), ";r=")
		require.Value(fmt.Sscan(quota, &points))(t)
		return points
	}
	get := func(path string) *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		req.RemoteAddr = "127.0.0.1:1234"
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, req)
		return w
	}
	for _, tt := range []struct {
		path         string
		status, cost int
	}{
		{"/feed.atom", 200, 1000}, {"/g/go/feed.json", 200, 1000}, {"/sitemap.xml", 200, 1}, {"/sitemap/pages.xml", 200, 11},
		{"/sitemap/0.xml", 200, 2000}, {"/sitemap/x.xml", 404, 0}, {"/robots.txt", 200, 0}, {"/sitemap/groups-0.xml", 429, 0}, {"/sitemap/0.xml", 200, 2000}, {"/sitemap/1.xml", 429, 0},
	} {
		before := left()
		w := get(tt.path)
		if cost := before - 2 - left(); w.Code != tt.status || cost != tt.cost {
			t.Errorf("%s: got %d for %d points, want %d for %d", tt.path, w.Code, cost, tt.status, tt.cost)
		}
		if wait := w.Header().Get("Retry-After"); w.Code == http.StatusTooManyRequests &&
			(wait == "" || w.Header().Get("Cache-Control") != "no-store" || w.Body.String() != "too many requests: try again in "+wait+" s\n") {
			t.Errorf("%s: got %v %s", tt.path, w.Header(), w.Body)
		}
	}
}
