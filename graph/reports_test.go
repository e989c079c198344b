package graph_test

import (
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

// hostile are texts that a page must not take for anything but text.
var hostile = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"><svg/onload=alert(1)>`, `javascript:alert(1)`, `</textarea><script>`, `{{constructor}}`,
	"' OR 1=1 --", `&lt;b&gt;`, "line\u2028separator", "two\nlines\tand a tab", `\u003cscript\u003e`, "`${alert(1)}`", "日本 🚀",
}

// query runs a query of a user with roles, and returns its data as JSON and the codes of its errors.
func query(s *sitetest.Site, user, roles, text string) string {
	s.T.Helper()
	a := as(s, user, roles, text)
	got := string(require.Value(json.Marshal(a.Data))(s.T))
	if len(a.Errors) > 0 {
		got += fmt.Sprint(" ", a.Errors)
	}
	return got
}

func flagging(id any, reason, note string) string {
	text, _ := json.Marshal(note)
	return fmt.Sprintf(`mutation { flag(input: {target: "%v", reason: %s, note: %s}) { report { id kind reason note state by { name } article { title } } userErrors { code field } } }`, id, reason, text)
}

func TestReportsInTheAPI(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		s.Post("alice", "one")
		s.Post("alice", "two")
		for _, tt := range []struct{ user, query, want string }{
			{"", flagging(1, "SPAM", ""), `{"flag":{"report":null,"userErrors":[{"code":"UNAUTHENTICATED","field":null}]}}`},
			{"alice", flagging(1, "SPAM", ""), `{"flag":{"report":null,"userErrors":[{"code":"FORBIDDEN","field":["target"]}]}}`},
			{"bob", flagging(9, "SPAM", ""), `{"flag":{"report":null,"userErrors":[{"code":"NOT_FOUND","field":["target"]}]}}`},
			{"bob", flagging(1, "SPAM", strings.Repeat("x", 501)), `{"flag":{"report":null,"userErrors":[{"code":"TOO_LONG","field":["note"]}]}}`},
			{"bob", flagging(1, "OFF_TOPIC", "note"), `{"flag":{"report":{"article":{"title":"one"},"by":null,"id":"report:1.1","kind":"FLAG","note":"note","reason":"OFF_TOPIC","state":"OPEN"},"userErrors":[]}}`},
		} {
			if got := query(s, tt.user, "", tt.query); got != tt.want {
				t.Errorf("%s: %s\n got %s\nwant %s", tt.user, tt.query, got, tt.want)
			}
		}
		s.Advance(time.Second)
		query(s, "carol", "", flagging("article:2", "ILLEGAL", ""))
		queue := `{ flagged { totalCount nodes { target openCount latestReport article { title openReports { id } } reports { reason note by { name } contact { name } } } } }`
		moderate(s, queue, `{"flagged":{"nodes":[`+
			`{"article":{"openReports":[{"id":"report:2.1"}],"title":"two"},"latestReport":"report:2.1","openCount":1,"reports":[{"by":{"name":"carol"},"contact":null,"note":null,"reason":"ILLEGAL"}],"target":"article:2"},`+
			`{"article":{"openReports":[{"id":"report:1.1"}],"title":"one"},"latestReport":"report:1.1","openCount":1,"reports":[{"by":{"name":"bob"},"contact":null,"note":"note","reason":"OFF_TOPIC"}],"target":"article:1"}],"totalCount":2}}`)
		for _, user := range []string{"", "bob", "alice"} {
			if got := query(s, user, "", queue); !strings.HasPrefix(got, `{"flagged":null} `) || !strings.Contains(got, "FORBIDDEN") {
				t.Errorf("%q reads the queue: %s", user, got)
			}
			if got := query(s, user, "", `{ article(id: 1) { openReports { id } } }`); got != `{"article":{"openReports":null}}` {
				t.Errorf("%q reads reports of an article: %s", user, got)
			}
			settle := `mutation { settleFlags(input: {target: 1, throughReport: "report:1.1", act: DISMISS}) { item { openCount } userErrors { code } } }`
			if got := query(s, user, "", settle); !strings.Contains(got, `"item":null`) || !strings.Contains(got, "FORBIDDEN") && user != "" {
				t.Errorf("%q decides: %s", user, got)
			}
		}
		settle := func(target int, report, rest string) string {
			return fmt.Sprintf(`mutation { settleFlags(input: {target: %d, throughReport: "%s", %s}) { item { openCount since latestReport article { title removal { fromReport reason } } } userErrors { code field } } }`, target, report, rest)
		}
		moderate(s, settle(1, "report:2.1", `act: DISMISS`), `{"settleFlags":{"item":null,"userErrors":[{"code":"INVALID","field":["throughReport"]}]}}`)
		moderate(s, settle(1, "report:01.1", `act: DISMISS`), `{"settleFlags":{"item":null,"userErrors":[{"code":"INVALID","field":["throughReport"]}]}}`)
		moderate(s, settle(1, "report:1.1", `act: DISMISS, decision: "a\nb"`), `{"settleFlags":{"item":null,"userErrors":[{"code":"INVALID","field":["decision"]}]}}`)
		moderate(s, settle(2, "report:2.1", `act: DELETE, ground: ILLEGAL, reason: "forged", decision: "deleted"`),
			`{"settleFlags":{"item":{"article":{"removal":{"fromReport":true,"reason":"forged"},"title":"two"},"latestReport":null,"openCount":0,"since":null},"userErrors":[]}}`)
		moderate(s, settle(1, "report:1.1", `act: ACTED, decision: "edited"`),
			`{"settleFlags":{"item":{"article":{"removal":null,"title":"one"},"latestReport":null,"openCount":0,"since":null},"userErrors":[]}}`)
		other := as(s, "other", "moderator", settle(1, "report:1.1", `act: DISMISS`))
		if got := fmt.Sprint(other.Data); !strings.Contains(got, "CONFLICT") {
			t.Errorf("deciding again: %s", got)
		}
		moderate(s, `{ moderationLog { nodes { kind by } } }`, `{"moderationLog":{"nodes":[{"by":"mod","kind":"ACTED"},{"by":"mod","kind":"DELETED"},{"by":"mod","kind":"ACTED"}]}}`)
		mine := `{ viewerReports { nodes { state decision article { title } } } }`
		if got, want := query(s, "carol", "", mine), `{"viewerReports":{"nodes":[{"article":null,"decision":"deleted","state":"ACTED"}]}}`; got != want {
			t.Errorf("carol's reports: %s, want %s", got, want)
		}
		if got := query(s, "dave", "", mine); got != `{"viewerReports":{"nodes":[]}}` {
			t.Errorf("dave's reports: %s", got)
		}
		if got := query(s, "", "", mine); !strings.Contains(got, "UNAUTHENTICATED") {
			t.Errorf("an anonymous caller's reports: %s", got)
		}
	})
}

