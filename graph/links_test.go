package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"frontpage/tests/sitetest"
)

func link(url string) string {
	return fmt.Sprintf(`mutation { post(input: {title: "t", link: %q}) { article { id } userErrors { __typename code field ... on DuplicateLinkError { articleId article { title votes } } } } }`, url)
}

// A legacy client checks no link. One that a browser would run, or look for on this site, is none.
func TestLinksWithAnotherSchemeAreNone(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.Post("alice", "t")
	for link, want := range map[string]string{
		"javascript:alert(1)": "null", " javascript:alert(1)": "null", "JavaScript://x/%0aalert(1)": "null", "java\tscript:alert(1)": "null", "data:text/html,<b>": "null", "vbscript:x": "null",
		"//other.example/": "null", "other.example": "null", "ftp://other.example/": "null", "\thttp://other.example/": "null",
		"http://other.example/": `"http://other.example/"`, "HTTPS://other.example/?x=javascript:": `"HTTPS://other.example/?x=javascript:"`,
	} {
		s.Client.HSet(t.Context(), "article:1", "link", link)
		s.Want("", `{ article(id: 1) { title link } node(id: "article:1") { ... on Article { link } } articles { link } }`,
			fmt.Sprintf(`{"article": {"title": "t", "link": %[1]s}, "node": {"link": %[1]s}, "articles": [{"link": %[1]s}]}`, want))
	}
	s.Client.HSet(t.Context(), "article:1", "link", "javascript:alert(1)")
	moderate(s, deletion(1), `{"deleteArticle":{"deletedId":"article:1","userErrors":[]}}`)
	if a := as(s, "mod", "moderator", `{ moderationLog { nodes { title link } } }`); fmt.Sprint(a.Data["moderationLog"]) != "map[nodes:[map[link:<nil> title:t]]]" {
		t.Errorf("the log is %v, want no link", a)
	}
}

func TestHostsListTheirArticles(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for i, link := range []string{"https://www.go.dev/0", "https://b.example/1", "http://go.dev:80/2", "https://GO.dev./3"} {
		s.Want("alice", fmt.Sprintf(`mutation { post(input: {title: "t%d", link: %q}) { article { number } } }`, i, link), fmt.Sprintf(`{"post": {"article": {"number": %d}}}`, i+1))
	}
	s.Want("alice", `mutation { post(input: {title: "text", text: "x"}) { article { host { name } } } }`, `{"post": {"article": {"host": null}}}`)

	s.Want("", `{ article(id: 1) { host { __typename id name articlesConnection(first: 2) { nodes { title } totalCount } } } }`,
		`{"article": {"host": {"__typename": "Host", "id": "host:go.dev", "name": "go.dev", "articlesConnection": {"nodes": [{"title": "t3"}, {"title": "t2"}], "totalCount": 3}}}}`)
	for _, name := range []string{"go.dev", "WWW.GO.DEV.", "go.dev:443"} {
		s.Want("", fmt.Sprintf(`{ host(name: %q) { id articlesConnection { totalCount } } }`, name), `{"host": {"id": "host:go.dev", "articlesConnection": {"totalCount": 3}}}`)
	}
	s.Want("", `{ host(name: "none.example") { name articlesConnection { nodes { id } pageInfo { hasNextPage endCursor } } } }`, `{"host": {"name": "none.example", "articlesConnection": {"nodes": [], "pageInfo": {"hasNextPage": false, "endCursor": null}}}}`)
	s.Want("", `{ node(id: "host:www.go.dev") { id ... on Host { name } } nodes(ids: ["host:b.example"]) { id } }`, `{"node": {"id": "host:go.dev", "name": "go.dev"}, "nodes": [{"id": "host:b.example"}]}`)
	for _, query := range []string{`{ host(name: "https://go.dev") { name } }`, `{ node(id: "host:a b") { id } }`, `{ host(name: "go.dev") { articlesConnection(first: 0) { totalCount } } }`} {
		if a := s.Ask("", query); len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "BAD_USER_INPUT" {
			t.Errorf("%s: got %v, want BAD_USER_INPUT", query, a.Errors)
		}
	}
	for query, want := range map[string]string{
		`{ host(name: "go.dev") { id name } }`:                                             "",
		`{ article(id: 1) { host { id name } } }`:                                          "hgetall 1",
		`{ article(id: 1) { host { articlesConnection(first: 6) { nodes { title } } } } }`: "evalsha 1, hgetall 3",
	} {
		s.Trips.Reset()
		s.Ask("", query)
		if n, commands := s.Trips.Read(); n > 3 || sitetest.Tally(commands) != want {
			t.Errorf("%s: %d round trips with %s, want at most 3 with %s", query, n, sitetest.Tally(commands), want)
		}
	}

	s.Want("alice", `mutation { deleteArticle(input: {article: 4}) { deletedId } }`, `{"deleteArticle": {"deletedId": "article:4"}}`)
	s.Want("", `{ host(name: "go.dev") { articlesConnection { nodes { title } } } }`, `{"host": {"articlesConnection": {"nodes": [{"title": "t2"}, {"title": "t0"}]}}}`)
}

// A walk over the articles of a host, in both directions, meets each of them; its cursors are of no other list.
func TestArticlesOfAHostArePaged(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	const n = 7
	for i := range n {
		s.Want("alice", fmt.Sprintf(`mutation { post(input: {title: "t", link: "https://go.dev/%d"}) { userErrors { code } } }`, i), `{"post": {"userErrors": []}}`)
	}
	type page struct {
		Host struct {
			ArticlesConnection struct {
				Nodes    []struct{ Number int }
				PageInfo struct {
					HasNextPage, HasPreviousPage bool
					StartCursor, EndCursor       string
				}
			}
		}
	}
	walk := func(arguments string, step func(page) (cursor string, more bool)) (numbers []int) {
		for cursor, more := "", true; more; {
			var p page
			readInto(s, fmt.Sprintf(`{ host(name: "go.dev") { articlesConnection(%s) { nodes { number } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`, fmt.Sprintf(arguments, cursor)), &p)
			for _, node := range p.Host.ArticlesConnection.Nodes {
				numbers = append(numbers, node.Number)
			}
			cursor, more = step(p)
			if a := s.Ask("", fmt.Sprintf(`{ host(name: "other.example") { articlesConnection(after: %q) { nodes { id } } } }`, cursor)); len(a.Errors) != 1 {
				t.Errorf("a cursor of another host: got no error")
			}
		}
		return numbers
	}
	forward := walk(`first: 3, after: %q`, func(p page) (string, bool) {
		info := p.Host.ArticlesConnection.PageInfo
		return info.EndCursor, info.HasNextPage
	})
	if got := fmt.Sprint(forward); got != "[7 6 5 4 3 2 1]" {
		t.Errorf("forward: %s", got)
	}
	backward := walk(`last: 3, before: %q`, func(p page) (string, bool) {
		info := p.Host.ArticlesConnection.PageInfo
		return info.StartCursor, info.HasPreviousPage
	})
	if got := fmt.Sprint(backward); strings.Count(got, " ") != n-1 || !strings.HasPrefix(got, "[3 2 1 6 5 4 7") {
		t.Errorf("backward: %s", got)
	}
}
