package endpoint_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
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
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) { o.Streams.PerAddress = 2 })
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
	sitetest.Eventually(t, "another socket replaces the closed one", func() bool {
		var status int
		w, status, _ = tryOpen(s)
		return status == 101
	})
	full()
	e.Cancel()
	sitetest.Eventually(t, "another event stream replaces the cancelled one", func() bool {
		e = s.Stream(watchAll)
		return e.Res.StatusCode == 200
	})
	full()
	// Refused upgrades and finished streams no longer count.
	_ = w.Conn.CloseNow()
	sitetest.Eventually(t, "another stream replaces the closed socket", func() bool {
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
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) { o.Streams.PerViewer = 1 })
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
		sitetest.Eventually(t, "an event stream replaces the closed socket", func() bool {
			e = s.Stream(watchAll, "X-User-ID", name)
			return e.Res.StatusCode == 200
		})
		full()
		e.Cancel()
		sitetest.Eventually(t, "a socket replaces the cancelled event stream", func() bool {
			w := s.OpenSocket()
			w.Send(`{"type":"connection_init","payload":` + payload + `}`)
			f, _ := w.TryRead()
			return f.Type == "connection_ack"
		})
	}
}

func TestOperationsPerSocketAreLimited(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) { o.Streams.Operations = 2 })
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
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) { o.Streams.PerViewer = 1 })
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
