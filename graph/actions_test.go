package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"frontpage/graph"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/sitetest"
)

// Moderators read all actions, also those on users and hosts, and those on one of them.
func TestModerationActionsAreForModerators(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	id := s.Post("eve", "an advertisement", "go")
	moderate(s, `mutation { denyUser(input: {user: "eve", until: "2026-01-03T00:00:00.000Z", reason: "spam"}) { userErrors { code } } }`, `{"denyUser":{"userErrors":[]}}`)
	moderate(s, `mutation { denyHost(input: {host: "spam.example", reason: "ads"}) { userErrors { code } } }`, `{"denyHost":{"userErrors":[]}}`)
	moderate(s, `mutation { deleteArticle(input: {article: "`+id+`", ground: ILLEGAL, reason: "a fraud"}) { userErrors { code } } }`, `{"deleteArticle":{"userErrors":[]}}`)
	const fields = `nodes { kind target article { title } by ground reason title until } pageInfo { hasNextPage } } }`
	for _, user := range []string{"", "eve"} {
		if got := asText(t, s.Ask(user, `{ moderationActions { `+fields)); got != `{"moderationActions":null} FORBIDDEN` {
			t.Errorf("%s: %s", user, got)
		}
	}
	user := `{"article":null,"by":"mod","ground":"RULES","kind":"DENIED","reason":"spam","target":"user:eve","title":null,"until":"2026-01-03T00:00:00.000Z"}`
	host := `{"article":null,"by":"mod","ground":"RULES","kind":"DENIED","reason":"ads","target":"host:spam.example","title":null,"until":null}`
	article := `{"article":{"title":"an advertisement"},"by":"mod","ground":"ILLEGAL","kind":"DELETED","reason":"a fraud","target":"` + id + `","title":"an advertisement","until":null}`
	for arguments, want := range map[string]string{
		"": article + "," + host + "," + user, `(target: "user:eve")`: user, `(target: "host:Spam.example")`: host, `(target: "` + id + `")`: article, `(target: "user:bob")`: "",
	} {
		got := asText(t, as(s, "mod", "moderator", `{ moderationActions`+arguments+` { `+fields))
		if got != `{"moderationActions":{"nodes":[`+want+`],"pageInfo":{"hasNextPage":false}}}` {
			t.Errorf("moderationActions%s: %s", arguments, got)
		}
	}
	if got := asText(t, as(s, "mod", "moderator", `{ moderationActions(target: "eve") { nodes { kind } } }`)); got != `{"moderationActions":null} BAD_USER_INPUT` {
		t.Errorf("of no target: %s", got)
	}
	if got := asText(t, as(s, "mod", "moderator", `{ moderationLog { nodes { kind } } }`)); got != `{"moderationLog":{"nodes":[{"kind":"DELETED"}]}}` {
		t.Errorf("the moderation log has %s", got)
	}
}

// told opens a site that publishes its log and says how to object.
func told(t *testing.T) *sitetest.Site {
	return sitetest.NewAbout(t, redistest.Start(t).Client, graph.Site{PublicLog: true, Contact: new("mods@example.org")}, site.DefaultRules())
}

// Who is concerned learns how to object, and everybody how to reach the operator.
func TestRefusalsSayHowToObject(t *testing.T) {
	t.Parallel()
	s := told(t)
	id := s.Post("eve", "an advertisement", "go")
	moderate(s, `mutation { deleteArticle(input: {article: "`+id+`", reason: "ads"}) { userErrors { code } } denyUser(input: {user: "eve", reason: "spam"}) { userErrors { code } } }`,
		`{"deleteArticle":{"userErrors":[]},"denyUser":{"userErrors":[]}}`)
	s.Want("eve", `{ site { contact } article(id: "`+id+`") { removal { redress } } }`, `{"site":{"contact":"mods@example.org"},"article":{"removal":{"redress":"mods@example.org"}}}`)
	s.Want("eve", `mutation { vote(input: {article: 1}) { userErrors { ... on DeniedError { redress } } } }`, `{"vote":{"userErrors":[{"redress":"mods@example.org"}]}}`)
	silent := sitetest.Open(t)
	id = silent.Post("eve", "an advertisement", "go")
	moderate(silent, `mutation { deleteArticle(input: {article: "`+id+`", reason: "ads"}) { userErrors { code } } }`, `{"deleteArticle":{"userErrors":[]}}`)
	silent.Want("eve", `{ site { contact } article(id: "`+id+`") { removal { redress } } }`, `{"site":{"contact":null},"article":{"removal":{"redress":null}}}`)
}

