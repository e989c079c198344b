package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redistest"
	"frontpage/sitetest"
)

const watchDeletion = `subscription { articleChanged(ids: ["article:1", "article:2"]) { id votes title groups { name } deletedAt viewerVote viewerCanVote } }`

// told is what watchers get of an article.
type told struct {
	ID, Title, ViewerVote string
	Votes                 int
	DeletedAt             *string
	ViewerCanVote         bool
	Groups                []struct{ Name string }
}

func toldOf(t *testing.T, event string) told {
	t.Helper()
	var a struct {
		Data   struct{ ArticleChanged told }
		Errors []sitetest.Error
	}
	if err := json.Unmarshal([]byte(event), &a); err != nil || len(a.Errors) > 0 {
		t.Fatalf("no event: %v %s", err, event)
	}
	return a.Data.ArticleChanged
}

// Watchers of an article learn that it is deleted, on this server and another,
// and of nothing after that.
func TestDeletionIsTheLastEventOfAnArticle(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	here, there := sitetest.New(t, client, redisrepo.DefaultRules()), sitetest.New(t, client, redisrepo.DefaultRules())
	here.Post("alice", "t", "go", "news")
	here.Post("alice", "another")
	var next []func() told
	for _, s := range []*sitetest.Site{here, there} {
		w := s.Socket(`{"X-User-ID":"bob"}`)
		w.Subscribe("a", watchDeletion, "")
		next = append(next, func() told { return toldOf(t, string(w.Read().Payload)) })
		e := s.Stream(watchDeletion, "X-User-ID", "bob")
		e.Comment()
		next = append(next, func() told {
			name, data := e.Next()
			if name != "next" {
				t.Fatalf("%s %s", name, data)
			}
			return toldOf(t, data)
		})
	}
	here.Vote("bob", "article:1", "UP")
	// All watch once each was told of a vote on the other article.
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
			t.Fatalf("watcher %d", i)
		}
	}
	moderate(here, deletion(1), `{"deleteArticle":{"deletedId":"article:1","userErrors":[]}}`)
	for i, next := range next {
		var got told
		for got = next(); got.ID != "article:1" || got.DeletedAt == nil; got = next() {
			if got.ID == "article:1" && got.Votes != 2 {
				t.Errorf("watcher %d: %+v", i, got)
			}
		}
		if *got.DeletedAt != "2026-01-02T03:04:05Z" || got.ViewerCanVote || got.Votes != 2 || got.Title != "t" || got.ViewerVote != "UP" || len(got.Groups) != 2 {
			t.Errorf("watcher %d got %+v", i, got)
		}
	}
	// What is done to it now is refused, and causes no event: the next event is of the other.
	for _, refused := range []string{`vote(input: {article: 1})`, `regroup(input: {article: 1, add: ["x"]})`} {
		here.Ask("alice", `mutation { `+refused+` { userErrors { code } } }`)
	}
	as(here, "alice", "", deletion(1))
	n := here.VoteUp("article:2")
	for i, next := range next {
		for got := next(); got.ID != "article:2" || got.Votes < n; got = next() {
			if got.ID == "article:1" {
				t.Errorf("watcher %d got an event of a deleted article again: %+v", i, got)
			}
		}
	}
}

// A watcher of a deleted article gets no event until it is undeleted, and then one
// with its votes.
func TestDeletedArticleHasNoEventsUntilUndeleted(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, redisrepo.DefaultRules())
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
	first := toldOf(t, string(w.Read().Payload))
	close(stop)
	if first.ID != "article:2" {
		t.Errorf("the first event is %+v", first)
	}
	repo, err := redisrepo.New(t.Context(), client, redisrepo.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Undelete(t.Context(), 1, redisrepo.Actor{Name: "mod", Moderator: true}); err != nil {
		t.Fatal(err)
	}
	for {
		got := toldOf(t, string(w.Read().Payload))
		if got.ID == "article:1" {
			if got.DeletedAt != nil || got.Votes != 1 {
				t.Errorf("brought back it is %+v", got)
			}
			break
		}
	}
	s.Vote("bob", "article:1", "UP")
	s.Want("bob", `{ article(id: 1) { votes viewerVote deletedAt } articles(order: TIME) { id } }`,
		`{"article": {"votes": 2, "viewerVote": "UP", "deletedAt": null}, "articles": [{"id": "article:2"}, {"id": "article:1"}]}`)
}

// The log is walked by cursor in both directions, while it grows.
func TestModerationLogPagesInBothDirections(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, redisrepo.DefaultRules())
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
		if err := json.Unmarshal(sitetest.Must(json.Marshal(a.Data)), &data); err != nil || len(a.Errors) > 0 {
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
				t.Fatalf("%+v", p)
			}
			after, more = fmt.Sprintf(`, after: %q`, *p.PageInfo.EndCursor), p.PageInfo.HasNextPage
		}
		for before, more := "", true; more; {
			p := page(fmt.Sprintf(`last: %d%s`, size, before))
			for i := range p.Edges {
				up = append(up, p.Edges[len(p.Edges)-1-i].Node.ArticleID)
			}
			if p.PageInfo.HasNextPage != (before != "") || len(p.Edges) == 0 {
				t.Fatalf("%+v", p)
			}
			before, more = fmt.Sprintf(`, before: %q`, *p.PageInfo.StartCursor), p.PageInfo.HasPreviousPage
		}
		for i := range n {
			if want := fmt.Sprintf("article:%d", n-i); len(down) != n || len(up) != n || down[i] != want || up[n-1-i] != want {
				t.Fatalf("by %d: down %v, up %v", size, down, up)
			}
		}
	}
	first := page(`first: 5`)
	moderate(s, deletion(n+1), fmt.Sprintf(`{"deleteArticle":{"deletedId":"article:%d","userErrors":[]}}`, n+1))
	if rest := page(fmt.Sprintf(`first: 1, after: %q`, *first.PageInfo.EndCursor)); rest.Edges[0].Node.ArticleID != "article:18" {
		t.Errorf("behind a page, after another entry: %+v", rest)
	}
	for _, arguments := range []string{`first: 0`, `first: 101`, `last: -1`, `first: 1, last: 1`, `after: "x"`, `before: ""`, `after: "bW9kZXJhdGlvbg"`} {
		a := as(s, "mod", "moderator", `{ moderationLog(`+arguments+`) { nodes { by } } }`)
		if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "BAD_USER_INPUT" {
			t.Errorf("%s: %v", arguments, a)
		}
	}
	// A page of the log with its articles has them in one round trip.
	s.Trips.Reset()
	as(s, "mod", "moderator", `{ moderationLog(first: 20) { nodes { article { id } } } }`)
	if trips, commands := s.Trips.Read(); trips != 2 || strings.Count(strings.Join(commands, " "), "hgetall") != 20 {
		t.Errorf("%d round trips with %v", trips, sitetest.Tally(commands))
	}
}
