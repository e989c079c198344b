package graph_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// as runs a query as a user with roles, which development mode accepts.
func as(s *sitetest.Site, user, roles, query string) sitetest.Answer {
	s.T.Helper()
	body := s.PostQuery(query, "X-User-ID", user, "X-User-Roles", roles)
	var a sitetest.Answer
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		s.T.Fatalf("want a GraphQL response: %v, got %s", err, body)
	}
	return a
}

// moderate runs a query as a moderator and compares the data.
func moderate(s *sitetest.Site, query, want string) {
	s.T.Helper()
	a := as(s, "mod", "moderator", query)
	if got := require.Value(json.Marshal(a.Data))(s.T); len(a.Errors) > 0 || string(got) != want {
		s.T.Errorf("%s\n got %s %v\nwant %s", query, got, a.Errors, want)
	}
}

func deletion(id any) string {
	return fmt.Sprintf(`mutation { deleteArticle(input: {article: "%v"}) { deletedId userErrors { code field } } }`, id)
}

// What the API says about the viewer's rights is what its mutations do.
func TestViewerKnowsTheirRights(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		s.Post("alice", "1")
		for _, tt := range []struct {
			user, roles    string
			may, moderator bool
		}{
			{"", "", false, false},
			{"", "moderator", false, false},
			{"bob", "", false, false},
			{"Alice", "", false, false},
			{"alice", "", true, false},
			{"mod", "moderator", true, true},
			{"alice", "moderator", true, true},
		} {
			a := as(s, tt.user, tt.roles, `{ viewer { name isModerator } article(id: 1) { viewerCanDelete viewerCanRegroup poster { name isModerator } } other: user(name: "carol") { isModerator } }`)
			article, viewer := a.Data["article"].(map[string]any), a.Data["viewer"]
			if article["viewerCanDelete"] != tt.may || article["viewerCanRegroup"] != tt.may {
				t.Errorf("%v: got %v, want both %v", tt, article, tt.may)
			}
			if tt.user == "" && viewer != nil || tt.user != "" && viewer.(map[string]any)["isModerator"] != tt.moderator {
				t.Errorf("%v: got the viewer %v", tt, viewer)
			}
			if poster := article["poster"].(map[string]any); poster["isModerator"] != (tt.moderator && tt.user == "alice") || a.Data["other"].(map[string]any)["isModerator"] != false {
				t.Errorf("%v: got the roles of other users: %v", tt, a.Data)
			}
			r := as(s, tt.user, tt.roles, `mutation { regroup(input: {article: 1, add: ["x"]}) { article { viewerCanDelete } userErrors { code } } }`)
			if done := len(r.Data["regroup"].(map[string]any)["userErrors"].([]any)) == 0; done != tt.may {
				t.Errorf("%v: got %v for a regrouping, want it accepted: %v", tt, r, tt.may)
			}
		}
	})
}

func TestSiteTellsItsRules(t *testing.T) {
	t.Parallel()
	const query = `{ site { name version rules { voteScore votingWindow interestingVotes downvotes posterVotes pageSize linkWindow editWindow } signIn signInURL explorer } }`
	server := redistest.Start(t)
	s := sitetest.New(t, server.Client, site.Rules{
		VoteScore: 100, VotingWindow: 100 * 365 * 24 * time.Hour, PosterVotes: true, InterestingVotes: 5, PageSize: 10, GroupCacheTTL: time.Minute, LinkWindow: time.Hour, EditWindow: 15 * time.Minute,
	})
	const want = `{"site": {"name": "Frontpage", "version": "test", "rules": {"voteScore": 100, "votingWindow": 2147483647, "interestingVotes": 5,
		"downvotes": false, "posterVotes": true, "pageSize": 10, "linkWindow": 3600, "editWindow": 900}, "signIn": "NAME", "signInURL": null, "explorer": false}}`
	s.Want("", query, want)
	s.Want("alice", query, want)
	server.Kill()
	if a := s.Ask("", `{ site { name } articles { id } groups { nodes { id } } moderationLog { nodes { by } } }`); a.Data["site"] == nil || a.Data["articles"] != nil || len(a.Errors) != 3 {
		t.Errorf("without the store: got %v, want the site and three errors", a)
	}
}

