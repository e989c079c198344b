package graph_test

import (
	"context"
	"encoding/json"
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

// follow has a site follow what other processes deny until the test ends.
func follow(s *sitetest.Site) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Repo.Denials.Follow(ctx) }()
	s.T.Cleanup(func() { stop(); <-done })
}

// Every change by a denied user is refused in another process, with the reason, also on a socket that is open; its
// subscriptions go on, reading does, too, and nothing of what the user did is lost.
func TestDeniedUsersOnlyRead(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules())
	other := sitetest.New(t, client, site.DefaultRules())
	follow(other)
	id := s.Post("alice", "an article", "go")
	mine := s.Post("eve", "another", "go")
	s.Vote("eve", id, "UP")
	socket := other.Socket("", "X-User-ID", "eve")
	votes := socket.Watch("w", id) + 1
	moderate(s, `mutation { denyUser(input: {user: "eve", until: "2026-01-03T00:00:00.000Z", reason: "spam"}) { denial { user { name } until reason ground by { name } host { name } } userErrors { code } } }`,
		`{"denyUser":{"denial":{"by":{"name":"mod"},"ground":"RULES","host":null,"reason":"spam","until":"2026-01-03T00:00:00.000Z","user":{"name":"eve"}},"userErrors":[]}}`)
	const wanted = `userErrors { code field ... on DeniedError { until reason } } }`
	refused := `"userErrors":[{"code":"DENIED","field":null,"until":"2026-01-03T00:00:00.000Z","reason":"spam"}]`
	require.Eventually(t, "the denial in the other process", func() bool {
		return strings.Contains(other.AskText("eve", fmt.Sprintf(`mutation { vote(input: {article: "%s"}) { %s }`, id, wanted)), refused)
	})
	for name, input := range map[string]string{
		"post": `title: "t", text: "x"`, "vote": `article: "` + id + `", direction: NONE`, "editArticle": `article: "` + mine + `", title: "x"`,
		"deleteArticle": `article: "` + mine + `"`, "regroup": `article: "` + mine + `", add: ["x"]`, "restoreArticle": `article: "` + mine + `"`,
		"save": `article: "` + id + `"`, "follow": `target: "group:go"`,
	} {
		mutation := fmt.Sprintf(`mutation { %s(input: {%s}) { %s }`, name, input, wanted)
		for _, by := range []*sitetest.Site{s, other} {
			if got := by.AskText("eve", mutation); !strings.Contains(got, refused) {
				t.Errorf("%s: %s", name, got)
			}
		}
		socket.Subscribe(name, mutation, "")
		if m := socket.Read(); m.Type != "next" || !strings.Contains(string(m.Payload), refused) {
			t.Errorf("%s on a socket: %s %s", name, m.Type, m.Payload)
		}
		socket.Want("complete", name, "")
	}
	s.Vote("bob", id, "UP")
	if m := socket.Read(); m.ID != "w" || !strings.Contains(string(m.Payload), fmt.Sprint(`"votes":`, votes)) {
		t.Errorf("the subscription delivers %s %s, want %d votes", m.ID, m.Payload, votes)
	}
	other.Want("eve", fmt.Sprintf(`{ article(id: "%s") { viewerVote votes } viewer { denial { reason by { name } } } }`, id),
		fmt.Sprintf(`{"article":{"viewerVote":"UP","votes":%d},"viewer":{"denial":{"by":null,"reason":"spam"}}}`, votes))
	for _, by := range []*sitetest.Site{s, other} {
		by.Advance(24 * time.Hour)
		by.Want("eve", fmt.Sprintf(`mutation { vote(input: {article: "%s", direction: NONE}) { userErrors { code } } }`, id), `{"vote":{"userErrors":[]}}`)
		by.Want("eve", `{ viewer { denial { reason } } }`, `{"viewer":{"denial":null}}`)
	}
}

func TestWhoMaySeeDenials(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	moderate(s, `mutation { denyUser(input: {user: "eve", reason: "spam"}) { userErrors { code } } denyHost(input: {host: "Spam.example.", reason: "ads"}) { denial { host { name } subdomains } userErrors { code } } }`,
		`{"denyHost":{"denial":{"host":{"name":"spam.example"},"subdomains":true},"userErrors":[]},"denyUser":{"userErrors":[]}}`)
	const all = `{ deniedUsers { edges { cursor } nodes { user { name } by { name } until } pageInfo { hasNextPage } } deniedHosts { nodes { host { name } reason } } }`
	for _, user := range []string{"", "alice", "eve"} {
		a := s.Ask(user, all)
		if len(a.Errors) != 2 || a.Errors[0].Extensions.Code != "FORBIDDEN" {
			t.Errorf("%s: %v", user, a)
		}
		s.Want(user, `mutation { denyUser(input: {user: "bob", reason: "x"}) { denial { reason } userErrors { code } } denyHost(input: {host: "a.example", reason: "x"}) { userErrors { code } } }`,
			map[string]string{
				"":      `{"denyHost":{"userErrors":[{"code":"UNAUTHENTICATED"}]},"denyUser":{"denial":null,"userErrors":[{"code":"UNAUTHENTICATED"}]}}`,
				"alice": `{"denyHost":{"userErrors":[{"code":"FORBIDDEN"}]},"denyUser":{"denial":null,"userErrors":[{"code":"FORBIDDEN"}]}}`,
				"eve":   `{"denyHost":{"userErrors":[{"code":"DENIED"}]},"denyUser":{"denial":null,"userErrors":[{"code":"DENIED"}]}}`,
			}[user])
	}
	a := as(s, "mod", "moderator", all)
	if got := string(require.Value(json.Marshal(a.Data))(t)); len(a.Errors) > 0 || !strings.Contains(got, `{"by":{"name":"mod"},"until":null,"user":{"name":"eve"}}`) || !strings.Contains(got, `{"host":{"name":"spam.example"},"reason":"ads"}`) {
		t.Errorf("a moderator sees %s, %v", got, a.Errors)
	}
	s.Want("alice", `{ user(name: "eve") { denial { reason } } }`, `{"user":{"denial":null}}`)
	s.Want("alice", `mutation { post(input: {title: "t", link: "https://a.spam.example/"}) { userErrors { code field message } } }`,
		`{"post":{"userErrors":[{"code":"HOST_DENIED","field":["link"],"message":"links to spam.example are not accepted here: ads"}]}}`)
	moderate(s, `mutation { denyHost(input: {host: "spam.example", denied: false, reason: ""}) { userErrors { code } } }`, `{"denyHost":{"userErrors":[]}}`)
	s.Want("alice", `mutation { post(input: {title: "t", link: "https://a.spam.example/"}) { userErrors { code } } }`, `{"post":{"userErrors":[]}}`)
}

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