// Notes come back as they were written.
func TestHostileNotesStayText(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.Post("alice", "one")
	for i, note := range hostile {
		user := fmt.Sprint("user", i)
		query(s, user, "", flagging(1, "OTHER", note))
		want, _ := json.Marshal(note)
		var got struct {
			ViewerReports struct{ Nodes []struct{ Note string } }
		}
		require.NoError(t, json.Unmarshal(require.Value(json.Marshal(as(s, user, "", `{ viewerReports { nodes { note } } }`).Data))(t), &got))
		if len(got.ViewerReports.Nodes) != 1 || got.ViewerReports.Nodes[0].Note != note {
			t.Errorf("the note %s is %+v", want, got)
		}
	}
	var got struct {
		Article struct{ OpenReports []struct{ Note string } }
	}
	require.NoError(t, json.Unmarshal(require.Value(json.Marshal(as(s, "mod", "moderator", `{ article(id: 1) { openReports(first: 100) { note } } }`).Data))(t), &got))
	for i, report := range got.Article.OpenReports {
		if report.Note != hostile[i] {
			t.Errorf("a moderator reads %q, want %q", report.Note, hostile[i])
		}
	}
	for _, first := range []string{"0", "101"} {
		if got := query(s, "mod", "moderator", `{ article(id: 1) { openReports(first: `+first+`) { note } } }`); !strings.Contains(got, "BAD_USER_INPUT") {
			t.Errorf("%s reports: %s", first, got)
		}
	}
}

const noticing = `mutation { notifyIllegalContent(input: {locations: ["https://any.example/a/1"], explanation: "It is a forgery of my passport.", name: "Erika", email: "erika@example.org", goodFaith: true}) { reference secret userErrors { code field } } }`

