package endpoint_test

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/must"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// Not parallel: it counts goroutines.
func TestDisconnectedClientsLeakNothing(t *testing.T) {
	const articles = 10
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) {
		// These clients must be noticed without pings.
		o.Streams.PerAddress, o.Streams.PerViewer, o.Streams.Ping = 100, 100, time.Hour
	})
	for range articles + 1 {
		s.Post("alice", "t")
	}
	visit := func(i int) {
		query := fmt.Sprintf(`subscription { articleChanged(ids: [%d, %d]) { votes viewerVote } }`, 1+i%articles, 1+i/7%articles)
		if i%2 == 0 {
			w := s.Socket("", "X-User-ID", "bob")
			w.Subscribe("a", query, "")
			w.Subscribe("b", `{ __typename }`, "")
			w.Until(sitetest.Finished("b"))
			switch i % 6 {
			case 0:
				_ = w.Conn.CloseNow()
			case 2:
				_ = w.Conn.Close(1000, "")
			default: // an invalid message, for which the server closes the socket
				w.Send(`{"type":"complete","id":"a"}`)
				w.Send(`{`)
				w.ReadClose()
			}
			return
		}
		e := s.Stream(query, "X-User-ID", "bob")
		e.Comment()
		if i%3 == 0 {
			s.VoteUp("1")
		}
		e.Cancel()
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
	crowd(20) // fills the pool of connections to Redis
	least, same := runtime.NumGoroutine(), 0
	sitetest.Eventually(t, "the goroutines of the first clients have ended", func() bool {
		if now := runtime.NumGoroutine(); now < least {
			least, same = now, 0
		}
		same++
		return same == 25
	})
	for range 10 {
		crowd(100) // more at once would take longer to connect, on a busy machine, than a client may
	}
	now := 0
	defer func() {
		if t.Failed() {
			stacks := make([]byte, 1<<20)
			t.Logf("%d goroutines, %d before:\n%.20000s", now, least, stacks[:runtime.Stack(stacks, true)])
		}
	}()
	sitetest.Eventually(t, "all goroutines have ended", func() bool {
		now = runtime.NumGoroutine()
		return now <= least
	})

	// When Listen has lost its connection, it reads all watched articles.
	last := fmt.Sprint(articles + 1)
	s.Socket("").Watch("a", last)
	s.Trips.Reset()
	must.Do(t, s.Client.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	read := func() int {
		return len(slices.DeleteFunc(s.Trips.Listened(), func(name string) bool { return name != "hgetall" }))
	}
	sitetest.Eventually(t, "the watched articles are read", func() bool { return read() > 0 })
	if n := read(); n != 1 {
		t.Errorf("got %d watched articles, want 1", n)
	}
}
