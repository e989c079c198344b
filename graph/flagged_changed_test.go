package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/sitetest"
)

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