func TestNoticesInTheAPI(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		s.Post("alice", "one")
		sent := as(s, "", "", noticing).Data["notifyIllegalContent"].(map[string]any)
		reference, _ := sent["reference"].(string)
		secret, _ := sent["secret"].(string)
		if len(sent["userErrors"].([]any)) > 0 || reference == "" || secret == "" {
			t.Fatalf("sent: %v", sent)
		}
		asked := func(secret string) string {
			return fmt.Sprintf(`{ notice(reference: %q%s) { reference reports { kind reason note state decision by { name } contact { name email } } } }`, reference, secret)
		}
		want := func(contact, state string) string {
			return `{"notice":{"reference":"` + reference + `","reports":[{"by":null,"contact":` + contact + `,` + state + `}]}}`
		}
		const open = `"decision":null,"kind":"NOTICE","note":"It is a forgery of my passport.","reason":"ILLEGAL","state":"OPEN"`
		known := fmt.Sprintf(", secret: %q", secret)
		for _, tt := range []struct{ user, roles, secret, want string }{
			{"", "", known, want("null", open)},
			{"bob", "", known, want("null", open)},
			{"", "", "", `{"notice":null}`},
			{"", "", `, secret: "x"`, `{"notice":null}`},
			{"alice", "", "", `{"notice":null}`},
			{"mod", "moderator", "", want(`{"email":"erika@example.org","name":"Erika"}`, open)},
		} {
			if got := query(s, tt.user, tt.roles, asked(tt.secret)); got != tt.want {
				t.Errorf("%s %s: got %s, want %s", tt.user, tt.secret, got, tt.want)
			}
		}
		query(s, "mod", "moderator", `mutation { settleFlags(input: {target: 1, throughReport: "report:1.1", act: DISMISS, decision: "no"}) { item { openCount } } }`)
		if got, want := query(s, "", "", asked(known)), want("null", `"decision":"no","kind":"NOTICE","note":"It is a forgery of my passport.","reason":"ILLEGAL","state":"DISMISSED"`); got != want {
			t.Errorf("decided: %s, want %s", got, want)
		}
	})
}

// Reports have a rate of their own, by user and by address, and notices by address.
func TestReportsAreLimited(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Reports: endpoint.Rate{Most: 1, Window: time.Hour}, Addresses: 3}))
	s.Post("alice", "one")
	outcome := func(user, text string) string {
		t.Helper()
		switch got := query(s, user, "", text); {
		case strings.Contains(got, "RATE_LIMITED"):
			return "limited"
		case strings.Contains(got, `"userErrors":[]`):
			return "done"
		default:
			return got
		}
	}
	for i, step := range []struct{ user, text, want string }{
		{"bob", flagging(1, "SPAM", ""), "done"},
		{"bob", flagging(1, "SPAM", "again"), "limited"},
		{"", noticing, "done"},
		{"", noticing, "done"},
		{"", noticing, "limited"},
		{"carol", flagging(1, "SPAM", ""), "limited"}, // by address
	} {
		if got := outcome(step.user, step.text); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
	if _, body, err := s.AskBy(sitetest.ClientFrom(t, "127.0.0.9"), noticing); err != nil || !strings.Contains(body, `"userErrors":[]`) {
		t.Errorf("from another address: %s, %v", body, err)
	}
}

const flaggedChanged = `subscription { flaggedChanged { cursor gap item { target openCount latestReport article { title } reports { note by { name } } } } }`

// flaggedChange is an event of flaggedChanged.
type flaggedChange struct {
	Data struct {
		FlaggedChanged *struct {
			Cursor string
			Gap    bool
			Item   any
		}
	}
}

func nextFlagged(t *testing.T, s *sitetest.Stream) (item, cursor string) {
	t.Helper()
	name, data := s.Next()
	var e flaggedChange
	if err := json.Unmarshal([]byte(data), &e); err != nil || name != "next" || e.Data.FlaggedChanged == nil {
		t.Fatalf("got %s %s, want a change", name, data)
	}
	text, _ := json.Marshal(e.Data.FlaggedChanged.Item)
	return string(text), e.Data.FlaggedChanged.Cursor
}

