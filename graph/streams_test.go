package graph_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redistest"
)

const watchAll = `subscription { articlePosted { id } }`

// tryOpen opens a WebSocket, or says with what status and code it is refused.
func (s *site) tryOpen() (w *wire, status int, code string) {
	s.t.Helper()
	conn, res, err := s.dial(websocket.DialOptions{Subprotocols: []string{subprotocol}})
	if err == nil {
		return s.wire(conn), res.StatusCode, ""
	}
	if res == nil {
		s.t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	return nil, res.StatusCode, codeOf(s.t, string(body))
}

func TestStreamsOfAnAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules(), func(o *endpoint.Options) { o.Streams.PerAddress = 2 })
	full := func() {
		t.Helper()
		if _, status, code := s.tryOpen(); status != 429 || code != "STREAM_LIMIT_EXCEEDED" {
			t.Errorf("a third socket: %d %s", status, code)
		}
		for _, query := range []string{watchAll, `{ __typename }`} {
			res, body := s.get(query, "Accept", "text/event-stream")
			var a answer
			if json.Unmarshal([]byte(body), &a); res.StatusCode != 429 || len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "STREAM_LIMIT_EXCEEDED" ||
				a.Errors[0].Extensions.Allowed != 2 || a.Errors[0].Extensions.Asked != 3 {
				t.Errorf("a third stream: %d %s", res.StatusCode, body)
			}
		}
		s.want("", `{ __typename }`, `{"__typename": "Query"}`)
	}
	w, e := s.socket(""), s.stream(watchAll)
	e.comment()
	full()
	_ = w.conn.Close(1000, "")
	eventually(t, "a place of a socket is free", func() bool {
		var status int
		w, status, _ = s.tryOpen()
		return status == 101
	})
	full()
	e.cancel()
	eventually(t, "a place of an event stream is free", func() bool {
		e = s.stream(watchAll)
		return e.res.StatusCode == 200
	})
	full()
	// A refused upgrade and a finished stream take no place.
	_ = w.conn.CloseNow()
	eventually(t, "a place is free", func() bool {
		_, body := s.get(`{ __typename }`, "Accept", "text/event-stream")
		return strings.HasPrefix(body, ":")
	})
	for range 5 {
		if res, _ := s.send("GET", "", "", "Upgrade", "websocket", "Connection", "upgrade"); res.StatusCode != 400 {
			t.Errorf("an upgrade without a key: %d", res.StatusCode)
		}
		s.get(`{ __typename }`, "Accept", "text/event-stream")
	}
	if _, status, _ := s.tryOpen(); status != 101 {
		t.Errorf("the place is taken: %d", status)
	}
}

func TestStreamsOfAViewer(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules(), func(o *endpoint.Options) { o.Streams.PerViewer = 1 })
	for _, name := range []string{"bob", "zoë"} {
		payload := fmt.Sprintf(`{"X-User-ID":%q}`, name)
		w := s.socket(payload)
		full := func() {
			t.Helper()
			second := s.open("X-User-ID", "carol") // the payload says otherwise
			second.send(`{"type":"connection_init","payload":` + payload + `}`)
			before, how := second.closed()
			if len(before) > 0 || how.Code != 1013 || !strings.Contains(how.Reason, "too many") {
				t.Errorf("a second socket: %v, %v", before, how)
			}
			if res, body := s.get(watchAll, "Accept", "text/event-stream", "X-User-ID", name); res.StatusCode != 429 || codeOf(t, body) != "STREAM_LIMIT_EXCEEDED" {
				t.Errorf("an event stream besides: %d %s", res.StatusCode, body)
			}
		}
		full()
		s.socket("", "X-User-ID", "other than "+name[:2])
		for range 3 { // nobody has no limit
			s.socket("")
		}
		_ = w.conn.CloseNow()
		var e *stream
		eventually(t, "the place is free", func() bool {
			e = s.stream(watchAll, "X-User-ID", name)
			return e.res.StatusCode == 200
		})
		full()
		e.cancel()
		eventually(t, "the place is free again", func() bool {
			w := s.open()
			w.send(`{"type":"connection_init","payload":` + payload + `}`)
			f, _ := w.tryRead()
			return f.Type == "connection_ack"
		})
	}
}

func TestOperationsOfASocket(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules(), func(o *endpoint.Options) { o.Streams.Operations = 2 })
	id := s.post("alice", "t")
	w := s.socket("")
	w.watch("a", id)
	w.watch("b", id)
	for _, query := range []string{watchAll, `{ __typename }`} {
		w.start("c", query, "")
		f := w.until(finished("c"))["c"]
		var errs []gqlError
		if len(f) != 1 || f[0].Type != "error" || json.Unmarshal(f[0].Payload, &errs) != nil || len(errs) != 1 || errs[0].Extensions.Code != "OPERATION_LIMIT_EXCEEDED" || errs[0].Extensions.Allowed != 2 {
			t.Errorf("a third operation is answered %v", f)
		}
	}
	n := s.up(id)
	w.until(func(byID map[string][]frame) bool {
		if len(byID["c"]) > 0 {
			t.Fatalf("after its error: %v", byID["c"])
		}
		return len(byID["a"]) > 0 && len(byID["b"]) > 0 && votesOf(t, string(byID["a"][len(byID["a"])-1].Payload)) == n
	})
	w.send(`{"type":"complete","id":"a"}`)
	for range 3 { // an answered operation makes room, too
		w.start("c", `{ __typename }`, "")
		if f := w.until(finished("c"))["c"]; len(f) != 2 || f[0].Type != "next" || f[1].Type != "complete" {
			t.Errorf("in the place of another: %v", f)
		}
	}
	other := s.socket("")
	other.watch("c", id)
}

// Browsers fail on a reason that is not UTF-8, and do not tell the code.
func TestALongNameDoesNotSpoilTheCloseCode(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules(), func(o *endpoint.Options) { o.Streams.PerViewer = 1 })
	for _, name := range []string{strings.Repeat("ü", 64), "x" + strings.Repeat("ü", 63), strings.Repeat("🗳", 64)} {
		payload := fmt.Sprintf(`{"X-User-ID":%q}`, name)
		s.socket(payload)
		w := s.open()
		w.send(`{"type":"connection_init","payload":` + payload + `}`)
		if _, how := w.closed(); how.Code != 1013 || !utf8.ValidString(how.Reason) {
			t.Errorf("%d %q", how.Code, how.Reason)
		}
	}
}
