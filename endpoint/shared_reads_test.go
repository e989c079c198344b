package endpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"frontpage/endpoint"
	"frontpage/must"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// However many users ask for a page with their own votes, its articles are read once until something changes.
func TestUsersShareReadsAndGetTheirOwnVotes(t *testing.T) {
	t.Parallel()
	const users = 12
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), sharing)
	for i := range users {
		s.Post("alice", fmt.Sprint("article ", i+1), "go")
	}
	for i := range users {
		s.Vote(fmt.Sprint("user", i), fmt.Sprint("article:", i+1), []string{"UP", "DOWN"}[i%2])
	}
	s.StopListening()
	const own = ` { number viewerVote viewerCanVote }`
	tests := []struct{ query, reads string }{
		{`{ articles` + own + ` }`, "hgetall 12, zmscore 60, zrange 1"},
		{`query Again { articles { title } own: articles` + own + ` }`, "zmscore 60"}, // the same page
		{`{ group(name: "go") { articles` + own + ` } }`, "evalsha 1, zmscore 60"},    // the same articles
		{`{ articlesConnection(first: 8) { nodes` + own + ` pageInfo { endCursor } } }`, "evalsha 1, hgetall 8, zmscore 60"},
		{`{ articlesConnection(last: 8) { nodes` + own + ` pageInfo { endCursor } } }`, "evalsha 1, hgetall 8, zmscore 60"},
		{`{ user(name: "alice") { articlesConnection(first: 8) { edges { node` + own + ` } } } }`, "evalsha 1, hgetall 8, zmscore 60"},
		{`{ article(id: 3)` + own + ` }`, "hgetall 1, zmscore 60"},
		{`{ node(id: "article:3") { ... on Article` + own + ` } }`, "zmscore 60"},
	}
	ask := func(query, reads string) {
		t.Helper()
		s.Trips.Reset()
		var all sync.WaitGroup
		for i := range 5 * users {
			all.Go(func() {
				_, body := s.PostJSON(string(must.Get(json.Marshal(map[string]string{"query": query}))(t)), "X-User-ID", fmt.Sprint("user", i%users))
				for _, found := range strings.Split(body, `"number":`)[1:] {
					number, rest, _ := strings.Cut(found, ",")
					want := `"viewerVote":"NONE","viewerCanVote":true`
					if number == fmt.Sprint(i%users+1) {
						want = fmt.Sprintf(`"viewerVote":%q,"viewerCanVote":true`, []string{"UP", "DOWN"}[i%2])
					}
					if !strings.HasPrefix(rest, want) {
						t.Errorf("user%d: %s: got article %s, %.60s, want %s", i%users, query, number, rest, want)
					}
				}
			})
		}
		all.Wait()
		if _, commands := s.Trips.Read(); sitetest.Tally(commands) != reads {
			t.Errorf("%s: got %s, want %s", query, sitetest.Tally(commands), reads)
		}
	}
	for _, tt := range tests {
		ask(tt.query, tt.reads)
	}
	s.Vote("alice", "article:3", "DOWN")
	ask(tests[0].query, tests[0].reads)
	// An answer that is shared as a whole may be as old as its own reads, not older.
	s.Trips.Reset()
	s.Ask("bob", `{ articles { number } }`)
	if _, commands := s.Trips.Read(); sitetest.Tally(commands) != "hgetall 12, zrange 1" {
		t.Errorf("a query without the caller's fields: got %s, want that it reads", sitetest.Tally(commands))
	}
}

// With SharedAnswers 0, each query reads.
func TestReadsAreNotSharedIfSwitchedOff(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) { o.SharedAnswers = 0 })
	s.Post("alice", "t")
	s.StopListening()
	s.Trips.Reset()
	for range 3 {
		s.Ask("bob", `{ articles { viewerVote } }`)
	}
	if _, commands := s.Trips.Read(); sitetest.Tally(commands) != "hgetall 3, zmscore 3, zrange 3" {
		t.Errorf("got %s for three pages", sitetest.Tally(commands))
	}
}

// A read that failed, or found no article, is done again for the next caller.
func TestFailedReadsAreNotShared(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), sharing)
	s.Post("alice", "t")
	s.StopListening()
	s.Trips.Reset()
	for range 2 {
		s.Want("bob", `{ article(id: 99) { viewerVote } }`, `{"article":null}`)
	}
	if _, commands := s.Trips.Read(); !slices.Equal(commands, []string{"hgetall", "hgetall"}) {
		t.Errorf("an article that does not exist: got %s, want two reads", commands)
	}
	h := &hold{"hgetall", make(chan context.Context, 100), make(chan error)}
	s.Client.AddHook(h)
	answers := make(chan string)
	ask := func(user string) { answers <- s.AskText(user, `{ article(id: 1) { votes viewerVote } }`) }
	go ask("alice")
	<-h.began
	h.end <- io.EOF
	if body := <-answers; sitetest.CodeOf(t, body) != "UNAVAILABLE" {
		t.Errorf("got %s, want UNAVAILABLE", body)
	}
	go ask("bob")
	select {
	case <-h.began:
		h.end <- nil
	case body := <-answers:
		t.Fatalf("got %s without another read", body)
	}
	if body := <-answers; body != `{"data":{"article":{"votes":1,"viewerVote":"NONE"}}}` {
		t.Errorf("got %s, want the article", body)
	}
	if body := s.AskText("alice", `{ article(id: 1) { votes viewerVote } }`); body != `{"data":{"article":{"votes":1,"viewerVote":"UP"}}}` {
		t.Errorf("got %s, want the article without another read", body)
	}
}

// When the store has lost all, what was read from it before is not shared for longer than it takes to notice.
func TestAnswersOfALostStoreAreNotShared(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), sharing)
	s.Post("alice", "t")
	queries := []string{`{ articles { votes } }`, `{ articles { votes viewerCanVote } }`, `{ articles: articlesConnection { nodes { votes } } }`}
	sitetest.Eventually(t, "the same answers to equal queries", func() bool { // the message about the post may come late
		for _, query := range queries {
			s.AskText("bob", query)
		}
		s.Trips.Reset()
		for _, query := range queries {
			if body := s.AskText("bob", query); !strings.Contains(body, `"votes":1`) {
				t.Fatalf("got %s, want the article", body)
			}
		}
		n, _ := s.Trips.Read()
		return n == 0
	})
	must.Do(t, s.Client.FlushAll(t.Context()).Err())
	for _, query := range queries {
		sitetest.Eventually(t, "an empty page", func() bool { return !strings.Contains(s.AskText("bob", query), "votes") })
	}
}
