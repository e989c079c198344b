package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

const eventFields = `{ cursor gap node { kind articleId article { title } revision votes downvotes score by { name } direction groups milestone at } }`

// shownEvent is an event as the API shows it.
type shownEvent struct {
	Cursor string
	Gap    bool
	Node   struct {
		Kind                       string
		ArticleID                  string `json:"articleId"`
		Article                    *struct{ Title string }
		Revision, Votes, Downvotes int
		Score                      float64
		By                         struct{ Name string }
		Direction                  *string
		Groups                     []string
		Milestone                  *int
		At                         string
	}
}

func (e shownEvent) String() string {
	n := e.Node
	text := fmt.Sprintf("%s %s r%d %d by %s", n.Kind, n.ArticleID, n.Revision, n.Votes, n.By.Name)
	if n.Article != nil {
		text += " " + n.Article.Title
	}
	if n.Direction != nil {
		text += " " + *n.Direction
	}
	if n.Groups != nil {
		text += " " + fmt.Sprint(n.Groups)
	}
	if n.Milestone != nil {
		text += fmt.Sprint(" ", *n.Milestone)
	}
	return text
}

type shownEvents struct {
	Data struct {
		Events *struct {
			Edges    []shownEvent
			PageInfo struct {
				HasPreviousPage, HasNextPage bool
				StartCursor, EndCursor       *string
			}
			Gap bool
		}
		Event *shownEvent
	}
	Errors []struct {
		Message    string
		Extensions struct{ Code, LostFrom, KeptFrom string }
	}
}

func askEvents(s *sitetest.Site, role, arguments string) (r shownEvents) {
	s.T.Helper()
	body, _ := json.Marshal(map[string]string{"query": `{ events` + arguments + ` { edges ` + eventFields + ` pageInfo { hasPreviousPage hasNextPage startCursor endCursor } gap } }`})
	header := []string{"X-User-ID", "mod", "X-User-Roles", role}
	if role == "anonymous" {
		header = nil
	}
	res, text := s.PostJSON(string(body), header...)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		s.T.Fatalf("%v: %s", err, text)
	}
	if cached := res.Header.Get("Cache-Control"); !strings.HasPrefix(cached, "private") {
		s.T.Errorf("Cache-Control is %q", cached)
	}
	return r
}

func TestEventsAreForModeratorsAndServices(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.Post("alice", "t")
	for role, code := range map[string]string{"moderator": "", "service": "", "": "FORBIDDEN", "other": "FORBIDDEN", "anonymous": "UNAUTHENTICATED"} {
		r := askEvents(s, role, "")
		switch {
		case code == "" && (len(r.Errors) > 0 || len(r.Data.Events.Edges) != 1):
			t.Errorf("role %q: got %+v, want an event", role, r)
		case code != "" && (len(r.Errors) != 1 || r.Errors[0].Extensions.Code != code || r.Data.Events != nil):
			t.Errorf("role %q: got %+v, want %s", role, r, code)
		}
		header := []string{"X-User-ID", "mod", "X-User-Roles", role}
		if role == "anonymous" {
			header = nil
		}
		if code != "" {
			name, data := s.Stream(`subscription { event { cursor } }`, header...).Next()
			if name != "next" || sitetest.CodeOf(t, data) != code {
				t.Errorf("role %q: the subscription begins with %s %s, want %s", role, name, data, code)
			}
		}
	}
	_, text := s.PostJSON(`{"query": "{ events { gap } }"}`, "X-User-ID", "board", "X-User-Roles", "service", "X-On-Behalf-Of", "alice")
	if code := sitetest.CodeOf(t, text); code != "FORBIDDEN" {
		t.Errorf("a service that acts for a user: got %s, want FORBIDDEN", text)
	}
}

func TestEventsShowTheirArticles(t *testing.T) {
	t.Parallel()
	rules := site.DefaultRules()
	rules.Milestones = []int{2}
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, rules)
	kept, gone := s.Post("alice", "kept", "go"), s.Post("alice", "gone")
	s.Vote("bob", kept, "UP")
	as(s, "mod", "moderator", `mutation { deleteArticle(input: {article: "`+gone+`"}) { deletedId } }`)
	want := strings.NewReplacer("KEPT", kept, "GONE", gone).Replace(`POSTED KEPT r1 1 by alice kept [go]
POSTED GONE r1 1 by alice []
VOTED KEPT r2 2 by bob kept UP
MILESTONE KEPT r2 2 by bob kept 2
DELETED GONE r2 1 by mod`)
	page := askEvents(s, "service", "")
	var got []string
	for _, e := range page.Data.Events.Edges {
		got = append(got, e.String())
	}
	info := page.Data.Events.PageInfo
	if strings.Join(got, "\n") != want || info.HasNextPage || info.HasPreviousPage || page.Data.Events.Gap || *info.EndCursor != page.Data.Events.Edges[4].Cursor {
		t.Errorf("got\n%s\n%+v\nwant\n%s", strings.Join(got, "\n"), info, want)
	}
	few := askEvents(s, "service", fmt.Sprintf(`(after: %q, kinds: [VOTED, DELETED], first: 1)`, page.Data.Events.Edges[0].Cursor))
	if edges := few.Data.Events.Edges; len(edges) != 1 || edges[0].Node.Kind != "VOTED" || !few.Data.Events.PageInfo.HasNextPage || !few.Data.Events.PageInfo.HasPreviousPage {
		t.Errorf("one vote: got %+v", few)
	}
}

