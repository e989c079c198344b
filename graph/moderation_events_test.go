package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

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
		settled := make(chan struct{})
		go func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-settled:
					return
				case <-tick.C:
					here.VoteUp("article:2")
				}
			}
		}()
		for next().ID != "article:2" {
		}
		close(settled)
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
	stop := make(chan struct{})
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				s.VoteUp("article:2")
			}
		}
	}()
	first := parseDeletionEvent(t, string(w.Read().Payload))
	close(stop)
	if first.ID != "article:2" {
		t.Errorf("first event: got %+v, want one of article:2", first)
	}
	repo := must.Get(redisrepo.New(t.Context(), client, site.DefaultRules()))(t)
	must.Get(repo.Undelete(t.Context(), 1, site.Actor{Name: "mod", Moderator: true}))(t)
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
		if err := json.Unmarshal(must.Get(json.Marshal(a.Data))(t), &data); err != nil || len(a.Errors) > 0 {
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
