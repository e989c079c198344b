package sitetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"frontpage/tests/require"

	"github.com/coder/websocket"
)

// Subprotocol is the WebSocket subprotocol of the endpoint.
const Subprotocol = "graphql-transport-ws"

// Socket is the client's end of a WebSocket.
type Socket struct {
	t    *testing.T
	site *Site
	Conn *websocket.Conn
}

// Message is a message of the server.
type Message struct {
	Type    string
	ID      string
	Payload json.RawMessage
}

// Dial opens a WebSocket. header holds pairs of name and value.
func (s *Site) Dial(options websocket.DialOptions, header ...string) (*websocket.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(s.T.Context(), require.Timeout)
	defer cancel()
	options.HTTPHeader = http.Header{}
	AddHeaders(options.HTTPHeader, header...)
	return websocket.Dial(ctx, s.URL, &options)
}

// OpenSocket opens a WebSocket without sending connection_init.
func (s *Site) OpenSocket(header ...string) *Socket {
	s.T.Helper()
	conn, _, err := s.Dial(websocket.DialOptions{Subprotocols: []string{Subprotocol}}, header...)
	require.NoError(s.T, err)
	return s.SocketOver(conn)
}

// SocketOver wraps an open connection.
func (s *Site) SocketOver(conn *websocket.Conn) *Socket {
	conn.SetReadLimit(8 << 20)
	s.T.Cleanup(func() { _ = conn.CloseNow() })
	return &Socket{s.T, s, conn}
}

// Socket opens a WebSocket and sends connection_init, with the payload if it is not empty.
func (s *Site) Socket(payload string, header ...string) *Socket {
	s.T.Helper()
	w := s.OpenSocket(header...)
	w.Begin(payload)
	return w
}

// Begin sends connection_init with the payload and reads the acknowledgement.
func (w *Socket) Begin(payload string) {
	w.t.Helper()
	if payload != "" {
		payload = `,"payload":` + payload
	}
	w.Send(`{"type":"connection_init"` + payload + `}`)
	if f := w.Read(); f.Type != "connection_ack" {
		w.t.Fatalf("connection_init: got %v, want connection_ack", f)
	}
}

// Send sends a text message.
func (w *Socket) Send(text string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), require.Timeout)
	defer cancel()
	if err := w.Conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		w.t.Fatalf("send %.200s: %v", text, err)
	}
}

// Subscribe sends an operation of any kind. vars is a JSON object, or empty.
func (w *Socket) Subscribe(id, query, vars string) {
	w.t.Helper()
	if vars == "" {
		vars = "{}"
	}
	w.Send(fmt.Sprintf(`{"type":"subscribe","id":%q,"payload":{"query":%q,"variables":%s}}`, id, query, vars))
}

// TryRead reads one message.
func (w *Socket) TryRead() (f Message, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), require.Timeout)
	defer cancel()
	_, data, err := w.Conn.Read(ctx)
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	return f, err
}

// Read reads one message, and fails the test if there is an error.
func (w *Socket) Read() Message {
	w.t.Helper()
	return require.Value(w.TryRead())(w.t)
}

// Want reads a message and compares it as text.
func (w *Socket) Want(kind, id, payload string) {
	w.t.Helper()
	if f := w.Read(); f.Type != kind || f.ID != id || string(f.Payload) != payload {
		w.t.Errorf("got %s %q %s\nwant %s %q %s", f.Type, f.ID, f.Payload, kind, id, payload)
	}
}

// ReadClose reads until the socket is closed, and returns the messages before that.
func (w *Socket) ReadClose() (before []Message, how websocket.CloseError) {
	w.t.Helper()
	for {
		f, err := w.TryRead()
		if errors.As(err, &how) {
			return before, how
		}
		if err != nil {
			w.t.Fatalf("got %v, want a close frame", err)
		}
		before = append(before, f)
	}
}

// Watch subscribes to an article's votes and waits until events arrive. It returns the number of votes then.
func (w *Socket) Watch(op, article string) int {
	w.t.Helper()
	w.Subscribe(op, `subscription($a: ID!) { articleChanged(ids: [$a]) { votes } }`, fmt.Sprintf(`{"a":%q}`, article))
	return w.Settle(article, op)
}

// Settle waits until the subscriptions ops receive events, because the protocol does not confirm a subscription. It
// votes for the article meanwhile, and returns the final number of votes, which all have shown.
func (w *Socket) Settle(article string, ops ...string) int {
	w.t.Helper()
	return w.site.Settle(article, func() (string, int) {
		f := w.Read()
		return f.ID, VotesOf(w.t, string(f.Payload))
	}, ops...)
}

// ReadVotes reads until an event of op shows at least n votes.
func (w *Socket) ReadVotes(op string, n int) {
	w.t.Helper()
	for {
		if f := w.Read(); f.ID == op && VotesOf(w.t, string(f.Payload)) >= n {
			return
		}
	}
}

// Settle votes for an article until each of ops has an event, and reads until each shows all votes. It
// returns their number. read returns the operation and the votes of the next event.
func (s *Site) Settle(article string, read func() (string, int), ops ...string) int {
	s.T.Helper()
	end := sync.OnceValue(s.KeepVoting(article))
	defer end()
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
	n := end()
	reach(n)
	return n
}

// KeepVoting votes for an article until end is called, which returns the article's votes.
func (s *Site) KeepVoting(article string) (end func() int) {
	s.T.Helper()
	stop, votes := make(chan struct{}), make(chan int, 1)
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			n := s.VoteUp(article)
			select {
			case <-stop:
				votes <- n
				return
			case <-tick.C:
			}
		}
	}()
	return func() int {
		close(stop)
		return <-votes
	}
}

// VotesOf returns the votes that an event shows. An event with errors fails the test.
func VotesOf(t *testing.T, event string) int {
	t.Helper()
	var a struct {
		Data   map[string]struct{ Votes int }
		Errors []Error
	}
	if err := json.Unmarshal([]byte(event), &a); err != nil || len(a.Errors) > 0 || len(a.Data) != 1 {
		t.Fatalf("want an event that shows votes: %v, got %.300s", err, event)
	}
	for _, article := range a.Data {
		return article.Votes
	}
	return 0
}

// VoteUp votes for an article as a user who has not voted yet. It returns the article's votes.
func (s *Site) VoteUp(article string) int {
	s.T.Helper()
	var a struct {
		Data struct {
			Vote struct{ Article struct{ Votes int } }
		}
	}
	body := s.AskText(fmt.Sprint("voter", s.Voters.Add(1)), `mutation($a: ID!) { vote(input: {article: $a}) { article { votes } } }`, "a", article)
	if err := json.Unmarshal([]byte(body), &a); err != nil || a.Data.Vote.Article.Votes == 0 {
		s.T.Fatalf("vote: %v, got %s", err, body)
	}
	return a.Data.Vote.Article.Votes
}

// Until reads messages until done returns true, and returns them by id.
func (w *Socket) Until(done func(map[string][]Message) bool) map[string][]Message {
	w.t.Helper()
	byID := map[string][]Message{}
	for !done(byID) {
		f := w.Read()
		byID[f.ID] = append(byID[f.ID], f)
	}
	return byID
}

// Finished returns a condition for Until: all operations with these ids have ended.
func Finished(ids ...string) func(map[string][]Message) bool {
	return func(byID map[string][]Message) bool {
		for _, id := range ids {
			if n := len(byID[id]); n == 0 || byID[id][n-1].Type == "next" {
				return false
			}
		}
		return true
	}
}