// Only moderators may read the log, over any transport and by either way to authenticate.
func TestModerationLogIsForModeratorsOnly(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.Post("alice", "t")
	moderate(s, deletion(1), `{"deleteArticle":{"deletedId":"article:1","userErrors":[]}}`)
	const query = `{ moderationLog(first: 1) { nodes { by } } }`
	for _, tt := range []struct{ user, roles string }{{"", ""}, {"", "moderator"}, {"alice", ""}, {"mod", ""}, {"mod", "MODERATOR"}, {"mod", "user"}} {
		a := as(s, tt.user, tt.roles, query)
		if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "FORBIDDEN" || len(a.Data) != 1 || a.Data["moderationLog"] != nil || slices.ContainsFunc(a.Errors, func(e sitetest.Error) bool { return strings.Contains(e.Message, "mod ") }) {
			t.Errorf("%v: got %v, want FORBIDDEN", tt, a)
		}
	}
	for _, header := range [][]string{{"X-User-ID", "mod", "X-User-Roles", "moderator"}, {"X-User-ID", "mod", "X-User-Roles", "staff,moderator"}} {
		if _, body := s.Get(query, header...); body != `{"data":{"moderationLog":{"nodes":[{"by":"mod"}]}}}` {
			t.Errorf("%v: got %s, want the log", header, body)
		}
		w := s.Socket("", header...)
		w.Subscribe("a", query, "")
		w.Want("next", "a", `{"data":{"moderationLog":{"nodes":[{"by":"mod"}]}}}`)
	}
	w := s.Socket(`{"X-User-ID":"mod","X-User-Roles":"moderator"}`)
	w.Subscribe("a", query, "")
	w.Want("next", "a", `{"data":{"moderationLog":{"nodes":[{"by":"mod"}]}}}`)
	// A payload with a name replaces the roles of the handshake.
	w = s.Socket(`{"X-User-ID":"bob"}`, "X-User-ID", "mod", "X-User-Roles", "moderator")
	w.Subscribe("a", query, "")
	if f := w.Read(); f.Type != "next" || !strings.Contains(string(f.Payload), "FORBIDDEN") {
		t.Errorf("bob on a moderator's handshake: got %s %s, want FORBIDDEN", f.Type, f.Payload)
	}
	byToken := sitetest.New(t, s.Client, site.DefaultRules(), sitetest.WithSecret(t), func(o *endpoint.Options) { o.Introspection = false })
	if _, body := byToken.Get(query, "Authorization", "Bearer "+sitetest.Token("roles", `["moderator"]`)); body != `{"data":{"moderationLog":{"nodes":[{"by":"mod"}]}}}` {
		t.Errorf("by token: got %s, want the log", body)
	}
}

// A service acts for a user over every transport, with that user's rights, and the log names both.
func TestServiceActsForAUser(t *testing.T) {
	t.Parallel()
	rules := site.DefaultRules()
	rules.ReservedGroups = []site.GroupPattern{"status.*"}
	s := sitetest.New(t, redistest.Start(t).Client, rules, func(o *endpoint.Options) {
		o.AuditSecret = strings.Repeat("s", 32)
		o.Rates.Votes, o.Rates.Addresses = endpoint.Rate{Most: 2, Window: time.Hour}, 1
	})
	s.Post("alice", "t")
	service := func(user, query, want string) {
		t.Helper()
		body := s.PostQuery(query, "X-User-ID", "app", "X-User-Roles", "service moderator", "X-On-Behalf-Of", user)
		if body != want {
			t.Errorf("%s: got %s, want %s", user, body, want)
		}
	}
	service("bob", `{ viewer { name } }`, `{"data":{"viewer":{"name":"bob"}}}`)
	service("bob", `{ article(id: 1) { viewerCanDelete viewerCanRegroup } }`, `{"data":{"article":{"viewerCanDelete":false,"viewerCanRegroup":true}}}`)
	service("bob", deletion(1), `{"data":{"deleteArticle":{"deletedId":null,"userErrors":[{"code":"FORBIDDEN","field":["article"]}]}}}`)
	if _, body := s.PostJSON(`{"query": "{ moderationLog { nodes { by } } }"}`, "X-User-ID", "app", "X-User-Roles", "service moderator", "X-On-Behalf-Of", "bob"); !strings.Contains(body, "FORBIDDEN") {
		t.Errorf("the log for bob: got %s, want FORBIDDEN", body)
	}
	service("bob", `mutation { regroup(input: {article: 1, add: ["status.planned"]}) { article { groups { name } } userErrors { code } } }`,
		`{"data":{"regroup":{"article":{"groups":[{"name":"status.planned"}]},"userErrors":[]}}}`)
	service("alice", `mutation { regroup(input: {article: 1, add: ["status.done", "go"]}) { article { groups { name } } userErrors { code } } }`,
		`{"data":{"regroup":{"article":{"groups":[{"name":"go"},{"name":"status.done"}]},"userErrors":[]}}}`)
	for _, user := range []string{"u1", "u2", "u3"} { // more than one address may cast
		service(user, `mutation { vote(input: {article: 1}) { changed userErrors { code } } }`, `{"data":{"vote":{"changed":true,"userErrors":[]}}}`)
	}
	for user, bucket := range bucketsOf(s, 1) {
		if bucket != "" {
			t.Errorf("the audit has the service's address for %s", user)
		}
	}
	for groups, path := range map[string]string{`["go", "status.open"]`: `["groups", "1"]`, `["go"]`: `["groups"]`} { // the second takes it out of one
		s.Want("alice", `mutation { editArticle(input: {article: 1, groups: `+groups+`}) { article { id } userErrors { code field } } }`,
			`{"editArticle": {"article": null, "userErrors": [{"code": "FORBIDDEN", "field": `+path+`}]}}`)
	}
	s.Want("alice", `mutation { regroup(input: {article: 1, add: ["status.open"]}) { article { id } userErrors { code field } } }`,
		`{"regroup": {"article": null, "userErrors": [{"code": "FORBIDDEN", "field": ["add", "0"]}]}}`)
	moderate(s, `{ moderationLog { nodes { kind by onBehalfOf groupsBefore groupsAfter } } }`, `{"moderationLog":{"nodes":[`+
		`{"by":"app","groupsAfter":["go","status.done"],"groupsBefore":["status.planned"],"kind":"REGROUPED","onBehalfOf":"alice"},`+
		`{"by":"app","groupsAfter":["status.planned"],"groupsBefore":[],"kind":"REGROUPED","onBehalfOf":"bob"}]}}`)

	response, body := s.PostJSON(`{"query": "{ viewer { name } }"}`, "X-User-ID", "alice", "X-User-Roles", "moderator", "X-On-Behalf-Of", "bob")
	if response.StatusCode != 403 || !strings.Contains(body, `"code":"FORBIDDEN"`) {
		t.Errorf("without the role: got %d %s, want 403 and FORBIDDEN", response.StatusCode, body)
	}
	w := s.Socket(`{"X-User-ID":"app","X-User-Roles":"service","X-On-Behalf-Of":"alice"}`)
	w.Subscribe("a", `{ viewer { name } }`, "")
	w.Want("next", "a", `{"data":{"viewer":{"name":"alice"}}}`)
}

