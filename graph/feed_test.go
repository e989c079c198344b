package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
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

const watchDeletion = `subscription { articleChanged(ids: ["article:1", "article:2"]) { id votes title groups { name } deletedAt viewerVote viewerCanVote } }`

// deletionEvent is an article as an event of watchDeletion shows it.
type deletionEvent struct {
	ID, Title, ViewerVote string
	Votes                 int
	DeletedAt             *string
	ViewerCanVote         bool
	Groups                []struct{ Name string }
}

func parseDeletionEvent(t *testing.T, event string) deletionEvent {
	t.Helper()
	var a struct {
		Data   struct{ ArticleChanged deletionEvent }
		Errors []sitetest.Error
	}
	if err := json.Unmarshal([]byte(event), &a); err != nil || len(a.Errors) > 0 {
		t.Fatalf("want an event: %v, got %s", err, event)
	}
	return a.Data.ArticleChanged
}

// Watchers of an article get an event when it is deleted, on this server and on another, and none after that.
func TestDeletionIsTheLastEventOfAnArticle(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	here, there := sitetest.New(t, client, site.DefaultRules()), sitetest.New(t, client, site.DefaultRules())
	here.Post("alice", "t", "go", "news")
	here.Post("alice", "another")
	var next []func() deletionEvent
	for _, s := range []*sitetest.Site{here, there} {
		w := s.Socket(`{"X-User-ID":"bob"}`)
		w.Subscribe("a", watchDeletion, "")
		next = append(next, func() deletionEvent { return parseDeletionEvent(t, string(w.Read().Payload)) })
		e := s.Stream(watchDeletion, "X-User-ID", "bob")
		e.Comment()
		next = append(next, func() deletionEvent {
			name, data := e.Next()
			if name != "next" {
				t.Fatalf("got event %s %s, want next", name, data)
			}
			return parseDeletionEvent(t, data)
		})
	}
	here.Vote("bob", "article:1", "UP")
	// A watcher that gets an event of the other article has subscribed.
	for i, next := range next {
		end := here.KeepVoting("article:2")
		for next().ID != "article:2" {
		}
		end()
		if t.Failed() {
			t.Fatalf("watcher %d has not subscribed", i)
		}
	}
	moderate(here, deletion(1), `{"deleteArticle":{"deletedId":"article:1","userErrors":[]}}`)
	for i, next := range next {
		var got deletionEvent
		for got = next(); got.ID != "article:1" || got.DeletedAt == nil; got = next() {
			if got.ID == "article:1" && got.Votes != 2 {
				t.Errorf("watcher %d: got %+v, want 2 votes", i, got)
			}
		}
		if *got.DeletedAt != "2026-01-02T03:04:05.000Z" || got.ViewerCanVote || got.Votes != 2 || got.Title != "t" || got.ViewerVote != "UP" || len(got.Groups) != 2 {
			t.Errorf("watcher %d: got %+v, want the last state of the article and deletedAt", i, got)
		}
	}
	// Mutations of a deleted article are refused and cause no event: the next event is of the other article.
	for _, refused := range []string{`vote(input: {article: 1})`, `regroup(input: {article: 1, add: ["x"]})`} {
		here.Ask("alice", `mutation { `+refused+` { userErrors { code } } }`)
	}
	as(here, "alice", "", deletion(1))
	n := here.VoteUp("article:2")
	for i, next := range next {
		for got := next(); got.ID != "article:2" || got.Votes < n; got = next() {
			if got.ID == "article:1" {
				t.Errorf("watcher %d: got another event of a deleted article: %+v", i, got)
			}
		}
	}
}

// A watcher of a deleted article gets no event until the article is undeleted, and then one with its votes.
func TestDeletedArticleHasNoEventsUntilUndeleted(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules())
	s.Post("alice", "t")
	s.Post("alice", "another")
	moderate(s, deletion(1), `{"deleteArticle":{"deletedId":"article:1","userErrors":[]}}`)
	w := s.Socket(`{"X-User-ID":"bob"}`)
	w.Subscribe("a", `subscription { articleChanged(ids: [1, 2]) { id votes deletedAt } }`, "")
	end := s.KeepVoting("article:2")
	first := parseDeletionEvent(t, string(w.Read().Payload))
	end()
	if first.ID != "article:2" {
		t.Errorf("first event: got %+v, want one of article:2", first)
	}
	repo := require.Value(redisrepo.New(t.Context(), client, site.DefaultRules()))(t)
	require.Value(repo.Undelete(t.Context(), 1, site.Actor{Name: "mod", Moderator: true}))(t)
	for {
		got := parseDeletionEvent(t, string(w.Read().Payload))
		if got.ID == "article:1" {
			if got.DeletedAt != nil || got.Votes != 1 {
				t.Errorf("after the undeletion: got %+v, want 1 vote and no deletedAt", got)
			}
			break
		}
	}
	s.Vote("bob", "article:1", "UP")
	s.Want("bob", `{ article(id: 1) { votes viewerVote deletedAt } articles(order: TIME) { id } }`,
		`{"article": {"votes": 2, "viewerVote": "UP", "deletedAt": null}, "articles": [{"id": "article:2"}, {"id": "article:1"}]}`)
}

