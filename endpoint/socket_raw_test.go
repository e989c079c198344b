package endpoint_test

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"frontpage/endpoint"
	"frontpage/must"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

const (
	begin   = `{"type":"connection_init"}`
	request = `{"type":"subscribe","id":"a","payload":{"query":"subscription { articlePosted { node { id } } }"}}`
)

func TestProtocolErrorClosesTheSocketWithItsCode(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
	limit := int(endpoint.DefaultOptions().BodyLimit)
	tests := []struct {
		name     string
		messages []string
		code     websocket.StatusCode
	}{
		{"subscribe before init", []string{request}, 4401},
		{"a second init", []string{begin, begin}, 4429},
		{"a second init with a payload", []string{begin, `{"type":"connection_init","payload":{}}`}, 4429},
		{"an id in use", []string{begin, request, request}, 4409},
		{"a long id in use", []string{begin, strings.Replace(request, `"a"`, `"`+strings.Repeat("ü", 500)+`"`, 1), strings.Replace(request, `"a"`, `"`+strings.Repeat("ü", 500)+`"`, 1)}, 4409},
		{"not JSON", []string{"x"}, 4400},
		{"an empty message", []string{""}, 4400},
		{"truncated JSON", []string{begin[:20]}, 4400},
		{"two JSON values", []string{begin + begin}, 4400},
		{"an array", []string{"[" + begin + "]"}, 4400},
		{"null", []string{"null"}, 4400},
		{"a number", []string{"5"}, 4400},
		{"a string", []string{`"ping"`}, 4400},
		{"no type", []string{"{}"}, 4400},
		{"a number as type", []string{`{"type":5}`}, 4400},
		{"an unknown type", []string{`{"type":"start","id":"a"}`}, 4400},
		{"next from a client", []string{begin, `{"type":"next","id":"a","payload":{}}`}, 4400},
		{"error from a client", []string{begin, `{"type":"error","id":"a","payload":[]}`}, 4400},
		{"connection_ack from a client", []string{begin, `{"type":"connection_ack"}`}, 4400},
		{"invalid UTF-8", []string{begin, "{\"type\":\"ping\",\"payload\":{\"x\":\"\xff\"}}"}, 4400},
		{"init with an array", []string{`{"type":"connection_init","payload":[]}`}, 4400},
		{"ping with an array", []string{`{"type":"ping","payload":[]}`}, 4400},
		{"ping with a string", []string{begin, `{"type":"ping","payload":"x"}`}, 4400},
		{"complete without an id", []string{begin, `{"type":"complete"}`}, 4400},
		{"subscribe without an id", []string{begin, `{"type":"subscribe","payload":{"query":"{ __typename }"}}`}, 4400},
		{"an empty id", []string{begin, `{"type":"subscribe","id":"","payload":{"query":"{ __typename }"}}`}, 4400},
		{"a number as id", []string{begin, `{"type":"subscribe","id":1,"payload":{"query":"{ __typename }"}}`}, 4400},
		{"no payload", []string{begin, `{"type":"subscribe","id":"a"}`}, 4400},
		{"null as payload", []string{begin, `{"type":"subscribe","id":"a","payload":null}`}, 4400},
		{"a text as payload", []string{begin, `{"type":"subscribe","id":"a","payload":"{ __typename }"}`}, 4400},
		{"no query", []string{begin, `{"type":"subscribe","id":"a","payload":{"variables":{}}}`}, 4400},
		{"a number as query", []string{begin, `{"type":"subscribe","id":"a","payload":{"query":5}}`}, 4400},
		{"variables as array", []string{begin, `{"type":"subscribe","id":"a","payload":{"query":"{ __typename }","variables":[]}}`}, 4400},
		{"extensions as text", []string{begin, `{"type":"subscribe","id":"a","payload":{"query":"{ __typename }","extensions":"x"}}`}, 4400},
		{"a number as operationName", []string{begin, `{"type":"subscribe","id":"a","payload":{"query":"{ __typename }","operationName":5}}`}, 4400},
		{"too large", []string{begin, `{"type":"ping","payload":{"x":"` + strings.Repeat("x", limit) + `"}}`}, 1009},
	}
	for _, tt := range tests {
		w := s.OpenSocket()
		for _, text := range tt.messages {
			w.Send(text)
		}
		before, how := w.ReadClose()
		if how.Code != tt.code || how.Reason == "" || !utf8.ValidString(how.Reason) {
			t.Errorf("%s: got %d %q, want %d", tt.name, how.Code, how.Reason, tt.code)
		}
		acks := 0
		if tt.messages[0] == begin {
			acks = 1
		}
		if len(before) != acks || acks == 1 && before[0].Type != "connection_ack" {
			t.Errorf("%s: got %v before the close, want %d acknowledgements", tt.name, before, acks)
		}
	}
	for _, data := range []string{"\x00\x01\xfe\xff", begin} {
		w := s.OpenSocket()
		must.Do(t, w.Conn.Write(t.Context(), websocket.MessageBinary, []byte(data)))
		if before, how := w.ReadClose(); how.Code != 4400 || len(before) > 0 {
			t.Errorf("a binary message %q: got %v, %v, want 4400", data, before, how)
		}
	}
	w := s.Socket("")
	w.Send(`{"type":"ping","payload":{"x":"` + strings.Repeat("x", limit-100) + `"}}`)
	if f := w.Read(); f.Type != "pong" || len(f.Payload) != limit-100+len(`{"x":""}`) {
		t.Errorf("the largest message: got %.100v, want a pong with its payload", f)
	}
}

