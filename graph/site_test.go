package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"frontpage/graph"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/sitetest"
)

// What a site has, and what its limits are, can be asked before a call fails.
func TestSiteSaysWhatAnApplicationHasToKnow(t *testing.T) {
	t.Parallel()
	const parts = `{ site { rules { reservedGroups rankings groupRankings frontPages voteLists events webhooks notices publicLog } } }`
	all := site.DefaultRules()
	all.GroupTop, all.ReservedGroups = true, []site.GroupPattern{"news", "status.*"}
	s := sitetest.NewAbout(t, redistest.Start(t).Client, graph.Site{PublicLog: true}, all)
	s.Want("", parts, `{"site":{"rules":{"reservedGroups":["news","status.*"],"rankings":true,"groupRankings":true,"frontPages":true,"voteLists":true,"events":true,"webhooks":true,"notices":true,"publicLog":true}}}`)
	s.Want("", `{ site { rules { maxTitle maxText maxLink maxGroups maxGroupName maxSaved maxFollowing maxBlocked } } }`,
		`{"site":{"rules":{"maxTitle":200,"maxText":10000,"maxLink":2000,"maxGroups":10,"maxGroupName":64,"maxSaved":1000,"maxFollowing":200,"maxBlocked":1000}}}`)

	none := site.DefaultRules()
	none.Calendar, none.FrontPages, none.VoteHistory, none.Events = false, 0, site.NoHistory, 0
	off := sitetest.New(t, redistest.Start(t).Client, none)
	off.Want("", parts, `{"site":{"rules":{"reservedGroups":[],"rankings":false,"groupRankings":false,"frontPages":false,"voteLists":false,"events":false,"webhooks":false,"notices":true,"publicLog":false}}}`)
	off.Post("alice", "article")
	off.Advance(time.Hour)
	off.Want("", `{ frontPage(at: "2026-01-02T04:00:00.000Z") { at } article(id: 1) { bestRank { rank } ranks { rank } } }`,
		`{"frontPage": null, "article": {"bestRank": null, "ranks": []}}`)
	for _, query := range []string{`{ ranking { totalCount } }`, `{ viewerVotes { nodes { id } } }`, `{ events { gap } }`} {
		if got := asText(t, as(off, "mod", "moderator", query)); !strings.Contains(got, "BAD_USER_INPUT") {
			t.Errorf("%s without this part: %s, want BAD_USER_INPUT", query, got)
		}
	}
}

// A group says whether a post into it would be accepted.
func TestGroupSaysWhetherTheViewerCanPost(t *testing.T) {
	t.Parallel()
	rules := site.DefaultRules()
	rules.ReservedGroups = []site.GroupPattern{"news", "status.*"}
	s := sitetest.New(t, redistest.Start(t).Client, rules)
	for _, who := range []struct{ user, roles string }{{"", ""}, {"alice", ""}, {"mod", "moderator"}, {"bot", "service"}} {
		for _, name := range []string{"go", "NEWS", "status.open", "status", "interesting", "a\u115fb"} {
			ask := fmt.Sprintf(`{ group(name: %q) { viewerCanPost } }`, name)
			can := strings.Contains(asText(t, as(s, who.user, who.roles, ask)), `"viewerCanPost":true`)
			post := fmt.Sprintf(`mutation { post(input: {title: "t", text: "x", groups: [%q]}) { article { id } userErrors { code } } }`, name)
			if posted := asText(t, as(s, who.user, who.roles, post)); can != strings.Contains(posted, `"userErrors":[]`) {
				t.Errorf("%s %s, %s: viewerCanPost is %t, but the post: %s", who.user, who.roles, name, can, posted)
			}
		}
	}
}

// Each connection has its items beside their edges.
func TestEachConnectionHasNodes(t *testing.T) {
	t.Parallel()
	for name, definition := range graph.Schema().Types {
		if definition.Fields.ForName("pageInfo") == nil {
			continue
		}
		if nodes := definition.Fields.ForName("nodes"); nodes == nil || !nodes.Type.NonNull || nodes.Type.Elem == nil {
			t.Errorf("%s has no list of nodes", name)
		}
		if edge := graph.Schema().Types[definition.Fields.ForName("edges").Type.Name()]; edge.Fields.ForName("node") == nil || edge.Fields.ForName("cursor") == nil {
			t.Errorf("%s has no node and cursor", edge.Name)
		}
	}
}

// Who acted is a user, or null for the command line, which is no user.
func TestActorsAreUsers(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for i := range 2 {
		s.Post("alice", fmt.Sprint(i))
	}
	moderate(s, deletion(1), `{"deleteArticle":{"deletedId":"article:1","userErrors":[]}}`)
	if _, err := s.Repo.Delete(t.Context(), 2, site.Actor{Name: site.CommandLine, Moderator: true}, site.Why{}); err != nil {
		t.Fatal(err)
	}
	const list = `{"edges":[{"article":{"id":"article:2"},"by":"command line","byUser":null,"node":{"id":"article:2"}},{"article":{"id":"article:1"},"by":"mod","byUser":{"id":"user:mod"},"node":{"id":"article:1"}}],"nodes":[{"id":"article:2"},{"id":"article:1"}]}`
	moderate(s, `{ deletedItems { edges { by byUser { id } node { id } article { id } } nodes { id } } }`, `{"deletedItems":`+list+`}`)
	const entries = `{"nodes":[{"by":"command line","byUser":null},{"by":"mod","byUser":{"id":"user:mod"}}]}`
	moderate(s, `{ moderationLog { nodes { by byUser { id } } } moderationActions { nodes { by byUser { id } } } }`, `{"moderationActions":`+entries+`,"moderationLog":`+entries+`}`)
	moderate(s, `{ events(kinds: [DELETED]) { nodes { articleId } } }`, `{"events":{"nodes":[{"articleId":"article:1"},{"articleId":"article:2"}]}}`)
}
