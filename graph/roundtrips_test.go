package graph_test

import (
	"fmt"
	"testing"

	"frontpage/graph"
	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// Each query costs a known number of round trips, however long its page is.
func TestQueriesCostKnownRoundTrips(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for i := range 25 {
		s.Post("alice", fmt.Sprint("article ", i), "all", fmt.Sprint("g", i))
	}
	s.Ask("bob", `mutation { vote(input: {article: 8}) { article { id } } }`) // the first of a process finds out which front pages are saved
	require.NoError(t, s.Repo.Views.CatchUpAll(t.Context()))                  // so that no read has to
	s.StopListening()                                                         // while it reads the counter of articles, a post must find out whether the store went back in time
	tests := []struct {
		name  string
		query string
		trips int    // -1: not checked
		want  string // commands and how many of each
	}{
		{"a page", `{ articles { id title link text score votes createdAt poster { name } groups { name } } }`, 2, "hgetall 25, zrange 1"},
		{"a page of a group", `{ group(name: "all") { name articles { id title groups { name } } } }`, 2, "evalsha 1, hgetall 25"},
		{"a page with viewer fields", `{ articles { id viewerVote viewerCanVote } }`, 3, "evalsha 1, hgetall 25, zrange 1"},
		{"a page with what the viewer keeps", `{ articles { viewerHasSaved poster { viewerFollows } groups { viewerFollows } } }`, 5, "hgetall 25, zmscore 3, zrange 1"},
		{"saving", `mutation { save(input: {article: 7}) { article { id viewerHasSaved } } }`, 3, "evalsha 1, hgetall 1, zmscore 1"},
		{"following", `mutation { follow(input: {target: "group:all"}) { target { id } } }`, 1, "evalsha 1"},
		{"what the viewer saved", `{ viewerSaved { nodes { id } } }`, 2, "hgetall 1, zrange 1"},
		{"whom the viewer follows", `{ viewerFollowing { id } }`, 1, "zrevrange 1"},
		{"a page with counts", `{ articles { id groups { name articleCount } } }`, 3, "hgetall 25, scard 50, zrange 1"},
		{"one article", `{ article(id: 7) { id groups { name } } }`, 1, "hgetall 1"},
		{"several articles", `{ a: article(id: 7) { id } b: article(id: "article:8") { id } ... { c: node(id: "article:9") { id } } none: article(id: 99) { id } a2: article(id: 7) { title } }`, 1, "hgetall 4"},
		{"the site", `{ site { version rules { voteScore } } viewer { isModerator } }`, 0, ""},
		{"rights", `{ articles { viewerCanDelete viewerCanRegroup poster { isModerator } } }`, 2, "hgetall 25, zrange 1"},
		{"edits", `{ articles { editedAt viewerCanEdit history(first: 3) { title text } } }`, 2, "hgetall 25, zrange 1"}, // none was edited
		{"what scores are made of", `{ articles { rankedBy { formula postedAt votesWorth } votesToReach(rank: 3) } }`, 3, "hgetall 25, zrange 2"},
		{"a group's name", `{ group(name: "all") { id name } }`, 0, ""},
		{"a group's count", `{ group(name: "all") { articleCount } }`, 1, "scard 1"},
		{"a user", `{ user(name: "alice") { id name } viewer { id } }`, 0, ""},
		{"a post", `mutation { post(input: {title: "t", text: "x", groups: ["all"]}) { article { id groups { name } } } }`, 2, "evalsha 1, get 1, incrby 1"},
		{"a vote", `mutation { vote(input: {article: 7}) { article { id votes score } } }`, 1, "evalsha 1"},
		{"a vote that returns viewerVote", `mutation { vote(input: {article: 7, direction: NONE}) { article { viewerVote } } }`, 2, "evalsha 2"},
		{"a refused post", `mutation { post(input: {title: ""}) { userErrors { code } } }`, 0, ""},
		{"a page of a connection", `{ articlesConnection(first: 10) { edges { cursor node { id } } nodes { title } pageInfo { hasNextPage } } }`, 2, "evalsha 1, hgetall 10"},
		{"a page with the total", `{ articlesConnection(first: 10) { nodes { id } totalCount } }`, 3, "evalsha 1, hgetall 10, zcard 1"},
		{"a total alone", `{ articlesConnection { totalCount } }`, 1, "zcard 1"},
		{"page information alone", `{ group(name: "all") { articlesConnection { pageInfo { endCursor } } } }`, 1, "evalsha 1"},
		{"groups by name", `{ groups(first: 10) { nodes { name } } }`, 1, "zrange 1"},
		{"groups with counts", `{ groups(first: 10) { nodes { articleCount } } }`, 2, "scard 10, zrange 1"},
		{"nodes by id", `{ nodes(ids: ["1", "2", "group:all", "3", "user:alice"]) { id } }`, 1, "hgetall 3"},
		{"an empty page", `{ articles(page: 9) { id viewerVote } }`, 1, "zrange 1"},
		{"regrouping", `mutation { regroup(input: {article: 7, add: ["x"]}) { userErrors { code } } }`, 1, "evalsha 1"},
		{"two equal pages, whose articles are loaded once", `{ a: articles { id } b: articles { id title } }`, -1, "hgetall 25, zrange 2"},
	}
	for _, tt := range tests {
		s.Trips.Reset()
		if a := s.Ask("alice", tt.query); len(a.Errors) > 0 {
			t.Errorf("%s: got %v, want no errors", tt.name, a.Errors)
		}
		n, commands := s.Trips.Read()
		if got := sitetest.Tally(commands); got != tt.want || tt.trips >= 0 && n != tt.trips {
			t.Errorf("%s: got %d round trips with %s, want %d with %s", tt.name, n, got, tt.trips, tt.want)
		}
	}
}

// From the resolver to Redis and back: the listing, the loader and the articles. With the race detector, which adds
// one for each article, they are 377.
func TestLoadingAPageAllocatesLittle(t *testing.T) { // not parallel: the allocations of all goroutines are counted
	repo := require.Value(redisrepo.New(t.Context(), redistest.Start(t).Client, site.DefaultRules()))(t)
	for i := range 25 {
		n := fmt.Sprint(10 + i)
		d := site.Draft{Title: "A title of the usual length, number " + n, Link: new("https://example.com/2026/" + n), Groups: []string{"golang", "redis"}}
		require.Value(repo.Post(t.Context(), "alice", d))(t)
	}
	l := lists.AllArticles(site.ByScore, site.Descending)
	got := testing.AllocsPerRun(200, func() {
		if page, _, err := graph.Load(t.Context(), repo, l); err != nil || len(page) != 25 {
			t.Fatalf("Load = %d articles, %v, want 25", len(page), err)
		}
	})
	const most = 408
	if got > most {
		t.Errorf("%.0f allocations, want at most %d", got, most)
	}
}
