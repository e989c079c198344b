package graph_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// Moderators take votes out and put them back. The voter sees it with the reason, and others see neither voters nor votes.
func TestVotesThatDoNotCount(t *testing.T) {
	sitetest.EachStore(t, votesThatDoNotCount)
}

func votesThatDoNotCount(t *testing.T, s *sitetest.Site) {
	const id = "article:1"
	s.Want("alice", `mutation { post(input: {title: "one", text: "x"}) { article { id } } }`, `{"post":{"article":{"id":"article:1"}}}`)
	for _, voter := range []string{"bob", "eve"} {
		s.Want(voter, `mutation { vote(input: {article: 1}) { changed } }`, `{"vote":{"changed":true}}`)
	}
	want := func(user, role, document, want string) {
		t.Helper()
		if got := query(s, user, role, document); got != want {
			t.Errorf("%s as %s: got %s\nwant %s", document, user, got, want)
		}
	}
	want("alice", "", `mutation { voidVotes(input: {article: 1, users: ["eve"], reason: "x"}) { article { id } voided userErrors { code field } } }`,
		`{"voidVotes":{"article":null,"userErrors":[{"code":"FORBIDDEN","field":["users"]}],"voided":0}}`)
	want("mod", "moderator", `mutation { voidVotes(input: {article: 1, users: ["eve", "zoe"], reason: "a ring"}) { article { votes } voided userErrors { code } } }`,
		`{"voidVotes":{"article":{"votes":2},"userErrors":[],"voided":1}}`)
	want("eve", "", `mutation { vote(input: {article: 1, direction: NONE}) { changed article { votes } userErrors { code message field ... on DeniedError { reason until } } } }`,
		`{"vote":{"article":{"votes":2},"changed":false,"userErrors":[{"code":"DENIED","field":["article"],"message":"a moderator has taken your vote on article:1 out of the counts, and it stays out: a ring","reason":"a ring","until":null}]}}`)
	mine := `{ article(id: "` + id + `") { viewerVote viewerCanVote viewerVoid { direction reason by { name } } } viewerVotes { edges { direction void { reason } } } }`
	want("eve", "", mine, `{"article":{"viewerCanVote":false,"viewerVoid":{"by":null,"direction":"UP","reason":"a ring"},"viewerVote":"NONE"},"viewerVotes":{"edges":[{"direction":"UP","void":{"reason":"a ring"}}]}}`)
	want("bob", "", mine, `{"article":{"viewerCanVote":true,"viewerVoid":null,"viewerVote":"UP"},"viewerVotes":{"edges":[{"direction":"UP","void":null}]}}`)
	all := `{ article(id: 1) { voters { nodes { name } edges { direction isVoid void { by { name } } } pageInfo { hasNextPage } } } user(name: "eve") { votesCast { edges { node { id } void { by { name } } } } } }`
	want("mod", "moderator", all, `{"article":{"voters":{"edges":[{"direction":"UP","isVoid":false,"void":null},{"direction":"UP","isVoid":false,"void":null},{"direction":"UP","isVoid":true,"void":{"by":{"name":"mod"}}}],`+
		`"nodes":[{"name":"alice"},{"name":"bob"},{"name":"eve"}],"pageInfo":{"hasNextPage":false}}},"user":{"votesCast":{"edges":[{"node":{"id":"article:1"},"void":{"by":{"name":"mod"}}}]}}}`)
	for _, user := range []string{"", "alice", "eve"} {
		want(user, "", all, `{"article":{"voters":null},"user":{"votesCast":null}}`)
	}
	if got := query(s, "mod", "moderator", `{ article(id: 1) { voters(direction: NONE) { nodes { name } } } }`); !strings.Contains(got, "BAD_USER_INPUT") {
		t.Errorf("voters of no direction: %s, want BAD_USER_INPUT", got)
	}
	want("mod", "moderator", `{ events(kinds: [VOTES_VOIDED]) { edges { node { articleId votes by { name } direction groups removal { reason } } } } moderationLog { nodes { kind by reason } } }`,
		`{"events":{"edges":[{"node":{"articleId":"article:1","by":{"name":"mod"},"direction":null,"groups":null,"removal":{"reason":"a ring"},"votes":2}}]},"moderationLog":{"nodes":[{"by":"mod","kind":"VOTES_VOIDED","reason":"a ring"}]}}`)
	want("mod", "moderator", `mutation { voidVotes(input: {article: 1, users: ["eve"], void: false, reason: ""}) { article { votes } voided } }`, `{"voidVotes":{"article":{"votes":3},"voided":0}}`)
	want("eve", "", mine, `{"article":{"viewerCanVote":true,"viewerVoid":null,"viewerVote":"UP"},"viewerVotes":{"edges":[{"direction":"UP","void":null}]}}`)
}

// A page of voters costs more the more voters there are: all their names are read.
func TestVotersAreChargedByTheirNumber(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 250, Window: time.Hour}, Addresses: 1}))
	const votes = 16_000
	_, errs := s.Repo.Import(t.Context(), []redisrepo.Imported{{ID: 1, Poster: "poster", PostedAt: sitetest.Start.Add(-time.Minute), Votes: votes, Draft: site.Draft{Title: "t"}}})
	require.NoError(t, errors.Join(errs...))
	few := s.Post("alice", "few")
	spent := func(moderator, id string) int {
		t.Helper()
		if got := query(s, moderator, "moderator", fmt.Sprintf(`{ article(id: %q) { voters(first: 1) { nodes { name } } } }`, id)); !strings.Contains(got, `"voters":{"nodes":[`) {
			t.Errorf("got %s", got)
		}
		return sitetest.RateCount(t, client, "cost:user:"+moderator)
	}
	if one, many := spent("mod", few), spent("deputy", "1"); many != one+votes/80-50 {
		t.Errorf("voters cost %d points, and %d if there are %d, want %d more", one, many, votes, votes/80-50)
	}
}
