package graph_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redistest"
)

func TestShutdownEndsStreams(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules())
	id := s.post("alice", "t")
	w, idle, unbegun, e := s.socket(""), s.socket(""), s.open(), s.stream(fmt.Sprintf(`subscription { articleChanged(ids: [%q]) { votes } }`, id))
	w.watch("a", id)
	n := e.settle(id)
	w.told("a", n)
	ended := make(chan error)
	began := time.Now()
	go func() { ended <- s.handler.Shutdown(t.Context()) }()
	for name, w := range map[string]*wire{"watching": w, "idle": idle, "not begun": unbegun} {
		before, how := w.closed()
		if how.Code != 1001 || len(before) > 0 {
			t.Errorf("%s: %v, before %v", name, how, before)
		}
	}
	if rest, err := io.ReadAll(e.body); err != nil || strings.Trim(string(rest), ":\n") != "" {
		t.Errorf("the event stream ends with %q: %v", rest, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	if _, status, code := s.tryOpen(); status != 503 || code != "UNAVAILABLE" {
		t.Errorf("a new socket: %d %s", status, code)
	}
	if res, body := s.get(watchAll, "Accept", "text/event-stream"); res.StatusCode != 503 || codeOf(t, body) != "UNAVAILABLE" {
		t.Errorf("a new event stream: %d %s", res.StatusCode, body)
	}
	s.vote("bob", id, "UP") // what has an end is answered
}

// The server has a few seconds to stop, whatever one client does.
func TestShutdownDoesNotWaitForASilentClient(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules())
	s.rawSocket(begin, request)
	w := s.socket("")
	w.send(`{"type":"ping"}`)
	w.want("pong", "", "")
	ended := make(chan error)
	began := time.Now()
	go func() { ended <- s.handler.Shutdown(t.Context()) }()
	if _, how := w.closed(); how.Code != 1001 {
		t.Errorf("another client: %v", how)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Nor does it wait for one that has not taken in the last events yet.
func TestShutdownDoesNotWaitForASlowWatcher(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules())
	subscription, ids := s.big()
	conn := s.rawSocket(begin, fmt.Sprintf(`{"type":"subscribe","id":"a","payload":{"query":%q}}`, subscription))
	begun := make(chan error, 1)
	go func() {
		_, err := io.CopyN(io.Discard, conn, 8<<10)
		begun <- err
	}()
	eventually(t, "an event arrives", func() bool {
		s.up(ids[0])
		return len(begun) > 0
	})
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	s.up(ids[0])
	began := time.Now()
	if err := s.handler.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestShutdownLetsAMutationFinish(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newSite(t, server.Client, redisrepo.BookRules())
	id := s.post("alice", "t")
	w := s.socket("", "X-User-ID", "bob")
	w.watch("watcher", id)
	control := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket()})
	t.Cleanup(func() { _ = control.Close() })
	if err := control.Do(t.Context(), "CLIENT", "PAUSE", "20000", "WRITE").Err(); err != nil {
		t.Fatal(err)
	}
	s.trips.reset()
	w.start("a", `mutation { vote(input: {article: "1"}) { changed } }`, "")
	eventually(t, "the mutation is at Redis", func() bool { n, _ := s.trips.read(); return n == 1 })
	ended := make(chan error, 1)
	go func() { ended <- s.handler.Shutdown(t.Context()) }()
	eventually(t, "Shutdown has begun", func() bool {
		_, status, _ := s.tryOpen()
		return status == http.StatusServiceUnavailable
	})
	for range 50 { // new sockets are refused a moment before this one knows
		w.send(`{"type":"ping"}`)
		w.want("pong", "", "")
	}
	w.start("late", `{ __typename }`, "")
	select {
	case err := <-ended:
		t.Fatalf("Shutdown returns while a mutation runs: %v", err)
	default:
	}
	if err := control.Do(t.Context(), "CLIENT", "UNPAUSE").Err(); err != nil {
		t.Fatal(err)
	}
	w.want("next", "a", `{"data":{"vote":{"changed":true}}}`)
	w.want("complete", "a", "")
	if before, how := w.closed(); how.Code != 1001 || len(before) > 0 {
		t.Errorf("%v, before %v", how, before)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
