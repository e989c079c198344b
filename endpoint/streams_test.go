package endpoint_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"frontpage/endpoint"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

const watchAll = `subscription { articlePosted { node { id } } }`

// tryOpen opens a WebSocket, or returns the status and the code of the refusal.
func tryOpen(s *sitetest.Site) (w *sitetest.Socket, status int, code string) {
	s.T.Helper()
	conn, res, err := s.Dial(websocket.DialOptions{Subprotocols: []string{sitetest.Subprotocol}})
	if err == nil {
		return s.SocketOver(conn), res.StatusCode, ""
	}
	if res == nil {
		s.T.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	return nil, res.StatusCode, sitetest.CodeOf(s.T, string(body))
}

func TestStreamsPerAddressAreLimited(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, func(o *endpoint.Options) { o.Streams.PerAddress = 2 })
	full := func() {
		t.Helper()
		if _, status, code := tryOpen(s); status != 429 || code != "STREAM_LIMIT_EXCEEDED" {
			t.Errorf("a third socket: got %d %s, want 429 STREAM_LIMIT_EXCEEDED", status, code)
		}
		for _, query := range []string{watchAll, `{ __typename }`} {
			res, body := s.Get(query, "Accept", "text/event-stream")
			var a sitetest.Answer
			if _ = json.Unmarshal([]byte(body), &a); res.StatusCode != 429 || len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "STREAM_LIMIT_EXCEEDED" ||
				a.Errors[0].Extensions.Allowed != 2 || a.Errors[0].Extensions.Asked != 3 {
				t.Errorf("a third stream: got %d %s, want 429 STREAM_LIMIT_EXCEEDED", res.StatusCode, body)
			}
		}
		s.Want("", `{ __typename }`, `{"__typename": "Query"}`)
	}
	w, e := s.Socket(""), s.Stream(watchAll)
	e.Comment()
	full()
	_ = w.Conn.Close(1000, "")
	require.Eventually(t, "another socket replaces the closed one", func() bool {
		var status int
		w, status, _ = tryOpen(s)
		return status == 101
	})
	full()
	e.Cancel()
	require.Eventually(t, "another event stream replaces the cancelled one", func() bool {
		e = s.Stream(watchAll)
		return e.Res.StatusCode == 200
	})
	full()
	// Refused upgrades and finished streams no longer count.
	_ = w.Conn.CloseNow()
	require.Eventually(t, "another stream replaces the closed socket", func() bool {
		_, body := s.Get(`{ __typename }`, "Accept", "text/event-stream")
		return strings.HasPrefix(body, ":")
	})
	for range 5 {
		if res, _ := s.Send("GET", "", "", "Upgrade", "websocket", "Connection", "upgrade"); res.StatusCode != 400 {
			t.Errorf("an upgrade without a key: got %d, want 400", res.StatusCode)
		}
		s.Get(`{ __typename }`, "Accept", "text/event-stream")
	}
	if _, status, _ := tryOpen(s); status != 101 {
		t.Errorf("after refused upgrades and finished streams: got %d, want 101", status)
	}
}

func TestStreamsPerViewerAreLimited(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, func(o *endpoint.Options) { o.Streams.PerViewer = 1 })
	for _, name := range []string{"bob", "zoë"} {
		payload := fmt.Sprintf(`{"X-User-ID":%q}`, name)
		w := s.Socket(payload)
		full := func() {
			t.Helper()
			second := s.OpenSocket("X-User-ID", "carol") // the payload overrides this name
			second.Send(`{"type":"connection_init","payload":` + payload + `}`)
			before, how := second.ReadClose()
			if len(before) > 0 || how.Code != 1013 || !strings.Contains(how.Reason, "too many") {
				t.Errorf("a second socket: got %v and %v, want 1013", before, how)
			}
			if res, body := s.Get(watchAll, "Accept", "text/event-stream", "X-User-ID", name); res.StatusCode != 429 || sitetest.CodeOf(t, body) != "STREAM_LIMIT_EXCEEDED" {
				t.Errorf("an event stream in addition: got %d %s, want 429 STREAM_LIMIT_EXCEEDED", res.StatusCode, body)
			}
		}
		full()
		s.Socket("", "X-User-ID", "other than "+name[:2])
		for range 3 { // anonymous clients are limited by address only
			s.Socket("")
		}
		_ = w.Conn.CloseNow()
		var e *sitetest.Stream
		require.Eventually(t, "an event stream replaces the closed socket", func() bool {
			e = s.Stream(watchAll, "X-User-ID", name)
			return e.Res.StatusCode == 200
		})
		full()
		e.Cancel()
		require.Eventually(t, "a socket replaces the cancelled event stream", func() bool {
			w := s.OpenSocket()
			w.Send(`{"type":"connection_init","payload":` + payload + `}`)
			f, _ := w.TryRead()
			return f.Type == "connection_ack"
		})
	}
}