func TestSocketNeedsTheSubprotocol(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
	for _, offered := range [][]string{nil, {"graphql-ws"}} {
		conn, _, err := s.Dial(websocket.DialOptions{Subprotocols: offered})
		if err != nil {
			t.Fatal(err)
		}
		if _, how := s.SocketOver(conn).ReadClose(); how.Code != 4406 {
			t.Errorf("offered %v: got %v, want 4406", offered, how)
		}
	}
	conn, _, err := s.Dial(websocket.DialOptions{Subprotocols: []string{"graphql-ws", sitetest.Subprotocol}})
	if err != nil || conn.Subprotocol() != sitetest.Subprotocol {
		t.Fatal(err)
	}
	s.SocketOver(conn).Begin("")
}

func TestSocketWithoutInitIsClosed(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
	began := s.Socket("")
	late := s.OpenSocket()
	late.Send(`{"type":"ping"}`)
	late.Want("pong", "", "")
	opened := time.Now()
	if _, how := late.ReadClose(); how.Code != 4408 {
		t.Errorf("got %v, want 4408", how)
	}
	if took := time.Since(opened); took < 2*time.Second {
		t.Errorf("closed after %v, want at least 2s", took)
	}
	began.Send(`{"type":"ping"}`) // older than 3 s and still open
	began.Want("pong", "", "")
}

func TestSocketThatAnswersPingsStaysOpen(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) { o.Streams.Ping = 250 * time.Millisecond })
	id := s.Post("alice", "t")
	pings := make(chan struct{}, 100)
	conn, _, err := s.Dial(websocket.DialOptions{Subprotocols: []string{sitetest.Subprotocol}, OnPingReceived: func(context.Context, []byte) bool {
		pings <- struct{}{}
		return true
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := s.SocketOver(conn)
	w.Begin("")
	w.Watch("a", id)
	events := make(chan sitetest.Message)
	go func() {
		f, _ := w.TryRead()
		events <- f
	}()
	for i := range 12 {
		select {
		case <-pings:
		case f := <-events:
			t.Fatalf("after %d pings: got %v, want no message", i, f)
		case <-time.After(sitetest.Patience):
			t.Fatalf("got %d pings, want 12", i)
		}
	}
	n := s.VoteUp(id)
	if f := <-events; sitetest.VotesOf(t, string(f.Payload)) != n {
		t.Errorf("got %v, want %d votes", f, n)
	}
}
