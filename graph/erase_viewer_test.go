package graph_test

import (
	"strings"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redisrepo/erase"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

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
	if erased := must.Get(erase.Erased(t.Context(), s.Repo))(t); len(erased) != 0 {
		t.Fatalf("erased: %v", erased)
	}
	must.Get(s.Repo.DenyUser(t.Context(), "alice", new(s.Repo.Store.Now().Add(time.Hour)), site.GroundRules, "spam", site.Actor{Name: "mod", Moderator: true}))(t)
	erases := func(user, input string) {
		t.Helper()
		must.Soon(t, user+" is erased", func() bool {
			return s.Ask(user, `mutation { eraseViewer(input: `+input+`) { done } }`).Data["eraseViewer"].(map[string]any)["done"] == true
		})
	}
	erases("alice", `{confirm: "alice"}`)
	erases("bob", `{confirm: "bob", articles: REMOVE}`)
	s.Want("", `{ kept: article(id: 1) { title poster { name } } removed: article(id: 2) { id } }`, `{"kept":{"poster":{"name":"deleted user"},"title":"of alice"},"removed":null}`)
	s.Want("alice", `mutation { post(input: {title: "again", text: "x"}) { userErrors { code } } }`, `{"post":{"userErrors":[{"code":"DENIED"}]}}`)
	s.Want("bob", `mutation { post(input: {title: "another", text: "x"}) { userErrors { code } } }`, `{"post":{"userErrors":[]}}`)
}
