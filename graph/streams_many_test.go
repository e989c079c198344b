package graph_test

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redistest"
)

// Not parallel: it counts goroutines.
func TestAThousandClientsComeAndGo(t *testing.T) {
	const articles = 10
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules(), func(o *endpoint.Options) {
		// What Ping is for is not to clean up behind these clients.
		o.Streams.PerAddress, o.Streams.PerViewer, o.Streams.Ping = 100, 100, time.Hour
	})
	for range articles + 1 {
		s.post("alice", "t")
	}
	visit := func(i int) {
		query := fmt.Sprintf(`subscription { articleChanged(ids: [%d, %d]) { votes viewerVote } }`, 1+i%articles, 1+i/7%articles)
		if i%2 == 0 {
			w := s.socket("", "X-User-ID", "bob")
			w.start("a", query, "")
			w.start("b", `{ __typename }`, "")
			w.until(finished("b"))
			switch i % 6 {
			case 0:
				_ = w.conn.CloseNow()
			case 2:
				_ = w.conn.Close(1000, "")
			default: // it answers nothing more, but for its end
				w.send(`{"type":"complete","id":"a"}`)
				w.send(`{`)
				w.closed()
			}
			return
		}
		e := s.stream(query, "X-User-ID", "bob")
		e.comment()
		if i%3 == 0 {
			s.up("1")
		}
		e.cancel()
	}
	crowd := func(n int) {
		var all sync.WaitGroup
		for worker := range 20 {
			all.Go(func() {
				for i := worker; i < n; i += 20 {
					visit(i)
				}
			})
		}
		all.Wait()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	}
	crowd(20) // the pool of Redis has its connections
	least, same := runtime.NumGoroutine(), 0
	eventually(t, "the first have gone", func() bool {
		if now := runtime.NumGoroutine(); now < least {
			least, same = now, 0
		}
		same++
		return same == 25
	})
	crowd(1000)
	now := 0
	defer func() {
		if t.Failed() {
			stacks := make([]byte, 1<<20)
			t.Logf("%d goroutines, %d before:\n%.20000s", now, least, stacks[:runtime.Stack(stacks, true)])
		}
	}()
	eventually(t, "all goroutines have ended", func() bool {
		now = runtime.NumGoroutine()
		return now <= least
	})

	// Listen reads all that is watched when it has lost its connection.
	last := fmt.Sprint(articles + 1)
	s.socket("").watch("a", last)
	s.trips.reset()
	if err := s.client.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err(); err != nil {
		t.Fatal(err)
	}
	read := func() int {
		return len(slices.DeleteFunc(s.trips.listened(), func(name string) bool { return name != "hgetall" }))
	}
	eventually(t, "what is watched is read", func() bool { return read() > 0 })
	if n := read(); n != 1 {
		t.Errorf("%d articles are watched, not 1", n)
	}
}
