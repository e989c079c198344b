package graph_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// An event is never older than a response that was sent before it on the same socket.
func TestEventsAreNoOlderThanResponses(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	id := s.Post("alice", "t")
	w := s.Socket("", "X-User-ID", "alice")
	ops := make([]string, 10)
	for i := range ops {
		ops[i] = fmt.Sprint("watcher", i)
		// Making an event takes a while, in which other operations are answered.
		w.Subscribe(ops[i], `subscription { articleChanged(ids: [1]) { votes viewerVote } }`, "")
	}
	n := w.Settle(id, ops...)
	var voters sync.WaitGroup
	for range 4 {
		voters.Go(func() {
			tick := time.NewTicker(20 * time.Millisecond) // otherwise one event would show them all
			defer tick.Stop()
			for range 75 {
				s.VoteUp(id)
				<-tick.C
			}
		})
	}
	defer voters.Wait()
	ask := map[string]string{
		"query":    `{ article(id: 1) { votes } }`,
		"mutation": `mutation { vote(input: {article: 1}) { article { votes } } }`,
	}
	for op, query := range ask {
		w.Subscribe(op, query, "")
	}
	floor, last, events, answers := n, map[string]int{}, 0, 0
	for slices.ContainsFunc(ops, func(op string) bool { return last[op] < n+300 }) {
		f := w.Read()
		switch {
		case f.Type == "complete":
			w.Subscribe(f.ID, ask[f.ID], "")
		case slices.Contains(ops, f.ID):
			votes := sitetest.VotesOf(t, string(f.Payload))
			if votes < floor || votes < last[f.ID] {
				t.Fatalf("got an event of %d votes after a response with %d and an event with %d", votes, floor, last[f.ID])
			}
			last[f.ID] = votes
			events++
		default:
			var a struct {
				Data struct {
					Article struct{ Votes int }
					Vote    struct{ Article struct{ Votes int } }
				}
			}
			require.NoError(t, json.Unmarshal(f.Payload, &a))
			floor = max(floor, a.Data.Article.Votes, a.Data.Vote.Article.Votes)
			answers++
		}
	}
	if answers < events || events < 2*len(ops) {
		t.Errorf("got %d events among %d responses, which is too few to prove anything", events, answers)
	}
}

func TestEventsSendNoRedisCommands(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := sitetest.New(t, server.Client, site.DefaultRules())
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket()})
	t.Cleanup(func() { _ = client.Close() })
	other := sitetest.New(t, client, site.DefaultRules())
	other.Voters.Store(1000) // so that its voters are not those of the first site
	id := s.Post("alice", "t", "go")
	const fields = `votes id number title text link score upvotes downvotes isInteresting groups { name } poster { name } createdAt viewerCanVote`
	w := s.Socket("", "X-User-ID", "alice")
	var ops []string
	check := func(watchers int) {
		t.Helper()
		for len(ops) < watchers {
			op := fmt.Sprint("w", len(ops))
			ops = append(ops, op)
			w.Subscribe(op, `subscription { articleChanged(ids: [1]) { `+fields+` } }`, "")
		}
		w.Settle(id, ops...)
		s.Trips.Reset()
		for range 3 {
			n := other.VoteUp(id)
			shown := map[string]int{}
			for _, op := range ops {
				for shown[op] < n {
					f := w.Read()
					shown[f.ID] = sitetest.VotesOf(t, string(f.Payload))
				}
			}
		}
		heard := slices.DeleteFunc(s.Trips.Listened(), func(name string) bool { return name == "xrange" }) // of the log
		if n, commands := s.Trips.Read(); n != 0 || len(heard) != 0 {
			t.Errorf("3 votes with %d watchers: got commands %v, and %v by Listen, want none", len(ops), commands, heard)
		}
	}
	check(1)
	check(50)
}

// Data that was loaded for one event is not reused for the next.
func TestEachEventLoadsFreshData(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	id := s.Post("alice", "t", "go")
	w, e := s.Socket(""), s.Stream(`subscription { articleChanged(ids: [1]) { votes } }`)
	const fields = `groups { articleCount articles { number votes } }`
	w.Watch("plain", id)
	e.Settle(id)
	w.Subscribe("a", `subscription { articleChanged(ids: [1]) { votes `+fields+` } }`, "")
	var shown, count, inner int
	next := func() {
		f := w.Read()
		for ; f.ID != "a"; f = w.Read() {
		}
		var a struct {
			Data struct {
				ArticleChanged struct {
					Votes  int
					Groups []struct {
						ArticleCount int
						Articles     []struct{ Number, Votes int }
					}
				}
			}
		}
		if err := json.Unmarshal(f.Payload, &a); err != nil || len(a.Data.ArticleChanged.Groups) != 1 {
			t.Fatalf("want an event with one group: %v, got %s", err, f.Payload)
		}
		article := a.Data.ArticleChanged
		shown, count, inner = article.Votes, article.Groups[0].ArticleCount, article.Groups[0].Articles[0].Votes
	}
	s.Settle(id, func() (string, int) { next(); return "a", shown }, "a")
	for i := range 4 {
		s.Post("alice", "another", "go")
		n := s.VoteUp(id)
		for next(); shown < n; next() {
		}
		if inner < shown || count != i+2 {
			t.Errorf("an event of %d votes: got %d votes in its group of %d articles, want %d articles", shown, inner, count, i+2)
		}
	}
}
