package endpoint_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func TestWatchersSurviveRedisRestarts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t).Own()
	s := sitetest.New(t, server.Client, site.DefaultRules())
	id := s.Post("alice", "t")
	w, e := s.Socket(""), s.Stream(fmt.Sprintf(`subscription { articleChanged(ids: [%q]) { votes } }`, id))
	w.Watch("a", id)
	n := e.Settle(id)
	w.ReadVotes("a", n)
	for range 2 {
		server.Kill()
		w.Subscribe("b", `{ article(id: 1) { votes } }`, "")
		if f := w.Until(sitetest.Finished("b"))["b"][0]; sitetest.CodeOf(t, string(f.Payload)) != "UNAVAILABLE" {
			t.Errorf("without Redis: got %s, want UNAVAILABLE", f.Payload)
		}
		server.Restart()
		client := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket()})
		t.Cleanup(func() { _ = client.Close() })
		other := sitetest.New(t, client, site.DefaultRules())
		other.Voters.Store(int64(10 * n))
		n = other.VoteUp(id)
		w.ReadVotes("a", n)
		for e.Votes() < n {
		}
	}
}

func TestEventsRecoverAfterARedisOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t).Own()
	s := sitetest.New(t, server.Client, site.DefaultRules())
	id := s.Post("alice", "t")
	w := s.Socket("", "X-User-ID", "alice")
	w.Subscribe("a", `subscription { articleChanged(ids: [1]) { votes viewerVote } }`, "")
	read := func() (n int, vote, code string) {
		f := w.Read()
		var a struct {
			Data struct {
				ArticleChanged struct {
					Votes      int
					ViewerVote string
				}
			}
			Errors []sitetest.Error
		}
		if err := json.Unmarshal(f.Payload, &a); err != nil || f.Type != "next" || f.ID != "a" || a.Data.ArticleChanged.Votes == 0 {
			t.Fatalf("want an event with votes: %v, got %s %s", err, f.Type, f.Payload)
		}
		if len(a.Errors) > 0 {
			code = a.Errors[0].Extensions.Code
		}
		return a.Data.ArticleChanged.Votes, a.Data.ArticleChanged.ViewerVote, code
	}
	s.Settle(id, func() (string, int) { n, _, _ := read(); return "a", n }, "a")
	// The event of the first vote is sent at once, that of the last a quarter of a second later.
	for range 3 {
		s.VoteUp(id)
	}
	server.Kill()
	for range 5 { // events that are made now fail, or wait for Redis
		w.Subscribe("b", `{ viewer { id } article(id: 1) { votes } }`, "")
		for _, f := range w.Until(sitetest.Finished("b"))["a"] {
			if code := sitetest.CodeOf(t, string(f.Payload)); code != "" && code != "UNAVAILABLE" {
				t.Fatalf("an event: got code %s, want UNAVAILABLE or none", code)
			}
		}
	}
	server.Restart()
	n := 0
	require.Eventually(t, "Redis answers", func() bool {
		return sitetest.CodeOf(t, s.AskText("", `{ article(id: 1) { id } }`)) == ""
	})
	n = s.VoteUp(id)
	for {
		got, vote, code := read()
		if got < n {
			continue
		}
		if vote != "UP" || code != "" {
			t.Errorf("got viewerVote %q and code %q, want UP and no error", vote, code)
		}
		return
	}
}

// Not parallel: it measures the memory of the process.
func TestSubscriptionsTakeLittleMemory(t *testing.T) {
	const (
		short = `{ articleChanged(ids: $ids) { id title votes score } }`
		long  = `{ articleChanged(ids: $ids) { id title votes score upvotes downvotes text poster { name } groups { name } } }`
	)
	s := sitetest.Open(t)
	for range 100 {
		s.Post("alice", "t")
	}
	for _, c := range []struct {
		articles, most int
		name, fields   string
	}{
		{1, 6 << 10, "Same", short},
		{25, 10 << 10, "Same", short},
		{100, 12 << 10, "Same", short},
		{100, 24 << 10, "Other%d", long},
	} {
		var ids []string
		for i := range c.articles {
			ids = append(ids, fmt.Sprint(i+1))
		}
		w := s.Socket("")
		w.Watch("first", "1")
		before := heap()
		const n = 98
		for i := range n {
			name := strings.ReplaceAll(c.name, "%d", fmt.Sprint(i))
			w.Subscribe(fmt.Sprint(i), "subscription "+name+"($ids: [ID!]!) "+c.fields, `{"ids":[`+strings.Join(ids, ",")+`]}`)
		}
		w.Subscribe("last", `{ __typename }`, "")
		w.Until(sitetest.Finished("last"))
		s.VoteUp("1")
		w.Until(func(byID map[string][]sitetest.Message) bool { return len(byID) >= n })
		got := (heap() - before) / n
		t.Logf("%d articles, document %s: %d bytes per subscription", c.articles, c.name, got)
		if got > c.most {
			t.Errorf("%d articles, document %s: got %d bytes per subscription, want at most %d", c.articles, c.name, got, c.most)
		}
		_ = w.Conn.CloseNow()
	}
}

// heap returns the size of live objects and stacks, bytes.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse) // #nosec G115 -- far below 2^63
}