func TestExpiredCursorSaysSinceWhen(t *testing.T) {
	t.Parallel()
	rules := site.DefaultRules()
	rules.Events = 2
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, rules)
	for range 4 {
		s.Post("alice", "t")
	}
	// At whole seconds, whose zeros other forms of a time leave out.
	entries := require.Value(client.XRange(t.Context(), "events:", "-", "+").Result())(t)
	client.Del(t.Context(), "events:")
	for i, e := range entries {
		client.XAdd(t.Context(), &redis.XAddArgs{Stream: "events:", ID: fmt.Sprintf("%d000-0", 1767323477+i), Values: e.Values})
	}
	page := askEvents(s, "service", "").Data.Events.Edges
	client.XTrimMaxLen(t.Context(), "events:", 2)
	r := askEvents(s, "service", fmt.Sprintf(`(after: %q)`, page[0].Cursor))
	if len(r.Errors) != 1 {
		t.Fatalf("got %+v, want an error", r)
	}
	if e := r.Errors[0].Extensions; e.Code != "CURSOR_EXPIRED" || e.LostFrom != page[0].Node.At || e.KeptFrom != page[2].Node.At {
		t.Errorf("got %+v, want CURSOR_EXPIRED, lost from %s, kept from %s", r.Errors[0], page[0].Node.At, page[2].Node.At)
	}
	if log := s.Log.String(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "level=WARN") {
		t.Errorf("the client's error is logged:\n%s", log)
	}
	if name, data := s.Stream(fmt.Sprintf(`subscription { event(after: %q) { cursor } }`, page[0].Cursor), "X-User-ID", "m", "X-User-Roles", "moderator").Next(); sitetest.CodeOf(t, data) != "CURSOR_EXPIRED" {
		t.Errorf("the subscription begins with %s %s, want CURSOR_EXPIRED", name, data)
	}
	for _, arguments := range []string{`(after: "x")`, `(first: 0)`, `(first: 1001)`} {
		if a := as(s, "mod", "moderator", `{ events`+arguments+` { gap } }`); len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "BAD_USER_INPUT" {
			t.Errorf("%s: got %+v, want BAD_USER_INPUT", arguments, a)
		}
	}
}

// Over server-sent events, and over a WebSocket, of two servers.
func TestEventSubscriptionsGoOn(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	here, there := sitetest.New(t, client, site.DefaultRules()), sitetest.New(t, client, site.DefaultRules())
	id := here.Post("alice", "t")
	after := askEvents(here, "moderator", "").Data.Events.Edges[0].Cursor
	moderator := []string{"X-User-ID", "mod", "X-User-Roles", "moderator"}
	query := `subscription { event ` + eventFields + ` }`
	parse := func(data string) shownEvent {
		t.Helper()
		var r shownEvents
		if err := json.Unmarshal([]byte(data), &r); err != nil || r.Data.Event == nil {
			t.Fatalf("want an event: %v, got %s", err, data)
		}
		return *r.Data.Event
	}
	live := there.Stream(query, moderator...)
	live.Comment()
	w := there.Socket(`{"X-User-ID":"mod","X-User-Roles":"moderator"}`)
	w.Subscribe("a", `subscription { event(after: "`+after+`") `+eventFields+` }`, "")
	var wanted []string
	for i := range 130 {
		here.Vote(fmt.Sprint("v", i), id, "UP")
		wanted = append(wanted, fmt.Sprintf("VOTED article:1 r%d %d by v%d t UP", i+2, i+2, i))
		if i+2 == 10 || i+2 == 50 || i+2 == 100 {
			wanted = append(wanted, fmt.Sprintf("MILESTONE article:1 r%d %d by v%d t %d", i+2, i+2, i, i+2))
		}
	}
	for i, want := range wanted {
		if i == 60 { // cut off: a browser sends back the id
			last := live.ID
			live.Cancel()
			live = here.Stream(query, append(moderator, "Last-Event-ID", last)...)
		}
		name, data := live.Next()
		if e := parse(data); name != "next" || e.String() != want || e.Cursor != live.ID {
			t.Fatalf("stream, event %d: got %s %v with id %s, want %s", i, name, e, live.ID, want)
		}
		if got := parse(string(w.Read().Payload)); got.String() != want {
			t.Fatalf("socket, event %d: got %v, want %s", i, got, want)
		}
	}
}
