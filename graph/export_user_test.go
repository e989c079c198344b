package graph_test

import (
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// Users read their own export through the API, also while they are denied changes, and no other one.
func TestViewersExportWhatNamesThem(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
	s.Want("alice", `mutation { post(input: {title: "<mine>", text: "x"}) { userErrors { code } } }`, `{"post":{"userErrors":[]}}`)
	s.Want("bob", `mutation { vote(input: {article: 1, direction: DOWN}) { userErrors { code } } }`, `{"vote":{"userErrors":[]}}`)
	require.Value(s.Repo.Denials.DenyUser(t.Context(), "alice", new(s.Repo.Store.Now().Add(time.Hour)), site.GroundRules, "spam", site.Actor{Name: "mod", Moderator: true}))(t)
	export := func(user string) string {
		answer := s.Ask(user, `{ viewerExport { ndjson cursor isLast } }`)
		part, ok := answer.Data["viewerExport"].(map[string]any)
		if !ok || part["isLast"] != true || part["cursor"] != nil {
			t.Fatalf("the export of %s is %+v", user, answer)
		}
		return part["ndjson"].(string)
	}
	own := export("alice")
	for _, want := range []string{`"kind":"article","id":"article:1","title":"<mine>"`, `"kind":"denial"`, `"kind":"vote"`, `"kind":"end"`} {
		if !strings.Contains(own, want) {
			t.Errorf("the export lacks %s: %s", want, own)
		}
	}
	if other := export("bob"); strings.Contains(other, "mine") || strings.Contains(other, "alice") || !strings.Contains(other, `"direction":"down"`) || strings.Contains(own, "bob") {
		t.Errorf("alice has %s, bob %s", own, other)
	}
	for name, headers := range map[string][]string{
		"UNAUTHENTICATED": nil,
		"FORBIDDEN":       {"X-User-ID", "robot", "X-User-Roles", "service", "X-On-Behalf-Of", "alice"},
	} {
		if _, body := s.PostJSON(`{"query": "{ viewerExport { ndjson } }"}`, headers...); !strings.Contains(body, `"code":"`+name+`"`) {
			t.Errorf("%s: got %s", name, body)
		}
	}
}
