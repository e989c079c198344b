package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

const subprotocol = "graphql-transport-ws"

// wire is the client's end of a WebSocket.
type wire struct {
	t    *testing.T
	site *site
	conn *websocket.Conn
}

// frame is a message of the server.
type frame struct {
	Type    string
	ID      string
	Payload json.RawMessage
}

// dial opens a WebSocket. header is pairs of name and value.
func (s *site) dial(options websocket.DialOptions, header ...string) (*websocket.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	options.HTTPHeader = http.Header{}
	for i := 0; i < len(header); i += 2 {
		options.HTTPHeader.Add(header[i], header[i+1])
	}
	return websocket.Dial(ctx, s.url, &options)
}

// open opens a WebSocket that has not begun.
func (s *site) open(header ...string) *wire {
	s.t.Helper()
	conn, _, err := s.dial(websocket.DialOptions{Subprotocols: []string{subprotocol}}, header...)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.wire(conn)
}

func (s *site) wire(conn *websocket.Conn) *wire {
	conn.SetReadLimit(8 << 20)
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	return &wire{s.t, s, conn}
}

// socket opens a WebSocket and begins, with a payload when it is not empty.
func (s *site) socket(payload string, header ...string) *wire {
	s.t.Helper()
	w := s.open(header...)
	w.begin(payload)
	return w
}

func (w *wire) begin(payload string) {
	w.t.Helper()
	if payload != "" {
		payload = `,"payload":` + payload
	}
	w.send(`{"type":"connection_init"` + payload + `}`)
	if f := w.read(); f.Type != "connection_ack" {
		w.t.Fatalf("connection_init is answered %v", f)
	}
}

func (w *wire) send(text string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		w.t.Fatalf("send %.200s: %v", text, err)
	}
}

// start subscribes to an operation of any kind. vars is an object, or empty.
func (w *wire) start(id, query, vars string) {
	w.t.Helper()
	if vars == "" {
		vars = "{}"
	}
	w.send(fmt.Sprintf(`{"type":"subscribe","id":%q,"payload":{"query":%q,"variables":%s}}`, id, query, vars))
}

func (w *wire) tryRead() (f frame, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, data, err := w.conn.Read(ctx)
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	return f, err
}

func (w *wire) read() frame {
	w.t.Helper()
	f, err := w.tryRead()
	if err != nil {
		w.t.Fatalf("read: %v", err)
	}
	return f
}

// want reads a message and compares it as text.
func (w *wire) want(kind, id, payload string) {
	w.t.Helper()
	if f := w.read(); f.Type != kind || f.ID != id || string(f.Payload) != payload {
		w.t.Errorf("got %s %q %s\nwant %s %q %s", f.Type, f.ID, f.Payload, kind, id, payload)
	}
}

// closed reads until the socket is closed, and returns what came before.
func (w *wire) closed() (before []frame, how websocket.CloseError) {
	w.t.Helper()
	for {
		f, err := w.tryRead()
		if errors.As(err, &how) {
			return before, how
		}
		if err != nil {
			w.t.Fatalf("not closed: %v", err)
		}
		before = append(before, f)
	}
}

// watch subscribes to an article's votes and waits until it is told of them.
// It returns how many there are then.
func (w *wire) watch(op, article string) int {
	w.t.Helper()
	w.start(op, `subscription($a: ID!) { articleChanged(ids: [$a]) { votes } }`, fmt.Sprintf(`{"a":%q}`, article))
	return w.settle(article, op)
}

// settle is for watchers that have subscribed: no answer says when they have. It
// votes until all are told, and returns the number that all were told last.
func (w *wire) settle(article string, ops ...string) int {
	w.t.Helper()
	return w.site.settle(article, func() (string, int) {
		f := w.read()
		return f.ID, votesOf(w.t, string(f.Payload))
	}, ops...)
}

// told reads until a watcher is told of at least n votes.
func (w *wire) told(op string, n int) {
	w.t.Helper()
	for {
		if f := w.read(); f.ID == op && votesOf(w.t, string(f.Payload)) >= n {
			return
		}
	}
}

func (s *site) settle(article string, read func() (string, int), ops ...string) int {
	s.t.Helper()
	stop, done, n := make(chan struct{}), make(chan struct{}), 0
	end := sync.OnceFunc(func() {
		close(stop)
		<-done
	})
	defer end()
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			n = s.up(article)
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	shown := map[string]int{}
	reach := func(n int) {
		for _, op := range ops {
			for shown[op] < n {
				op, votes := read()
				shown[op] = votes
			}
		}
	}
	reach(1)
	end()
	reach(n)
	return n
}

// votesOf is the number in an event that has one, and has no errors.
func votesOf(t *testing.T, event string) int {
	t.Helper()
	var a struct {
		Data   map[string]struct{ Votes int }
		Errors []gqlError
	}
	if err := json.Unmarshal([]byte(event), &a); err != nil || len(a.Errors) > 0 || len(a.Data) != 1 {
		t.Fatalf("no event: %v %.300s", err, event)
	}
	for _, article := range a.Data {
		return article.Votes
	}
	return 0
}

// up votes for an article as somebody who has not yet. It returns its votes.
func (s *site) up(article string) int {
	s.t.Helper()
	var a struct {
		Data struct {
			Vote struct{ Article struct{ Votes int } }
		}
	}
	body := s.raw(fmt.Sprint("voter", s.voters.Add(1)), `mutation($a: ID!) { vote(input: {article: $a}) { article { votes } } }`, "a", article)
	if err := json.Unmarshal([]byte(body), &a); err != nil || a.Data.Vote.Article.Votes == 0 {
		s.t.Fatalf("no vote: %v %s", err, body)
	}
	return a.Data.Vote.Article.Votes
}

// eventually tries until it works.
func eventually(t *testing.T, what string, works func() bool) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !works() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("in %v it never came to this: %s", patience, what)
		}
	}
}