// Moderators learn of reports and of decisions as they happen, wherever they happen, and go on where they were.
func TestModeratorsFollowReports(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules())
	other := sitetest.New(t, client, site.DefaultRules())
	s.Post("alice", "One")
	moderator := []string{"X-User-ID", "mod", "X-User-Roles", "moderator"}
	stream := s.Stream(flaggedChanged, moderator...)
	flag := func(s *sitetest.Site, by, note string) {
		s.T.Helper()
		s.Want(by, `mutation ($n: String) { flag(input: {target: 1, reason: SPAM, note: $n}) { userErrors { message } } }`, `{"flag": {"userErrors": []}}`, "n", note)
	}
	open := func(count, latest int, notes string) string {
		return fmt.Sprintf(`{"article":{"title":"One"},"latestReport":"report:1.%d","openCount":%d,"reports":[%s],"target":"article:1"}`, latest, count, notes)
	}
	flag(other, "bob", "an ad")
	got, cursor := nextFlagged(t, stream)
	if want := open(1, 1, `{"by":{"name":"bob"},"note":"an ad"}`); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	s.Vote("dan", "article:1", "UP") // is no change of reports
	moderate(other, `mutation { settleFlags(input: {target: 1, throughReport: "report:1.1", act: DISMISS}) { userErrors { message } } }`, `{"settleFlags":{"userErrors":[]}}`)
	if got, _ = nextFlagged(t, stream); got != `{"article":{"title":"One"},"latestReport":null,"openCount":0,"reports":[],"target":"article:1"}` {
		t.Errorf("after the decision: got %s", got)
	}
	flag(s, "eve", "<script>alert(1)</script>")
	if got, _ = nextFlagged(t, stream); !strings.Contains(got, `"openCount":1`) {
		t.Errorf("after another report: got %s", got)
	}
	resumed := s.Stream(strings.Replace(flaggedChanged, "{ flaggedChanged", `{ flaggedChanged(after: "`+cursor+`")`, 1), moderator...)
	for range 2 { // the decision and the report after the cursor, with the state that is there now
		if got, _ := nextFlagged(t, resumed); !strings.Contains(got, `"latestReport":"report:1.2"`) {
			t.Errorf("resumed: got %s", got)
		}
	}
}

func TestReportsAreFollowedByModeratorsOnly(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for _, header := range [][]string{nil, {"X-User-ID", "bob"}, {"X-User-ID", "alice", "X-User-Roles", "service"}, {"X-User-Roles", "moderator"}} {
		name, data := s.Stream(flaggedChanged, header...).Next()
		if name != "next" || sitetest.CodeOf(t, data) != "FORBIDDEN" {
			t.Errorf("%q: the subscription begins with %s %s, want FORBIDDEN", header, name, data)
		}
	}
	rules := site.DefaultRules()
	rules.Events = 0
	without := sitetest.New(t, redistest.Start(t).Client, rules)
	name, data := without.Stream(flaggedChanged, "X-User-ID", "mod", "X-User-Roles", "moderator").Next()
	if name != "next" || sitetest.CodeOf(t, data) != "BAD_USER_INPUT" {
		t.Errorf("without events it begins with %s %s, want BAD_USER_INPUT", name, data)
	}
}

func TestRemovalsWithoutAReasonInTheAPI(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		for i := range 3 {
			s.Post("alice", fmt.Sprint(i+1))
		}
		moderate(s, `mutation { a: deleteArticle(input: {article: 1}) { deletedId } b: deleteArticle(input: {article: 2, ground: RULES}) { deletedId } }`,
			`{"a":{"deletedId":"article:1"},"b":{"deletedId":"article:2"}}`)
		s.Want("alice", `mutation { deleteArticle(input: {article: 3}) { deletedId } }`, `{"deleteArticle": {"deletedId": "article:3"}}`)
		const list = `{ deletedItems(missingReason: true) { totalCount edges { by article { title } } } all: deletedItems { totalCount } }`
		moderate(s, list, `{"all":{"totalCount":3},"deletedItems":{"edges":[{"article":{"title":"1"},"by":"mod"}],"totalCount":1}}`)
		moderate(s, `mutation { deleteArticle(input: {article: 1, ground: OTHER, reason: "a test"}) { deletedId } }`, `{"deleteArticle":{"deletedId":"article:1"}}`)
		moderate(s, list, `{"all":{"totalCount":3},"deletedItems":{"edges":[],"totalCount":0}}`)
		if a := as(s, "alice", "", list); a.Data["deletedItems"] != nil || len(a.Errors) == 0 || a.Errors[0].Extensions.Code != "FORBIDDEN" {
			t.Errorf("a user gets %v", a)
		}
	})
}
