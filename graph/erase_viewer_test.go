package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/erase"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// One erasure of a site runs at a time, in whatever process. It pays for what it looks at, and no call waits for longer than half of
// the time that a request has.
func TestErasuresTakeTurns(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	short := func(o *endpoint.Options) { o.Timeout = time.Second }
	s := sitetest.New(t, client, site.DefaultRules(), short, sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 9_000, Window: time.Hour}, Addresses: 1}))
	other := require.Value(redisrepo.New(t.Context(), client, site.DefaultRules(), redisrepo.WithClock(func() time.Time { return sitetest.Start })))(t)
	for i := range 300 {
		require.NoError(t, client.Set(t.Context(), fmt.Sprint("query:", i), "x", 0).Err())
	}
	spent := func() (all int) {
		for _, key := range sitetest.RateKeys(t, client) {
			all = max(all, sitetest.RateCount(t, client, key))
		}
		return all
	}
	const erase = `mutation { eraseViewer(input: {confirm: "alice"}) { done } }`
	_, taken, err := other.Erasing.Take(t.Context())
	if err != nil || !taken {
		t.Fatal(taken, err)
	}
	s.Want("alice", erase, `{"eraseViewer":{"done":false}}`)
	if n := client.HLen(t.Context(), "denials:").Val(); n != 0 {
		t.Errorf("an erasure began beside that of another process: %d denials", n)
	}
	require.NoError(t, other.Erasing.GiveBack(t.Context()))
	began := time.Now()
	s.Want("alice", erase, `{"eraseViewer":{"done":false}}`) // it waits 1.5 s for requests under way
	if took := time.Since(began); took > 900*time.Millisecond {
		t.Errorf("a call waited %v for the erasure, want half a second", took)
	}
	require.Eventually(t, "the erasure has ended", func() bool { return client.ZCard(t.Context(), "erased:").Val() == 1 })
	require.Eventually(t, "it was paid", func() bool { return spent() > 2*2000+100 })
}

// Viewers erase themselves if they type their names, also while they are denied changes, and a denial stays. Others cannot.
func TestViewersEraseThemselves(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
	for _, user := range []string{"alice", "bob"} {
		s.Want(user, `mutation { post(input: {title: "of `+user+`", text: "x"}) { userErrors { code } } }`, `{"post":{"userErrors":[]}}`)
	}
	const refused = `mutation { eraseViewer(input: {confirm: "alice"}) { done userErrors { code field } } }`
	s.Want("", refused, `{"eraseViewer":{"done":false,"userErrors":[{"code":"UNAUTHENTICATED","field":null}]}}`)
	s.Want("bob", refused, `{"eraseViewer":{"done":false,"userErrors":[{"code":"INVALID","field":["confirm"]}]}}`)
	_, body := s.PostJSON(`{"query": "mutation { eraseViewer(input: {confirm: \"alice\"}) { done userErrors { code } } }"}`, "X-User-ID", "robot", "X-User-Roles", "service", "X-On-Behalf-Of", "alice")
	if !strings.Contains(body, `{"eraseViewer":{"done":false,"userErrors":[{"code":"FORBIDDEN"}]}}`) {
		t.Errorf("a service got %s", body)
	}
	if erased := require.Value(erase.Erased(t.Context(), s.Repo))(t); len(erased) != 0 {
		t.Fatalf("erased: %v", erased)
	}
	require.Value(s.Repo.Denials.DenyUser(t.Context(), "alice", new(s.Repo.Store.Now().Add(time.Hour)), site.GroundRules, "spam", site.Actor{Name: "mod", Moderator: true}))(t)
	erases := func(user, input string) {
		t.Helper()
		require.Eventually(t, user+" is erased", func() bool {
			return s.Ask(user, `mutation { eraseViewer(input: `+input+`) { done } }`).Data["eraseViewer"].(map[string]any)["done"] == true
		})
	}
	erases("alice", `{confirm: "alice"}`)
	erases("bob", `{confirm: "bob", articles: REMOVE}`)
	s.Want("", `{ kept: article(id: 1) { title poster { name } } removed: article(id: 2) { id } }`, `{"kept":{"poster":{"name":"deleted user"},"title":"of alice"},"removed":null}`)
	s.Want("alice", `mutation { post(input: {title: "again", text: "x"}) { userErrors { code } } }`, `{"post":{"userErrors":[{"code":"DENIED"}]}}`)
	s.Want("bob", `mutation { post(input: {title: "another", text: "x"}) { userErrors { code } } }`, `{"post":{"userErrors":[]}}`)
}
