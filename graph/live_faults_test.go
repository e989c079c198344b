package graph_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redistest"
)

func TestWatchersOutliveRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newSite(t, server.Client, redisrepo.BookRules())
	id := s.post("alice", "t")
	w, e := s.socket(""), s.stream(fmt.Sprintf(`subscription { articleChanged(ids: [%q]) { votes } }`, id))
	w.watch("a", id)
	n := e.settle(id)
	w.told("a", n)
	for range 2 {
		server.Kill()
		w.start("b", `{ article(id: 1) { votes } }`, "")
		if f := w.until(finished("b"))["b"][0]; codeOf(t, string(f.Payload)) != "UNAVAILABLE" {
			t.Errorf("without Redis: %s", f.Payload)
		}
		server.Restart()
		client := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket()})
		t.Cleanup(func() { _ = client.Close() })
		other := newSite(t, client, redisrepo.BookRules())
		other.voters.Store(int64(10 * n))
		began := time.Now()
		n = other.up(id)
		w.told("a", n)
		for e.votes() < n {
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("told after %v", took)
		}
	}
}

func TestAnEventWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newSite(t, server.Client, redisrepo.BookRules())
	id := s.post("alice", "t")
	w := s.socket("", "X-User-ID", "alice")
	w.start("a", `subscription { articleChanged(ids: [1]) { votes viewerVote } }`, "")
	read := func() (n int, vote, code string) {
		f := w.read()
		var a struct {
			Data struct {
				ArticleChanged struct {
					Votes      int
					ViewerVote string
				}
			}
			Errors []gqlError
		}
		if err := json.Unmarshal(f.Payload, &a); err != nil || f.Type != "next" || f.ID != "a" || a.Data.ArticleChanged.Votes == 0 {
			t.Fatalf("%v %s %s", err, f.Type, f.Payload)
		}
		if len(a.Errors) > 0 {
			code = a.Errors[0].Extensions.Code
		}
		return a.Data.ArticleChanged.Votes, a.Data.ArticleChanged.ViewerVote, code
	}
	s.settle(id, func() (string, int) { n, _, _ := read(); return "a", n }, "a")
	// The first of these is told at once, the last a quarter of a second later.
	for range 3 {
		s.up(id)
	}
	server.Kill()
	for range 5 { // an event is made without Redis, or waits for it
		w.start("b", `{ viewer { id } article(id: 1) { votes } }`, "")
		for _, f := range w.until(finished("b"))["a"] {
			if code := codeOf(t, string(f.Payload)); code != "" && code != "UNAVAILABLE" {
				t.Fatalf("an event has the code %s", code)
			}
		}
	}
	server.Restart()
	n := 0
	eventually(t, "Redis answers", func() bool {
		return codeOf(t, s.raw("", `{ article(id: 1) { id } }`)) == ""
	})
	n = s.up(id)
	for {
		got, vote, code := read()
		if got < n {
			continue
		}
		if vote != "UP" || code != "" {
			t.Errorf("viewerVote %s, code %s", vote, code)
		}
		return
	}
}