// The public log names no one, and shows no title that may be illegal or that its poster has withdrawn.
func TestPublicLogNamesNobody(t *testing.T) {
	t.Parallel()
	s := told(t)
	ids := map[string]string{}
	for _, title := range []string{"an advertisement", "a threat", "not said yet", "withdrawn", "regrouped", "edited", "reported"} {
		ids[title] = s.Post("eve", title, "go")
	}
	do := func(mutation string, arguments ...any) {
		t.Helper()
		a := as(s, "mod", "moderator", fmt.Sprintf("mutation { "+mutation+" { userErrors { code message } } }", arguments...))
		if got := asText(t, a); !strings.HasSuffix(got, `"userErrors":[]}}`) {
			t.Fatalf(mutation+": %s", append(arguments, got)...)
		}
	}
	do(`regroup(input: {article: %q, add: ["web"], ground: RULES, reason: "about the web"})`, ids["regrouped"])
	do(`regroup(input: {article: %q, add: ["web"]})`, ids["withdrawn"])
	do(`editArticle(input: {article: %q, title: "an insult", reason: "shorter"})`, ids["edited"])
	do(`flag(input: {target: %q, reason: SPAM})`, ids["reported"])
	do(`settleFlags(input: {target: %q, throughReport: "report:%s.1", act: DISMISS})`, ids["reported"], strings.TrimPrefix(ids["reported"], "article:"))
	do(`deleteArticle(input: {article: %q, ground: RULES, basis: "Rule 2", reason: "ads"})`, ids["an advertisement"])
	do(`deleteArticle(input: {article: %q})`, ids["a threat"])
	do(`deleteArticle(input: {article: %q, ground: ILLEGAL, reason: "threats"})`, ids["a threat"])
	do(`deleteArticle(input: {article: %q})`, ids["not said yet"])
	do(`denyUser(input: {user: "mallory", reason: "spam"})`)
	do(`denyHost(input: {host: "spam.example", reason: "ads"})`)
	do(`describeGroup(input: {group: "go", description: "All about Go"})`)
	s.Ask("eve", `mutation { deleteArticle(input: {article: "`+ids["withdrawn"]+`"}) { deletedId } }`)
	const all = `{ publicLog { nodes { kind ground reason title } } }`
	entry := func(kind, ground, reason, title string) string {
		text := func(s string) string {
			if s == "" {
				return "null"
			}
			return `"` + s + `"`
		}
		return fmt.Sprintf(`{"kind":"%s","ground":%s,"reason":%s,"title":%s}`, kind, text(ground), text(reason), text(title))
	}
	want := `{"data":{"publicLog":{"nodes":[` + strings.Join([]string{
		entry("DENIED", "RULES", "ads", ""), entry("DENIED", "RULES", "spam", ""), entry("DELETED", "", "", ""),
		entry("DELETED", "ILLEGAL", "threats", ""), entry("DELETED", "", "", ""), entry("DELETED", "RULES", "ads", "an advertisement"),
		entry("EDITED", "OTHER", "shorter", "an insult"), entry("REGROUPED", "", "", ""), entry("REGROUPED", "RULES", "about the web", "regrouped"),
	}, ",") + `]}}}`
	for _, user := range []string{"", "eve", "mod"} {
		if got := s.AskText(user, all); got != want {
			t.Errorf("for %q:\n got %s\nwant %s", user, got, want)
		}
	}
	do(`editArticle(input: {article: %q, title: "a fact", ground: ILLEGAL, reason: "libel"})`, ids["edited"])
	if got := s.AskText("", all); strings.Contains(got, "insult") {
		t.Errorf("the title of illegal content is public: %s", got)
	}
	var pages, after string
	for after = "null"; after != ""; {
		a := s.Ask("", `{ publicLog(first: 2, after: `+after+`) { nodes { kind } pageInfo { hasNextPage endCursor } } }`).Data["publicLog"].(map[string]any)
		pages += fmt.Sprint(len(a["nodes"].([]any)))
		info := a["pageInfo"].(map[string]any)
		if after = ""; info["hasNextPage"].(bool) {
			after = fmt.Sprintf("%q", info["endCursor"])
		}
	}
	if total := strings.Count(pages, "2")*2 + strings.Count(pages, "1"); total != 10 {
		t.Errorf("pages of two have %s entries, want 10 together", pages)
	}
	off := sitetest.Open(t)
	moderate(off, `mutation { denyUser(input: {user: "mallory", reason: "spam"}) { userErrors { code } } }`, `{"denyUser":{"userErrors":[]}}`)
	off.Want("", all, `{"publicLog":null}`)
}
