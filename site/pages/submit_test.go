package pages_test

import (
	"bytes"
	"image/png"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"frontpage/site/cards"
	"frontpage/site/pages"
	"frontpage/tests/require"
)

// submit sends the form to post as a page of the site does, but for header.
func (r *reader) submit(form url.Values, header ...string) *response {
	r.t.Helper()
	req := r.voteForm(form, append([]string{"Sec-Fetch-Site", "same-origin"}, header...)...)
	req.URL.Path = "/submit"
	return r.do(req)
}

func TestPostingWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newSessionSite(t)
	bob := s.reader("bob")
	form := bob.open("/submit?link=https%3A%2F%2Fgo.dev%2F&title=A+%22title%22&group=go").one("", "noscript")
	for _, want := range []string{`value="https://go.dev/"`, `value="A &#34;title&#34;"`, `value="go"`, `action="/submit"`} {
		if !strings.Contains(form, want) {
			t.Errorf("the form lacks %s: %s", want, form)
		}
	}
	full := url.Values{"title": {"Go"}, "link": {"https://go.dev/"}, "groups": {"go, web"}, "text": {" "}}
	for range 2 { // a form that is sent twice is one post
		if sent := bob.submit(full); sent.status != http.StatusSeeOther || sent.header.Get("Location") != "/a/1" {
			t.Fatalf("got %d to %q", sent.status, sent.header.Get("Location"))
		}
	}
	s.Want("bob", `{ articles { title link text groups { name } } }`, `{"articles":[{"title":"Go","link":"https://go.dev/","text":null,"groups":[{"name":"go"},{"name":"web"}]}]}`)
	for _, tt := range []struct {
		by     string
		form   url.Values
		header []string
		status int
		says   string
	}{
		{"bob", url.Values{"title": {"Go again"}, "link": {"https://go.dev/"}}, nil, http.StatusConflict, "posted"},
		{"bob", url.Values{"title": {"Neither"}}, nil, http.StatusBadRequest, "link"},
		{"bob", url.Values{"title": {"No web address"}, "link": {"go.dev/x y"}}, nil, http.StatusBadRequest, "link"},
		{"", url.Values{"title": {"Anonymous"}, "text": {"words"}}, nil, http.StatusUnauthorized, "Sign in"},
		{"bob", url.Values{"title": {"Foreign"}, "text": {"words"}}, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden, "another site"},
		{"bob", url.Values{"title": {"Too long"}, "text": {strings.Repeat("x", 70_000)}}, nil, http.StatusBadRequest, "text"},
		{"bob", url.Values{"title": {"Far too long"}, "text": {strings.Repeat("x", 300_000)}}, nil, http.StatusBadRequest, "form"},
	} {
		sent := s.reader(tt.by).submit(tt.form, tt.header...)
		said := sent.one("", "main")
		if sent.status != tt.status || !strings.Contains(said, tt.says) {
			t.Errorf("%v by %q: got %d, which says %q", tt.form.Get("title"), tt.by, sent.status, said)
		}
		if tt.status == http.StatusConflict && sent.one("value", "input", "name", "link") != "https://go.dev/" {
			t.Errorf("the form is empty after a refusal: %s", sent.body)
		}
	}
	s.Want("bob", `{ articlesConnection { totalCount } }`, `{"articlesConnection":{"totalCount":1}}`)
}

