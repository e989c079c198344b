package pages_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/site/pages"
	"frontpage/site/web"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// language knows what a page in one language may say: the texts of the site, numbers, and the names and titles of a test.
type language struct {
	patterns []*regexp.Regexp // of whole texts, and of their parts between names in braces
	known    []string
}

func readLanguage(t *testing.T, code string, known ...string) language {
	t.Helper()
	var tree any
	require.NoError(t, json.Unmarshal(require.Value(os.ReadFile("../web/site/strings/"+code+".json"))(t), &tree))
	l := language{known: known}
	braces := regexp.MustCompile(`\\\{\w+\\\}`)
	var add func(any)
	add = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for _, each := range v {
				add(each)
			}
		case string:
			quoted := regexp.QuoteMeta(v)
			l.patterns = append(l.patterns, regexp.MustCompile("^"+braces.ReplaceAllString(quoted, "(.+)")+"$"))
			for _, part := range braces.Split(quoted, -1) {
				l.patterns = append(l.patterns, regexp.MustCompile("^"+strings.TrimSpace(part)+"$"))
			}
		}
	}
	add(tree)
	return l
}

var number = regexp.MustCompile(`^[+−]?[\d.,:-]+$`)

// has reports whether a text is one of the language, with texts of it instead of names in braces.
func (l language) has(text string) bool {
	if text = strings.TrimSpace(text); text == "" || number.MatchString(text) || slices.Contains(l.known, text) {
		return true
	}
	for _, between := range []string{" · ", ". "} { // of several texts
		if first, rest, found := strings.Cut(text, between); found && (l.has(first) || l.has(first+".")) && l.has(rest) {
			return true
		}
	}
	return slices.ContainsFunc(l.patterns, func(pattern *regexp.Regexp) bool {
		match := pattern.FindStringSubmatch(text)
		return match != nil && !slices.ContainsFunc(match[1:], func(part string) bool { return !l.has(part) })
	})
}

// texts are what a page says to users: its texts, and those of attributes.
func (r *response) texts() (texts []string) {
	for node := range r.root.Descendants() {
		switch {
		case node.Type == html.TextNode && !slices.Contains([]string{"script", "style", "kbd"}, node.Parent.Data):
			texts = append(texts, node.Data)
		case node.Type == html.ElementNode:
			for _, name := range []string{"aria-label", "title", "alt", "placeholder"} {
				texts = append(texts, attribute(node, name))
			}
			if named := attribute(node, "name") + attribute(node, "property"); node.Data == "meta" && regexp.MustCompile(`title$|description$|site_name$`).MatchString(named) {
				texts = append(texts, attribute(node, "content"))
			}
		}
	}
	return texts
}

func TestPagesSpeakTheLanguageOfTheSite(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, pages.Options{Site: web.Options{Site: true, Texts: require.Value(web.ReadTexts("de"))(t)}})
	german := readLanguage(t, "de", "Frontpage", "Atom", "JSON Feed", "ada", "ben", "g1", "g2", "g3", "g4", "g5", "T1", "T2", "T3", "T4", "Wörter", "example.org", "/x", "/y", "nichts", "interesting", "…")
	look := func(path, user string, status int) {
		t.Helper()
		p := s.get(path, map[bool][]string{true: {"X-User-ID", user}}[user != ""]...)
		if p.status != status || p.one("lang", "html") != "de" {
			t.Errorf("%s: got %d in %q, want %d in German", path, p.status, p.one("lang", "html"), status)
		}
		for _, text := range p.texts() {
			if !german.has(text) {
				t.Errorf("%s by %q says %q, which is not a text in German", path, user, text)
			}
		}
	}
	for _, path := range []string{"/", "/groups", "/top/day", "/g/interesting"} {
		look(path, "", 200)
	}
	look("/g/nichts", "", 404)
	look("/u/ada", "ada", 200)
	s.post("ada", "T1", "https://example.org/x", "", "g1", "g2", "g3", "g4", "g5")
	s.post("ben", "T2", "", "Wörter")
	s.post("ben", "T3", "", "Wörter", "g1")
	s.post("ben", "T4", "https://example.org/y", "", "g1")
	for article, direction := range map[string]string{"article:1": "UP", "article:2": "DOWN"} {
		s.Vote("ada", article, direction)
		s.Vote("ben", article, direction)
	}
	require.Value(s.Repo.Edit(t.Context(), 2, site.Actor{Name: "ben"}, redisrepo.Edit{Text: new("Wörter")}))(t)
	require.Value(s.Repo.Delete(t.Context(), 3, site.Actor{Name: "ben"}, site.Why{}))(t)
	further := regexp.MustCompile(`"endCursor":"([^"]+)"`).FindStringSubmatch(s.get("/new").body)
	for _, user := range []string{"", "ada"} {
		for _, path := range []string{"/", "/new", "/g/g1", "/g/g1/new", "/u/ada", "/u/ben", "/a/1", "/a/2", "/groups", "/groups?prefix=nichts", "/top/all", "/from/example.org", "/new?after=" + further[1]} {
			look(path, user, 200)
		}
		look("/a/3", user, 410)
		look("/a/99", user, 404)
	}
	s.redis.Kill()
	look("/", "", 503)
	s = newSiteWith(t, pages.Options{Site: web.Options{Site: true, Texts: require.Value(web.ReadTexts("de"))(t)}},
		sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 5, Window: time.Minute}, Addresses: 1}))
	look("/", "", 429)
}
