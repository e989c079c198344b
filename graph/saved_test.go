package graph_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/erase"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func save(s *sitetest.Site, user string, number int, saves bool) {
	s.T.Helper()
	s.Want(user, fmt.Sprintf(`mutation { save(input: {article: %d, saved: %t}) { article { number viewerHasSaved } userErrors { code } } }`, number, saves),
		fmt.Sprintf(`{"save":{"article":{"number":%d,"viewerHasSaved":%t},"userErrors":[]}}`, number, saves))
}

func followTarget(s *sitetest.Site, user, target string, follows bool) {
	s.T.Helper()
	s.Want(user, fmt.Sprintf(`mutation { follow(input: {target: %q, following: %t}) { target { id ... on Group { viewerFollows } ... on User { viewerFollows } } userErrors { code } } }`, target, follows),
		fmt.Sprintf(`{"follow":{"target":{"id":%q,"viewerFollows":%t},"userErrors":[]}}`, target, follows))
}

// Two viewers see what each of them saved, and nothing of the other.
func TestSavedArticlesAreTheViewersAlone(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for i := range 4 {
		s.Post("alice", fmt.Sprint("t", i+1))
	}
	for _, number := range []int{2, 1, 4, 2} {
		save(s, "bob", number, true)
	}
	save(s, "bob", 4, false)
	save(s, "bob", 4, false)
	save(s, "carol", 4, true)
	const own = `{ articles(order: TIME, direction: ASC) { viewerHasSaved } viewerSaved { nodes { number } edges { at node { number } } pageInfo { hasNextPage } } }`
	s.Want("bob", own, `{"articles":[{"viewerHasSaved":true},{"viewerHasSaved":true},{"viewerHasSaved":false},{"viewerHasSaved":false}],
		"viewerSaved":{"nodes":[{"number":1},{"number":2}],"edges":[{"at":"2026-01-02T03:04:05.001Z","node":{"number":1}},{"at":"2026-01-02T03:04:05.000Z","node":{"number":2}}],"pageInfo":{"hasNextPage":false}}}`)
	s.Want("carol", own, `{"articles":[{"viewerHasSaved":false},{"viewerHasSaved":false},{"viewerHasSaved":false},{"viewerHasSaved":true}],
		"viewerSaved":{"nodes":[{"number":4}],"edges":[{"at":"2026-01-02T03:04:05.000Z","node":{"number":4}}],"pageInfo":{"hasNextPage":false}}}`)
	s.Want("", `{ article(id: 1) { viewerHasSaved } group(name: "go") { viewerFollows } user(name: "bob") { viewerFollows } }`,
		`{"article":{"viewerHasSaved":null},"group":{"viewerFollows":null},"user":{"viewerFollows":null}}`)

	page := s.Ask("bob", `{ viewerSaved(first: 1) { nodes { number } pageInfo { endCursor hasNextPage } } }`).Data["viewerSaved"].(map[string]any)
	after := page["pageInfo"].(map[string]any)["endCursor"].(string)
	s.Want("bob", fmt.Sprintf(`{ viewerSaved(first: 1, after: %q) { nodes { number } pageInfo { hasPreviousPage hasNextPage } } }`, after),
		`{"viewerSaved":{"nodes":[{"number":2}],"pageInfo":{"hasPreviousPage":true,"hasNextPage":false}}}`)
	for user, code := range map[string]string{"carol": "BAD_USER_INPUT", "": "UNAUTHENTICATED"} {
		if a := s.AskText(user, fmt.Sprintf(`{ viewerSaved(after: %q) { nodes { id } } }`, after)); !strings.Contains(a, code) {
			t.Errorf("%q with a cursor of bob's got %s, want %s", user, a, code)
		}
	}

	s.Ask("alice", `mutation { deleteArticle(input: {article: 2}) { userErrors { code } } }`)
	s.Want("bob", `{ viewerSaved { nodes { number } edges { node { number } } } }`, `{"viewerSaved":{"nodes":[{"number":1}],"edges":[{"node":{"number":1}},{"node":null}]}}`)
	s.Want("carol", `mutation { save(input: {article: 2}) { article { id } userErrors { code field } } }`, `{"save":{"article":null,"userErrors":[{"code":"NOT_FOUND","field":["article"]}]}}`)
	s.Want("carol", `mutation { save(input: {article: 99}) { article { id } userErrors { code field } } }`, `{"save":{"article":null,"userErrors":[{"code":"NOT_FOUND","field":["article"]}]}}`)
	s.Want("bob", `mutation { save(input: {article: 2, saved: false}) { article { id } userErrors { code } } }`, `{"save":{"article":null,"userErrors":[]}}`)
	s.Want("bob", `{ viewerSaved { edges { node { number } } } }`, `{"viewerSaved":{"edges":[{"node":{"number":1}}]}}`)
	s.Want("", `mutation { save(input: {article: 1}) { article { id } userErrors { code } } }`, `{"save":{"article":null,"userErrors":[{"code":"UNAUTHENTICATED"}]}}`)
	s.WantNoLog()
}