func TestArticlesHaveCards(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, pages.Options{PublicURL: "https://news.example.org"})
	s.post("alice", "The tides", "https://www.example.com/tides", "")
	s.post("alice", "東京", "", "text")
	s.post("alice", "Gone", "", "text")
	s.Want("alice", `mutation { deleteArticle(input: {article: 3}) { deletedId } }`, `{"deleteArticle":{"deletedId":"article:3"}}`)
	card := s.get("/a/1/card.png")
	picture := require.Value(png.Decode(bytes.NewReader([]byte(card.body))))(t)
	if card.status != 200 || card.header.Get("Content-Type") != "image/png" || card.header.Get("Cache-Control") != "public, max-age=3600" || picture.Bounds().Dx() != cards.Width {
		t.Errorf("got %d with %v", card.status, card.header)
	}
	drawn := 0
	o := pages.Options{Work: func(_ *http.Request, points int, work func()) (time.Duration, error) {
		if points >= 200 {
			drawn++
		}
		work()
		return 0, nil
	}}
	again := withPages(t, s.redis, s.Site, o)
	for range 3 {
		if got := again.get("/a/1/card.png"); got.body != card.body {
			t.Errorf("got another card: %d with %v", got.status, got.header)
		}
	}
	if drawn != 1 {
		t.Errorf("a card was drawn, and charged, %d times, want once", drawn)
	}
	for _, path := range []string{"/a/2/card.png", "/a/3/card.png", "/a/9/card.png", "/a/x/card.png"} {
		if got := s.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: got %d", path, got.status)
		}
	}
	if got := s.get("/a/2"); got.meta("og:image") != "https://news.example.org/icon-512.png" || got.meta("twitter:card") != "summary" {
		t.Errorf("a title without letters for a card has the picture %q", got.meta("og:image"))
	}
}

func TestPostingByNameInDevelopment(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	anyone := (&sessionSite{testSite: s}).reader("")
	if form := anyone.open("/submit?title=Go"); !strings.Contains(form.one("", "noscript"), `name="name"`) {
		t.Errorf("the form does not ask for a name: %s", form.body)
	}
	full := url.Values{"name": {" alice "}, "title": {"Go"}, "link": {"https://go.dev/"}}
	if sent := anyone.submit(full); sent.status != http.StatusSeeOther || sent.header.Get("Location") != "/a/1" {
		t.Fatalf("got %d: %s", sent.status, sent.body)
	}
	s.Want("", `{ articles { title poster { name } } }`, `{"articles":[{"title":"Go","poster":{"name":"alice"}}]}`)
	long := strings.Repeat("語", 10_000) // as a browser sends it, 90 kB
	for _, tt := range []struct {
		form   url.Values
		header []string
		status int
		says   string
	}{
		{url.Values{"name": {"bob"}, "title": {"Again"}, "link": {"https://go.dev/"}, "text": {"why"}, "groups": {"go web"}}, nil, http.StatusConflict, "posted"},
		{url.Values{"name": {"bob"}, "title": {""}, "text": {"words"}}, nil, http.StatusBadRequest, "title"},
		{url.Values{"name": {"bob"}, "title": {strings.Repeat("x", 201)}, "text": {long}}, nil, http.StatusBadRequest, "title"},
		{url.Values{"name": {"a\u202eb"}, "title": {"Whose"}, "text": {"words"}}, nil, http.StatusUnauthorized, "name"},
		{url.Values{"name": {" "}, "title": {"Whose"}, "text": {"words"}}, nil, http.StatusUnauthorized, "Sign in"},
		{url.Values{"name": {"bob"}, "title": {"Foreign"}, "text": {"words"}}, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden, "another site"},
		{url.Values{"name": {"bob"}, "title": {"Foreign"}, "text": {"words"}}, []string{"Sec-Fetch-Site", "", "Origin", "https://evil.example"}, http.StatusForbidden, "another site"},
	} {
		sent := anyone.submit(tt.form, tt.header...)
		said := sent.one("", "main")
		if sent.status != tt.status || !strings.Contains(said, tt.says) {
			t.Errorf("%v: got %d, which says %q", tt.form, sent.status, said)
		}
		if tt.status == http.StatusForbidden {
			continue
		}
		kept := url.Values{}
		for _, name := range []string{"name", "title", "link", "groups"} {
			kept.Set(name, sent.one("value", "input", "name", name))
		}
		kept.Set("text", sent.one("", "textarea"))
		for name, values := range tt.form {
			if want := strings.TrimSpace(values[0]); kept.Get(name) != want {
				t.Errorf("%s: the form has %.60q after a refusal, want %.60q", name, kept.Get(name), want)
			}
		}
	}
	s.Want("", `{ articlesConnection { totalCount } }`, `{"articlesConnection":{"totalCount":1}}`)
}