func TestOperationsPerSocketAreLimited(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, func(o *endpoint.Options) { o.Streams.Operations = 2 })
	id := s.Post("alice", "t")
	w := s.Socket("")
	w.Watch("a", id)
	w.Watch("b", id)
	for _, query := range []string{watchAll, `{ __typename }`} {
		w.Subscribe("c", query, "")
		f := w.Until(sitetest.Finished("c"))["c"]
		var errs []sitetest.Error
		if len(f) != 1 || f[0].Type != "error" || json.Unmarshal(f[0].Payload, &errs) != nil || len(errs) != 1 || errs[0].Extensions.Code != "OPERATION_LIMIT_EXCEEDED" || errs[0].Extensions.Allowed != 2 {
			t.Errorf("a third operation: got %v, want OPERATION_LIMIT_EXCEEDED", f)
		}
	}
	n := s.VoteUp(id)
	w.Until(func(byID map[string][]sitetest.Message) bool {
		if len(byID["c"]) > 0 {
			t.Fatalf("after its error: got %v, want no message", byID["c"])
		}
		return len(byID["a"]) > 0 && len(byID["b"]) > 0 && sitetest.VotesOf(t, string(byID["a"][len(byID["a"])-1].Payload)) == n
	})
	w.Send(`{"type":"complete","id":"a"}`)
	for range 3 { // a finished operation makes room, too
		w.Subscribe("c", `{ __typename }`, "")
		if f := w.Until(sitetest.Finished("c"))["c"]; len(f) != 2 || f[0].Type != "next" || f[1].Type != "complete" {
			t.Errorf("after another has ended: got %v, want next and complete", f)
		}
	}
	other := s.Socket("")
	other.Watch("c", id)
}

// Browsers fail on a close reason that is not UTF-8, and hide the code from scripts.
func TestCloseReasonIsValidUTF8ForLongNames(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, func(o *endpoint.Options) { o.Streams.PerViewer = 1 })
	for _, name := range []string{strings.Repeat("ü", 64), "x" + strings.Repeat("ü", 63), strings.Repeat("🗳", 64)} {
		payload := fmt.Sprintf(`{"X-User-ID":%q}`, name)
		s.Socket(payload)
		w := s.OpenSocket()
		w.Send(`{"type":"connection_init","payload":` + payload + `}`)
		if _, how := w.ReadClose(); how.Code != 1013 || !utf8.ValidString(how.Reason) {
			t.Errorf("got %d %q, want 1013 and valid UTF-8", how.Code, how.Reason)
		}
	}
}

// subscribeTo subscribes to articles that need not exist, and returns the code of the refusal, or "".
func subscribeTo(t *testing.T, w *sitetest.Socket, id, fields string, articles int) string {
	t.Helper()
	var ids []string
	for i := range articles {
		ids = append(ids, fmt.Sprint(i+1))
	}
	w.Subscribe(id, `subscription($ids: [ID!]!) { articleChanged(ids: $ids) { `+fields+` } }`, `{"ids":[`+strings.Join(ids, ",")+`]}`)
	w.Subscribe(id+" begun", `{ __typename }`, "") // operations begin one after another
	byID := w.Until(sitetest.Finished(id + " begun"))
	if len(byID[id]) == 0 {
		return ""
	}
	var errs []sitetest.Error
	if err := json.Unmarshal(byID[id][0].Payload, &errs); err != nil || byID[id][0].Type != "error" {
		t.Fatalf("%s: got %v, want no message or an error", id, byID[id])
	}
	return errs[0].Extensions.Code
}

func TestWatchedArticlesAreLimited(t *testing.T) {
	t.Parallel()
	const code = "WATCH_LIMIT_EXCEEDED"
	for owner, set := range map[string]func(*endpoint.StreamLimits){
		"this server":  func(l *endpoint.StreamLimits) { l.Watched = 50 },
		"your address": func(l *endpoint.StreamLimits) { l.WatchedPerAddress = 50 },
		"bob":          func(l *endpoint.StreamLimits) { l.WatchedPerViewer = 50 },
	} {
		t.Run(owner, func(t *testing.T) {
			t.Parallel()
			s := sitetest.Open(t, func(o *endpoint.Options) { set(&o.Streams) })
			first, second := s.Socket("", "X-User-ID", "bob"), s.Socket("", "X-User-ID", "bob")
			if got := subscribeTo(t, first, "a", "id", 40); got != "" {
				t.Errorf("40 of 50: got %s, want a subscription", got)
			}
			if got := subscribeTo(t, second, "b", "id", 11); got != code {
				t.Errorf("51 of 50: got %q, want %s", got, code)
			}
			if got := subscribeTo(t, second, "c", "id", 10); got != "" {
				t.Errorf("50 of 50: got %s, want a subscription", got)
			}
			res, body := s.Get(`subscription { articleChanged(ids: ["1"]) { id } }`, "Accept", "text/event-stream", "X-User-ID", "bob")
			var a sitetest.Answer
			if err := json.Unmarshal([]byte(body), &a); err != nil || res.StatusCode != 429 || len(a.Errors) != 1 || a.Errors[0].Extensions.Code != code ||
				a.Errors[0].Extensions.Asked != 51 || a.Errors[0].Extensions.Allowed != 50 || !strings.Contains(a.Errors[0].Message, owner) {
				t.Errorf("an event stream: got %d %s, want 429 %s for %s", res.StatusCode, body, code, owner)
			}
			if _, body := s.PostJSON(`{"query":"{ __typename }"}`); body != `{"data":{"__typename":"Query"}}` {
				t.Errorf("a query: got %s, want an answer", body)
			}
			if log := s.Log.String(); strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") {
				t.Errorf("got the log %s, want no line about a refusal", log)
			}
			// What has ended makes room.
			first.Send(`{"type":"complete","id":"a"}`)
			if got := subscribeTo(t, first, "d", "id", 40); got != "" {
				t.Errorf("after a subscription was completed: got %s, want a subscription", got)
			}
			_ = second.Conn.CloseNow()
			require.Eventually(t, "an event stream replaces the subscription of a closed socket", func() bool {
				e := s.Stream(`subscription { articleChanged(ids: ["1"]) { id } }`, "X-User-ID", "bob")
				defer e.Cancel()
				return e.Res.StatusCode == 200
			})
			require.Eventually(t, "a subscription replaces the cancelled event streams", func() bool {
				return subscribeTo(t, s.Socket("", "X-User-ID", "bob"), "e", "id", 10) == ""
			})
		})
	}
}

