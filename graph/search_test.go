package graph_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"frontpage/redisrepo"
	"frontpage/redisrepo/search"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// searched opens a site with search, which knows texts.
func searched(t *testing.T) *sitetest.Site {
	t.Helper()
	options := search.Options{Titles: true, Texts: true, Memory: 1 << 30}
	return sitetest.NewWith(t, redistest.Start(t).Client, site.DefaultRules(), redisrepo.WithSearch(options))
}

// followSearch runs the search of a site until the test ends, and waits until it is ready.
func followSearch(s *sitetest.Site) {
	ctx, stop := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() { s.Repo.Search.Follow(ctx, func(int, int) {}, func(error) {}) })
	s.T.Cleanup(func() { stop(); following.Wait() })
	require.Eventually(s.T, "search is ready", func() bool { return s.Repo.Search.Status().Ready })
}

func TestSearchOverTheAPI(t *testing.T) {
	t.Parallel()
	s := searched(t)
	want := func(query, want string) {
		t.Helper()
		if got := s.AskText("alice", query); !strings.Contains(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", query, got, want)
		}
	}
	want(`{ search(query: "go") { totalCount } }`, `"extensions":{"code":"SEARCH_NOT_READY","progress":0}`)
	followSearch(s)
	s.AskText("alice", `mutation { post(input: {title: "Über die Straße 🙂 nach Go", text: "Lang ist der Weg zum Ziel", groups: ["go"]}) { article { id } } }`)
	s.AskText("bob", `mutation { post(input: {title: "Go to the moon", link: "https://go.dev/moon"}) { article { id } } }`)
	fields := `totalCount isPartial suggestion indexedThrough pageInfo { hasNextPage } nodes { id } edges { tier titleRanges { start length } snippet snippetRanges { start length } node { id } }`
	want(`{ search(query: "strasse GO") { `+fields+` } }`, `{"data":{"search":{"totalCount":1,"isPartial":false,"suggestion":null,"indexedThrough":"2026-01-02T03:04:05.000Z","pageInfo":{"hasNextPage":false},"nodes":[{"id":"article:1"}],`+
		`"edges":[{"tier":"ALL","titleRanges":[{"start":9,"length":6},{"start":24,"length":2}],"snippet":null,"snippetRanges":[],"node":{"id":"article:1"}}]}}}`)
	want(`{ search(query: "weg ziel") { edges { tier snippet snippetRanges { start length } } } }`, `{"tier":"ALL","snippet":"Lang ist der Weg zum Ziel","snippetRanges":[{"start":13,"length":3},{"start":21,"length":4}]}`)
	want(`{ search(query: "the mown") { suggestion nodes { id } } }`, `{"suggestion":"the moon","nodes":[{"id":"article:2"}]}`)
	want(`{ search(query: "go", order: TIME, first: 1) { totalCount pageInfo { hasNextPage } } }`, `{"totalCount":2,"pageInfo":{"hasNextPage":true}}`)
	for filter, found := range map[string]string{
		`groups: ["GO"]`: "1", `notGroups: ["go"]`: "2", `hosts: ["go.dev"]`: "2", `posters: ["bob"]`: "2", `in: [TITLE], posters: ["alice"]`: "1",
		`minVotes: 2`: "", `maxVotes: 1, groups: []`: "", `postedAfter: "2027-01-01T00:00:00Z"`: "", `postedBefore: "2027-01-01T00:00:00Z", hosts: ["go.dev"]`: "2",
	} {
		nodes := ""
		if found != "" {
			nodes = fmt.Sprintf(`{"id":"article:%s"}`, found)
		}
		want(`{ search(query: "go", filter: {`+filter+`}) { nodes { id } } }`, `{"data":{"search":{"nodes":[`+nodes+`]}}}`)
	}
	want(`{ similarArticles(title: "Go to the sun") { node { id } } }`, `[{"node":{"id":"article:2"}}]`)
	for query, message := range map[string]string{
		`search(query: "") { totalCount }`:                                                            "query has 1 to 200 characters",
		`search(query: "` + strings.Repeat("x", 201) + `") { totalCount }`:                            "query has 1 to 200 characters",
		`search(query: "go", first: 101) { totalCount }`:                                              "first is between 1 and 100",
		`search(query: "go", after: "abc") { totalCount }`:                                            "after is not a cursor",
		`search(query: "go", filter: {groups: ["no group"]}) { totalCount }`:                          "a group name has 1 to 64 letters",
		`search(query: "go", filter: {hosts: [` + strings.Repeat(`"a.b" `, 11) + `]}) { totalCount }`: "at most 10 values",
		`similarArticles(title: "go", first: 11) { cursor }`:                                          "first is between 1 and 10",
	} {
		got := s.AskText("alice", "{ "+query+" }")
		if !strings.Contains(got, message) || !strings.Contains(got, "BAD_USER_INPUT") {
			t.Errorf("%s: got %s, want BAD_USER_INPUT with %q", query, got, message)
		}
	}
	s.AskText("alice", `mutation { blockUser(input: {user: "bob", blocked: true}) { userErrors { message } } }`)
	want(`{ search(query: "moon") { nodes { id } } similarArticles(title: "moon") { node { id } } }`, `{"data":{"search":{"nodes":[]},"similarArticles":[]}}`)
	s.AskText("alice", `mutation { deleteArticle(input: {article: "1"}) { userErrors { message } } }`)
	want(`{ search(query: "straße") { nodes { id } } }`, `{"data":{"search":{"nodes":[]}}}`)
}

// Whatever is searched for, there is an answer without errors.
func TestAnyQueryOfSearchIsAnswered(t *testing.T) {
	t.Parallel()
	s := searched(t)
	s.Post("alice", "[a-z]+(.*)$ שלום 東京 \" 'quoted'")
	followSearch(s)
	for _, text := range []string{"?", "\"", "\"\"\"", "[a-z]+(.*)$", "שלום עולם", "東京都", "\u202eabc", strings.Repeat("🙂", 200), strings.Repeat("東", 200), strings.Repeat("a ", 100), "\u0301", "%00", "a\u0000b"} {
		got := s.Ask("", fmt.Sprintf(`{ search(query: %s) { totalCount suggestion edges { titleRanges { start } node { id } } } }`, quoted(text)))
		if len(got.Errors) > 0 {
			t.Errorf("%q: %v", text, got.Errors)
		}
	}
}

// quoted returns a text as a string of GraphQL.
func quoted(text string) string {
	var b strings.Builder
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return `"` + b.String() + `"`
}