func TestViewersFollowGroupsAndUsers(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.PostMany("alice", 3, "go")
	followTarget(s, "bob", "group:go", true)
	followTarget(s, "bob", "user:alice", true)
	followTarget(s, "bob", "user:zoë", true)
	followTarget(s, "bob", "user:zoë", false)
	s.Want("bob", `mutation { follow(input: {target: "group:Go"}) { target { id ... on Group { articleCount } } userErrors { code } } }`,
		`{"follow":{"target":{"id":"group:go","articleCount":3},"userErrors":[]}}`)
	const own = `{ viewerFollowing { id ... on Group { articleCount viewerFollows } ... on User { viewerFollows } } group(name: "go") { viewerFollows } articles { poster { viewerFollows } } }`
	s.Want("bob", own, `{"viewerFollowing":[{"id":"user:alice","viewerFollows":true},{"id":"group:go","articleCount":3,"viewerFollows":true}],"group":{"viewerFollows":true},
		"articles":[{"poster":{"viewerFollows":true}},{"poster":{"viewerFollows":true}},{"poster":{"viewerFollows":true}}]}`)
	s.Want("alice", own, `{"viewerFollowing":[],"group":{"viewerFollows":false},"articles":[{"poster":{"viewerFollows":false}},{"poster":{"viewerFollows":false}},{"poster":{"viewerFollows":false}}]}`)
	for target, code := range map[string]string{"article:1": "INVALID", "host:go.dev": "INVALID", "1": "INVALID", "group:a b": "INVALID", "user:": "INVALID", "x": "INVALID", "group:" + strings.Repeat("g", 65): "TOO_LONG"} {
		s.Want("bob", fmt.Sprintf(`mutation { follow(input: {target: %q}) { target { id } userErrors { code field } } }`, target),
			fmt.Sprintf(`{"follow":{"target":null,"userErrors":[{"code":%q,"field":["target"]}]}}`, code))
	}
	s.Want("", `mutation { follow(input: {target: "user:bob"}) { target { id } userErrors { code } } }`, `{"follow":{"target":null,"userErrors":[{"code":"UNAUTHENTICATED"}]}}`)
	for _, query := range []string{`{ viewerFollowing { id } }`, `{ viewerFeed { nodes { id } } }`, `{ viewerSaved { nodes { id } } }`} {
		if a := s.AskText("", query); !strings.Contains(a, `"code":"UNAUTHENTICATED"`) {
			t.Errorf("%s by an anonymous caller: %s", query, a)
		}
		if res, _ := s.Send("GET", "?query="+url.QueryEscape(query), "", "X-User-ID", "bob"); res.Header.Get("Cache-Control") != "private, no-store" {
			t.Errorf("%s: Cache-Control is %q", query, res.Header.Get("Cache-Control"))
		}
	}
	require.Value(erase.User(t.Context(), s.Repo, "alice", erase.Options{}))(t)
	s.Want("bob", `{ viewerFollowing { id } }`, `{"viewerFollowing":[{"id":"group:go"}]}`)
	require.Value(erase.User(t.Context(), s.Repo, "bob", erase.Options{}))(t)
	s.Want("bob", `{ viewerFollowing { id } viewerSaved { nodes { id } } }`, `{"viewerFollowing":[],"viewerSaved":{"nodes":[]}}`)
	s.WantNoLog()
}