func TestMemoryOfSubscriptionsIsLimited(t *testing.T) {
	t.Parallel()
	const code = "WATCH_LIMIT_EXCEEDED"
	s := sitetest.Open(t, func(o *endpoint.Options) { o.Streams.Memory = 5 * 100_000 })
	w := s.Socket("")
	for i := range 10 { // they share a document
		if got := subscribeTo(t, w, fmt.Sprint("same", i), "id", 1); got != "" {
			t.Errorf("the same document, %d: got %s, want a subscription", i, got)
		}
	}
	refused := 0
	for i := range 10 {
		if got := subscribeTo(t, w, fmt.Sprint("other", i), fmt.Sprintf("a%d: id", i)+strings.Repeat(" title", 100), 1); got == code {
			refused++
		} else if got != "" {
			t.Errorf("another document, %d: got %s, want a subscription or %s", i, got, code)
		}
	}
	if refused == 0 || refused == 10 {
		t.Errorf("of 10 different documents: got %d refused, want some", refused)
	}
	_ = w.Conn.CloseNow()
}

func TestSubscriptionIsChargedForItsArticles(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, func(o *endpoint.Options) { o.Limits.Cost = 100 })
	w := s.Socket("")
	if got := subscribeTo(t, w, "a", "id title votes", 25); got != "" {
		t.Errorf("25 articles of 3 fields: got %s, want a subscription for 100 points", got)
	}
	if got := subscribeTo(t, w, "b", "id title votes", 26); got != "COMPLEXITY_LIMIT_EXCEEDED" {
		t.Errorf("26 articles of 3 fields: got %q, want COMPLEXITY_LIMIT_EXCEEDED", got)
	}
}

// Sockets without subscriptions take memory, too.
func TestMemoryOfSocketsIsLimited(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, func(o *endpoint.Options) { o.Streams.Memory = 5 * 10_000 })
	first := s.Socket("")
	_ = s.Socket("")
	if _, status, code := tryOpen(s); status != 429 || code != "WATCH_LIMIT_EXCEEDED" {
		t.Errorf("a third socket: got %d %s, want 429 WATCH_LIMIT_EXCEEDED", status, code)
	}
	_ = first.Conn.CloseNow()
	require.Eventually(t, "another socket replaces the closed one", func() bool {
		_, status, _ := tryOpen(s)
		return status == 101
	})
}

// Not parallel: it counts goroutines.
func TestDisconnectedClientsLeakNothing(t *testing.T) {
	const articles = 10
	s := sitetest.Open(t, func(o *endpoint.Options) {
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
	require.Eventually(t, "the goroutines of the first clients have ended", func() bool {
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
	require.Eventually(t, "all goroutines have ended", func() bool {
		now = runtime.NumGoroutine()
		return now <= least
	})

	// When the log has lost the entry that was read last, Listen reads all watched articles. Which one that is, a test cannot
	// know: the watcher may have got its votes from their replies. So the log loses all.
	last := fmt.Sprint(articles + 1)
	s.Socket("").Watch("a", last)
	s.Trips.Reset()
	require.NoError(t, s.Client.XTrimMaxLen(t.Context(), "events:", 0).Err())
	require.NoError(t, s.Client.Publish(t.Context(), "changes:0", "another 0").Err())
	read := func() int {
		return len(slices.DeleteFunc(s.Trips.Listened(), func(name string) bool { return name != "hgetall" }))
	}
	require.Eventually(t, "the watched articles are read", func() bool { return read() > 0 })
	if n := read(); n != 1 {
		t.Errorf("got %d watched articles, want 1", n)
	}
}
