package endpoint_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/endpoint/plan"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// unreadResponse is a response that its client begins to read when the test says so.
type unreadResponse struct {
	*httptest.ResponseRecorder
	begun, read, done chan struct{}
}

func (r *unreadResponse) Write(body []byte) (int, error) {
	close(r.begun)
	<-r.read
	return len(body), nil
}

// largeResponses is an endpoint whose responses have 1 MB.
func largeResponses(t *testing.T) *endpoint.Handler {
	t.Helper()
	repo := require.Value(redisrepo.New(t.Context(), redistest.Start(t).Client, site.DefaultRules()))(t)
	o := endpoint.DefaultOptions()
	o.SharedAnswers = 0
	o.Rates.Cost = endpoint.Rate{Most: 1_000_000, Window: time.Hour}
	o.Identity = require.Value(identity.New(t.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName}))(t)
	large := append(append([]byte{'"'}, bytes.Repeat([]byte{'a'}, 1<<20)...), '"')
	return endpoint.New(endpoint.Schema{
		ExecutableSchema: graph.NewExecutableSchema(graph.Config{}),
		Compile: func(*ast.OperationDefinition, ast.FragmentDefinitionList) endpoint.Executable {
			return endpoint.Executable{Execute: func(context.Context, plan.Request) *graphql.Response { return &graphql.Response{Data: large} }}
		},
	}, repo, slog.New(slog.DiscardHandler), o)
}

// While 16 MB of responses to an address are on their way, its operations wait, and are then refused before they run.
func TestAnAddressThatDoesNotReadIsRefused(t *testing.T) {
	t.Parallel()
	handler := largeResponses(t)
	ask := func(address string) *unreadResponse {
		res := &unreadResponse{httptest.NewRecorder(), make(chan struct{}), make(chan struct{}), make(chan struct{})}
		req := post(`{"query":"{ articles { id } }"}`, "alice")
		req.RemoteAddr = address + ":1234"
		go func() {
			defer close(res.done)
			handler.ServeHTTP(res, req)
		}()
		<-res.begun
		return res
	}
	const greedy = "192.0.2.1"
	var all []*unreadResponse
	for range 16 {
		all = append(all, ask(greedy))
	}
	late, other := ask(greedy), ask("192.0.2.2")
	for i, res := range append(all, other) {
		if res.Code != http.StatusOK {
			t.Errorf("response %d: got %d, want 200", i, res.Code)
		}
	}
	if late.Code != http.StatusServiceUnavailable || late.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %v while 16 MB are unread, want 503 with Retry-After", late.Code, late.Header())
	}
	close(all[0].read)
	<-all[0].done
	again := ask(greedy)
	if again.Code != http.StatusOK {
		t.Errorf("got %d after one response was read, want 200", again.Code)
	}
	for _, res := range append(all[1:], late, other, again) {
		close(res.read)
		<-res.done
	}
}

// Responses over event streams and WebSockets count, too.
func TestAnAddressThatDoesNotReadItsStreamsIsRefused(t *testing.T) {
	t.Parallel()
	const query = "{ articles { id } }"
	for name, open := range map[string]func(*sitetest.Site) net.Conn{
		"event streams": func(s *sitetest.Site) net.Conn { return rawStream(s, query) },
		"WebSockets": func(s *sitetest.Site) net.Conn {
			return rawSocket(s, begin, fmt.Sprintf(`{"type":"subscribe","id":"a","payload":{"query":%q}}`, query))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(largeResponses(t))
			server.Config.ConnContext = endpoint.WithConn
			server.Start()
			t.Cleanup(server.Close)
			s := &sitetest.Site{T: t, URL: server.URL}
			responds := func(want int) func() bool {
				return func() bool {
					res := require.Value(server.Client().Get(server.URL + "/?query=" + url.QueryEscape(query)))(t)
					defer func() { _ = res.Body.Close() }()
					require.Value(io.Copy(io.Discard, res.Body))(t)
					return res.StatusCode == want
				}
			}
			var conns []net.Conn
			for range 16 {
				conns = append(conns, open(s))
			}
			refused := responds(http.StatusServiceUnavailable)
			require.Eventually(t, "an operation is refused", func() bool {
				if refused() {
					return true
				}
				conns = append(conns, open(s)) // a busy machine may have refused or given up one of the others
				return false
			})
			for _, conn := range conns {
				_ = conn.Close()
			}
			require.Eventually(t, "an operation runs after the responses were given up", responds(http.StatusOK))
		})
	}
}

// rawSocket opens a WebSocket that reads only the response to its handshake.
func rawSocket(s *sitetest.Site, messages ...string) net.Conn {
	s.T.Helper()
	conn := slow(s)
	handshake := "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: " + sitetest.Subprotocol + "\r\n\r\n"
	for _, text := range messages { // in one write with the handshake: early messages must not get lost
		handshake += masked(text)
	}
	require.Value(conn.Write([]byte(handshake)))(s.T)
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		s.T.Fatalf("handshake: got %v, %v, want 101", res, err)
	}
	return conn
}

// rawStream asks for an event stream, and reads nothing.
func rawStream(s *sitetest.Site, query string) net.Conn {
	s.T.Helper()
	conn := slow(s)
	require.Value(fmt.Fprintf(conn, "GET /?query=%s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n", url.QueryEscape(query)))(s.T)
	return conn
}