// The poster and moderators learn that an article is deleted and why, also after the answer for everybody else was shared.
func TestPosterReadsWhyAnArticleIsDeleted(t *testing.T) {
	t.Parallel()
	rules := site.DefaultRules()
	s := sitetest.New(t, redistest.Start(t).Client, rules, func(o *endpoint.Options) { o.SharedAnswers = time.Minute })
	s.Post("alice", "spam", "go")
	const why = `ground: RULES, basis: "Rule 2", reason: "an <advertisement>"`
	moderate(s, `mutation { deleteArticle(input: {article: 1, `+why+`}) { userErrors { code } } }`, `{"deleteArticle":{"userErrors":[]}}`)
	const read = `{ article(id: 1) { title deletedAt } }`
	const full = `{ article(id: 1) { title removal { ground basis reason by { name } } } }`
	hidden, shown := `{"article": null}`, fmt.Sprintf(`{"article": {"title": "spam", "deletedAt": %q}}`, sitetest.Start.Format("2006-01-02T15:04:05.000Z"))
	s.Want("", read, hidden)
	s.Want("bob", read, hidden)
	s.Want("alice", read, shown)
	s.Want("bob", full, hidden)
	s.Want("alice", full, `{"article": {"title": "spam", "removal": {"ground": "RULES", "basis": "Rule 2", "reason": "an <advertisement>", "by": null}}}`)
	moderate(s, full, `{"article":{"removal":{"basis":"Rule 2","by":{"name":"mod"},"ground":"RULES","reason":"an \u003cadvertisement\u003e"},"title":"spam"}}`)
	moderate(s, `{ events(kinds: [DELETED]) { edges { node { removal { ground reason by { name } } } } } }`,
		`{"events":{"edges":[{"node":{"removal":{"by":{"name":"mod"},"ground":"RULES","reason":"an \u003cadvertisement\u003e"}}}]}}`)
	moderate(s, `{ moderationLog { nodes { kind ground basis reason } } }`,
		`{"moderationLog":{"nodes":[{"basis":"Rule 2","ground":"RULES","kind":"DELETED","reason":"an \u003cadvertisement\u003e"}]}}`)
	s.Want("alice", `{ node(id: "article:1") { id } articles { id } }`, `{"node": null, "articles": []}`)
	const restore = `mutation { restoreArticle(input: {article: 1}) { article { title } userErrors { code field } } }`
	s.Want("", restore, `{"restoreArticle": {"article": null, "userErrors": [{"code": "UNAUTHENTICATED", "field": null}]}}`)
	s.Want("alice", restore, `{"restoreArticle": {"article": null, "userErrors": [{"code": "FORBIDDEN", "field": ["article"]}]}}`)
	moderate(s, restore, `{"restoreArticle":{"article":{"title":"spam"},"userErrors":[]}}`)
	s.Want("alice", full, `{"article": {"title": "spam", "removal": null}}`)
	s.Want("alice", deletion(1), `{"deleteArticle": {"deletedId": "article:1", "userErrors": []}}`)
	s.Want("alice", restore, `{"restoreArticle": {"article": {"title": "spam"}, "userErrors": []}}`)
	moderate(s, `mutation { regroup(input: {article: 1, remove: ["go"], reason: "off topic"}) { userErrors { code } } }`, `{"regroup":{"userErrors":[]}}`)
	s.Want("alice", `{ article(id: 1) { removal { ground reason } } }`, `{"article": {"removal": {"ground": "OTHER", "reason": "off topic"}}}`)
	s.Want("bob", full, `{"article": {"title": "spam", "removal": null}}`)
}