// Cursors lead through the log in both directions, also while it grows.
func TestModerationLogPagesInBothDirections(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules())
	const n = 23
	sitetest.Import(t, client, "alice", n+3)
	for i := 1; i <= n; i++ {
		moderate(s, deletion(i), fmt.Sprintf(`{"deleteArticle":{"deletedId":"article:%d","userErrors":[]}}`, i))
	}
	type connection struct {
		Edges []struct {
			Cursor string
			Node   struct{ ArticleID string }
		}
		PageInfo struct {
			HasNextPage, HasPreviousPage bool
			StartCursor, EndCursor       *string
		}
	}
	page := func(arguments string) connection {
		t.Helper()
		a := as(s, "mod", "moderator", `{ moderationLog(`+arguments+`) { edges { cursor node { articleId } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`)
		var data struct{ ModerationLog connection }
		if err := json.Unmarshal(require.Value(json.Marshal(a.Data))(t), &data); err != nil || len(a.Errors) > 0 {
			t.Fatal(err, a.Errors)
		}
		return data.ModerationLog
	}
	for _, size := range []int{1, 5, 23, 100} {
		var down, up []string
		for after, more := "", true; more; {
			p := page(fmt.Sprintf(`first: %d%s`, size, after))
			for _, edge := range p.Edges {
				down = append(down, edge.Node.ArticleID)
			}
			if p.PageInfo.HasPreviousPage != (after != "") || len(p.Edges) == 0 || *p.PageInfo.StartCursor != p.Edges[0].Cursor {
				t.Fatalf("paging forward: got page %+v", p)
			}
			after, more = fmt.Sprintf(`, after: %q`, *p.PageInfo.EndCursor), p.PageInfo.HasNextPage
		}
		for before, more := "", true; more; {
			p := page(fmt.Sprintf(`last: %d%s`, size, before))
			for i := range p.Edges {
				up = append(up, p.Edges[len(p.Edges)-1-i].Node.ArticleID)
			}
			if p.PageInfo.HasNextPage != (before != "") || len(p.Edges) == 0 {
				t.Fatalf("paging backward: got page %+v", p)
			}
			before, more = fmt.Sprintf(`, before: %q`, *p.PageInfo.StartCursor), p.PageInfo.HasPreviousPage
		}
		for i := range n {
			if want := fmt.Sprintf("article:%d", n-i); len(down) != n || len(up) != n || down[i] != want || up[n-1-i] != want {
				t.Fatalf("pages of %d: got %v forward and %v backward, want %d entries by age", size, down, up, n)
			}
		}
	}
	first := page(`first: 5`)
	moderate(s, deletion(n+1), fmt.Sprintf(`{"deleteArticle":{"deletedId":"article:%d","userErrors":[]}}`, n+1))
	if rest := page(fmt.Sprintf(`first: 1, after: %q`, *first.PageInfo.EndCursor)); rest.Edges[0].Node.ArticleID != "article:18" {
		t.Errorf("next page after a new entry: got %+v, want article:18", rest)
	}
	for _, arguments := range []string{`first: 0`, `first: 101`, `last: -1`, `first: 1, last: 1`, `after: "x"`, `after: "bW9kZXJhdGlvbg"`} {
		a := as(s, "mod", "moderator", `{ moderationLog(`+arguments+`) { nodes { by } } }`)
		if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "BAD_USER_INPUT" {
			t.Errorf("%s: got %v, want BAD_USER_INPUT", arguments, a)
		}
	}
	// All articles of a page of the log are read in one round trip.
	s.Trips.Reset()
	as(s, "mod", "moderator", `{ moderationLog(first: 20) { nodes { article { id } } } }`)
	if trips, commands := s.Trips.Read(); trips != 2 || strings.Count(strings.Join(commands, " "), "hgetall") != 20 {
		t.Errorf("got %d round trips with %v, want 2 with 20 articles", trips, sitetest.Tally(commands))
	}
}
