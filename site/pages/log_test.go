package pages_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"frontpage/graph"
	"frontpage/redisrepo/site"
	"frontpage/site/pages"
	"frontpage/site/web"
	"frontpage/tests/redistest"
	"frontpage/tests/sitetest"
)

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
