package endpoint_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// shutdown fails if a stream delays it for long.
func shutdown(s *sitetest.Site) error {
	ctx, cancel := context.WithTimeout(s.T.Context(), require.Timeout)
	defer cancel()
	return s.Handler.Shutdown(ctx, 0)
}

func TestShutdownEndsStreams(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	id := s.Post("alice", "t")
	w, idle, unbegun, e := s.Socket(""), s.Socket(""), s.OpenSocket(), s.Stream(fmt.Sprintf(`subscription { articleChanged(ids: [%q]) { votes } }`, id))
	w.Watch("a", id)
	n := e.Settle(id)
	w.ReadVotes("a", n)
	ended := make(chan error)
	go func() { ended <- shutdown(s) }()
	for name, w := range map[string]*sitetest.Socket{"watching": w, "idle": idle, "not begun": unbegun} {
		before, how := w.ReadClose()
		if how.Code != 1001 || len(before) > 0 {
			t.Errorf("%s: got %v after %v, want 1001 after no message", name, how, before)
		}
	}
	if rest, err := io.ReadAll(e.Body); err != nil || strings.Trim(string(rest), ":\n") != "" {
		t.Errorf("event stream: got %q, %v, want its end without events", rest, err)
	}
	require.NoError(t, <-ended)
	if _, status, code := tryOpen(s); status != 503 || code != "UNAVAILABLE" {
		t.Errorf("a new socket: got %d %s, want 503 UNAVAILABLE", status, code)
	}
	if res, body := s.Get(watchAll, "Accept", "text/event-stream"); res.StatusCode != 503 || sitetest.CodeOf(t, body) != "UNAVAILABLE" {
		t.Errorf("a new event stream: got %d %s, want 503 UNAVAILABLE", res.StatusCode, body)
	}
	s.Vote("bob", id, "UP") // mutations still run
}

// A stream never ends before its time, so the test does not depend on how fast the clients are.
func TestShutdownEndsStreamsOneAfterAnother(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	id := s.Post("alice", "t")
	const streams, over = 21, time.Second
	var ends [streams]time.Time
	var open sync.WaitGroup
	for i := range ends {
		end := func() { ends[i] = time.Now() }
		if i%3 == 0 {
			e := s.Stream(fmt.Sprintf(`subscription { articleChanged(ids: [%q]) { votes } }`, id))
			open.Go(func() { _, _ = io.ReadAll(e.Body); end() })
		} else {
			w := s.Socket("")
			open.Go(func() { w.ReadClose(); end() })
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), require.Timeout)
	defer cancel()
	began := time.Now()
	require.NoError(t, s.Handler.Shutdown(ctx, over))
	if took := time.Since(began); took < over {
		t.Errorf("Shutdown took %v, want at least %v", took, over)
	}
	open.Wait()
	late := 0
	for _, end := range ends {
		if end.Sub(began) >= over/2 {
			late++
		}
	}
	if late < streams/2 {
		t.Errorf("%d of %d streams ended in the second half of the time, want about half", late, streams)
	}
}

// A client that reads and sends nothing delays Shutdown by seconds at most.
func TestShutdownDoesNotWaitForASilentClient(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	rawSocket(s, begin, request)
	w := s.Socket("")
	w.Send(`{"type":"ping"}`)
	w.Want("pong", "", "")
	ended := make(chan error)
	go func() { ended <- shutdown(s) }()
	if _, how := w.ReadClose(); how.Code != 1001 {
		t.Errorf("another client: got %v, want 1001", how)
	}
	require.NoError(t, <-ended)
}

// The same is true of a client that is still receiving events.
func TestShutdownDoesNotWaitForASlowWatcher(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	subscription, ids := big(s)
	conn := rawSocket(s, begin, fmt.Sprintf(`{"type":"subscribe","id":"a","payload":{"query":%q}}`, subscription))
	begun := make(chan error, 1)
	go func() {
		_, err := io.CopyN(io.Discard, conn, 8<<10)
		begun <- err
	}()
	require.Eventually(t, "an event arrives", func() bool {
		s.VoteUp(ids[0])
		return len(begun) > 0
	})
	require.NoError(t, <-begun)
	s.VoteUp(ids[0])
	require.NoError(t, shutdown(s))
}

func TestShutdownLetsAMutationFinish(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := sitetest.New(t, server.Client, site.DefaultRules())
	id := s.Post("alice", "t")
	w := s.Socket("", "X-User-ID", "bob")
	w.Watch("watcher", id)
	control := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket()})
	t.Cleanup(func() { _ = control.Close() })
	require.NoError(t, control.Do(t.Context(), "CLIENT", "PAUSE", "20000", "WRITE").Err())
	s.Trips.Reset()
	w.Subscribe("a", `mutation { vote(input: {article: "1"}) { changed } }`, "")
	require.Eventually(t, "the mutation has reached Redis", func() bool { n, _ := s.Trips.Read(); return n == 1 })
	ended := make(chan error, 1)
	go func() { ended <- shutdown(s) }()
	require.Eventually(t, "Shutdown has begun", func() bool {
		_, status, _ := tryOpen(s)
		return status == http.StatusServiceUnavailable
	})
	for range 50 { // new sockets are refused slightly before this one is notified
		w.Send(`{"type":"ping"}`)
		w.Want("pong", "", "")
	}
	w.Subscribe("late", `{ __typename }`, "")
	select {
	case err := <-ended:
		t.Fatalf("Shutdown returned while a mutation was running: %v", err)
	default:
	}
	require.NoError(t, control.Do(t.Context(), "CLIENT", "UNPAUSE").Err())
	w.Want("next", "a", `{"data":{"vote":{"changed":true}}}`)
	w.Want("complete", "a", "")
	if before, how := w.ReadClose(); how.Code != 1001 || len(before) > 0 {
		t.Errorf("got %v after %v, want 1001 after no message", how, before)
	}
	require.NoError(t, <-ended)
}
