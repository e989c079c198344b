package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func block(s *sitetest.Site, by, user string, blocked bool) {
	s.T.Helper()
	s.Want(by, fmt.Sprintf(`mutation { blockUser(input: {user: %q, blocked: %v}) { user { name viewerHasBlocked } userErrors { code } } }`, user, blocked),
		fmt.Sprintf(`{"blockUser":{"user":{"name":%q,"viewerHasBlocked":%v},"userErrors":[]}}`, user, blocked))
}

// inEachList has the articles in each list that leaves out those of blocked users.
const inEachList = `{
	articles(order: TIME) { number } articlesConnection(order: TIME) { nodes { number } totalCount }
	group(name: "go") { articles(order: TIME) { number } articlesConnection(order: TIME) { nodes { number } totalCount } ranking(by: {formula: TOP}) { nodes { number } } }
	ranking(by: {formula: TOP}) { nodes { number } totalCount } host(name: "example.com") { articlesConnection { nodes { number } } }
}`

func TestArticlesOfBlockedUsersAreLeftOut(t *testing.T) {
	t.Parallel()
	rules := site.DefaultRules()
	rules.GroupTop = true
	s := sitetest.New(t, redistest.Start(t).Client, rules)
	for i := range 6 {
		s.Want([]string{"alice", "troll"}[i%2], fmt.Sprintf(`mutation { post(input: {title: "t", groups: ["go"], link: "https://example.com/%d"}) { userErrors { code } } }`, i), `{"post":{"userErrors":[]}}`)
		s.Advance(time.Minute)
	}
	all := s.AskText("bob", inEachList)
	if n := strings.Count(all, `{"number":2}`); n != 7 {
		t.Fatalf("before: article 2 is in %d lists, want 7: %s", n, all)
	}
	block(s, "bob", "troll", true)
	got := s.AskText("bob", inEachList)
	for _, number := range []string{"2", "4", "6"} {
		if strings.Contains(got, `{"number":`+number+`}`) {
			t.Errorf("article %s of a blocked user is listed: %s", number, got)
		}
	}
	if n := strings.Count(got, `{"number":3}`); n != 7 || strings.Count(got, `"totalCount":6`) != 3 {
		t.Errorf("article 3 is in %d lists, want 7, with all totals: %s", n, got)
	}
	for _, user := range []string{"", "alice", "troll"} {
		if got := s.AskText(user, inEachList); got != all {
			t.Errorf("%q sees %s, want %s", user, got, all)
		}
	}
	s.Want("bob", `{ user(name: "troll") { viewerHasBlocked articlesConnection { totalCount nodes { number } } } article(id: 2) { number } viewerBlocks { name } }`,
		`{"article":{"number":2},"user":{"articlesConnection":{"nodes":[{"number":6},{"number":4},{"number":2}],"totalCount":3},"viewerHasBlocked":true},"viewerBlocks":[{"name":"troll"}]}`)
	s.Vote("bob", "article:5", "UP")
	s.Want("bob", `{ articlesConnection(unvotedOnly: true, order: TIME) { nodes { number } } }`, `{"articlesConnection":{"nodes":[{"number":3},{"number":1}]}}`)
	s.Vote("bob", "article:5", "NONE")
	s.Want("troll", `{ user(name: "bob") { viewerHasBlocked } viewerBlocks { name } }`, `{"user":{"viewerHasBlocked":false},"viewerBlocks":[]}`)
	block(s, "bob", "troll", false)
	if got := s.AskText("bob", inEachList); got != all {
		t.Errorf("unblocked: %s, want %s", got, all)
	}
}

// A shared answer is never one from which something is left out, and a user who blocks others never gets a shared one.
func TestSharedAnswersLeaveNothingOut(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules(), func(o *endpoint.Options) { o.SharedAnswers = time.Minute })
	s.Post("alice", "good")
	s.Post("troll", "bad")
	block(s, "bob", "troll", true)
	const query = `{ articles(order: TIME) { title } articlesConnection(order: TIME) { nodes { title } } }`
	const all, some = `{"articles":[{"title":"bad"},{"title":"good"}],"articlesConnection":{"nodes":[{"title":"bad"},{"title":"good"}]}}`,
		`{"articles":[{"title":"good"}],"articlesConnection":{"nodes":[{"title":"good"}]}}`
	for range 2 {
		s.Want("bob", query, some)
		s.Want("", query, all)
		s.Want("alice", query, all)
		s.Want("bob", query, some)
	}
	other := sitetest.New(t, client, site.DefaultRules(), func(o *endpoint.Options) { o.SharedAnswers = time.Minute })
	other.Want("carol", query, all)
	other.Want("bob", query, some)
	follow(other)
	block(s, "carol", "troll", true)
	s.Want("carol", query, some)
	require.Eventually(t, "the block in another process", func() bool { return strings.Contains(other.AskText("carol", query), some) })
}