// slow opens a connection with a small receive buffer: the server notices soon that the client does not read.
func slow(s *sitetest.Site) net.Conn {
	s.T.Helper()
	conn := require.Value(net.Dial("tcp", strings.TrimPrefix(s.URL, "http://")))(s.T)
	s.T.Cleanup(func() { _ = conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	_ = conn.SetDeadline(time.Now().Add(require.Timeout))
	return conn
}

// masked returns a client's text frame, with the mask 0.
func masked(text string) string {
	frame := []byte{0x81, 0x80 | 126}
	frame = binary.BigEndian.AppendUint16(frame, uint16(len(text)))
	return string(append(frame, 0, 0, 0, 0)) + text
}

// one allows a single stream for each address, so that free shows whether it has ended.
func one(o *endpoint.Options) {
	o.Streams.PerAddress = 1
	o.Streams.Ping = 250 * time.Millisecond
}

// free reports whether another stream can be opened.
func free(s *sitetest.Site) bool {
	conn, res, err := s.Dial(websocket.DialOptions{Subprotocols: []string{sitetest.Subprotocol}})
	if err == nil {
		_ = conn.CloseNow()
	} else if res == nil || res.StatusCode != http.StatusTooManyRequests {
		s.T.Fatal(err)
	}
	return err == nil
}

func TestSocketWithoutPongsIsClosed(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, one)
	began := time.Now()
	rawSocket(s, begin, request)
	if free(s) && time.Since(began) < 250*time.Millisecond {
		t.Fatal("the socket was not counted")
	}
	require.Eventually(t, "the socket is closed", func() bool { return free(s) })
	if took := time.Since(began); took < 250*time.Millisecond {
		t.Errorf("closed after %v, want at least 250ms", took)
	}
}

// big posts articles whose texts fill the buffers of a connection, and returns a subscription that selects
// each text many times.
func big(s *sitetest.Site) (subscription string, ids []string) {
	s.T.Helper()
	text := strings.Repeat("🗳", 10_000)
	for range 20 {
		a := s.Ask("alice", `mutation($t: String!) { post(input: {title: "t", text: $t}) { article { id } } }`, "t", text)
		ids = append(ids, a.Data["post"].(map[string]any)["article"].(map[string]any)["id"].(string))
	}
	var selection strings.Builder
	for i := range 14 {
		fmt.Fprintf(&selection, " t%d: text", i)
	}
	return fmt.Sprintf(`subscription { articleChanged(ids: [%s]) { votes%s } }`, `"`+strings.Join(ids, `", "`)+`"`, selection.String()), ids
}

// flood causes large events until the only stream is closed.
func flood(s *sitetest.Site, ids []string) {
	s.T.Helper()
	if free(s) {
		s.T.Fatal("the stream was not counted")
	}
	require.Eventually(s.T, "the stream is closed", func() bool {
		for _, id := range ids {
			s.VoteUp(id)
		}
		return free(s)
	})
}

func TestUnreadEventStreamIsClosed(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, one)
	subscription, ids := big(s)
	conn := rawStream(s, subscription)
	reader := bufio.NewReaderSize(conn, 16)
	res, err := http.ReadResponse(reader, nil)
	if err != nil || res.Header.Get("Content-Type") != typeEvents {
		t.Fatalf("got %v, %v, want an event stream", res, err)
	}
	signs := bufio.NewReaderSize(res.Body, 16)
	for comments := 0; comments < 5; { // it stays open as long as it is read
		line := require.Value(signs.ReadString('\n'))(t)
		if line == ":\n" {
			comments++
		}
	}
	flood(s, ids)
}

func TestUnreadSocketIsClosed(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, one, func(o *endpoint.Options) {
		o.Streams.Ping = 2 * time.Second // a busy machine may take longer than 250 ms for a pong
	})
	subscription, ids := big(s)
	conn := rawSocket(s, begin, fmt.Sprintf(`{"type":"subscribe","id":"a","payload":{"query":%q}}`, subscription))
	// The client answers pings before it reads them: their payloads are consecutive numbers.
	var pongs []byte
	for i := range 100 {
		text := fmt.Sprint(i)
		pongs = append(append(pongs, 0x8a, 0x80|byte(len(text)), 0, 0, 0, 0), text...)
	}
	ended := make(chan struct{})
	defer func() { <-ended }()
	defer func() { _ = conn.Close() }()
	go func() {
		defer close(ended)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ; ; <-tick.C {
			if _, err := conn.Write(pongs); err != nil {
				return
			}
		}
	}()
	for pings := 0; pings < 3; { // it stays open as long as it is read
		var header [2]byte
		if _, err := io.ReadFull(conn, header[:]); err != nil {
			t.Fatalf("after %d pings: %v", pings, err)
		}
		length := uint64(header[1])
		if more := map[byte]int{126: 2, 127: 8}[header[1]]; more > 0 {
			var extended [8]byte
			require.Value(io.ReadFull(conn, extended[8-more:]))(t)
			length = binary.BigEndian.Uint64(extended[:])
		}
		require.Value(io.CopyN(io.Discard, conn, int64(length)))(t)
		if header[0] == 0x89 {
			pings++
		}
	}
	flood(s, ids)
}