// A feed has the articles of what the viewer follows, without deleted ones and those of blocked users, in pages that together have
// each once.
func TestFeedHasWhatTheViewerFollows(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
	var want []string
	for i := range 24 {
		poster, in := []string{"alice", "troll", "carol"}[i%3], []string{"go", "lua"}[i%2]
		s.Post(poster, fmt.Sprint(i), in)
		if poster == "carol" || poster != "troll" && in == "go" {
			want = append([]string{fmt.Sprint(i)}, want...)
		}
		s.Advance(time.Second)
	}
	followTarget(s, "bob", "group:go", true)
	followTarget(s, "bob", "user:carol", true)
	s.Want("bob", `{ viewerFeed(first: 3) { nodes { title } edges { node { title } } pageInfo { hasPreviousPage hasNextPage } } }`,
		`{"viewerFeed":{"nodes":[{"title":"23"},{"title":"22"},{"title":"20"}],"edges":[{"node":{"title":"23"}},{"node":{"title":"22"}},{"node":{"title":"20"}}],"pageInfo":{"hasPreviousPage":false,"hasNextPage":true}}}`)
	block(s, "bob", "troll", true)
	s.Want("alice", `{ viewerFeed { nodes { title } pageInfo { hasNextPage } } }`, `{"viewerFeed":{"nodes":[],"pageInfo":{"hasNextPage":false}}}`)
	s.Ask("carol", `mutation { deleteArticle(input: {article: 12}) { userErrors { code } } }`) // whose title is 11
	var got []string
	for after, more := "", true; more; {
		page := s.Ask("bob", fmt.Sprintf(`{ viewerFeed(first: 4, after: %q) { nodes { title } pageInfo { endCursor hasNextPage } } }`, after)).Data["viewerFeed"].(map[string]any)
		for _, node := range page["nodes"].([]any) {
			got = append(got, node.(map[string]any)["title"].(string))
		}
		info := page["pageInfo"].(map[string]any)
		after, more = fmt.Sprint(info["endCursor"]), info["hasNextPage"] == true
	}
	if got, want := strings.Join(got, " "), strings.Replace(strings.Join(want, " "), " 11 ", " ", 1); got != want {
		t.Errorf("the feed has %s, want %s", got, want)
	}
}

// What a feed looks at is charged: a viewer who follows much pays more for the same page.
func TestFeedIsChargedForWhatItLooksAt(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 10_000, Window: time.Hour}, Addresses: 4}))
	for i := range saved.MaxFollowed {
		require.NoError(t, s.Repo.Saved.FollowTarget(t.Context(), "bob", saved.Target{Group: site.GroupName(fmt.Sprint("g", i))}, true))
	}
	cost := func(user string) float64 {
		var remaining [2]float64
		for i := range remaining {
			remaining[i] = s.Ask(user, `{ rateLimit { remaining } }`).Data["rateLimit"].(map[string]any)["remaining"].(float64)
			s.Ask(user, `{ viewerFeed(first: 1) { nodes { id } } }`)
		}
		return remaining[0] - remaining[1]
	}
	if few, many := cost("alice"), cost("bob"); many-few < saved.MaxFollowed/20 || many-few > saved.MaxFollowed {
		t.Errorf("the feed of a user who follows nothing costs %v, of one who follows %d groups %v", few, saved.MaxFollowed, many)
	}
}
