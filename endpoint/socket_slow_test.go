package endpoint_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"frontpage/endpoint"
	"frontpage/must"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// rawSocket opens a WebSocket that reads only the response to its handshake.
func rawSocket(s *sitetest.Site, messages ...string) net.Conn {
	s.T.Helper()
	conn := slow(s)
	handshake := "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: " + sitetest.Subprotocol + "\r\n\r\n"
	for _, text := range messages { // in one write with the handshake: early messages must not get lost
		handshake += masked(text)
	}
	must.Get(conn.Write([]byte(handshake)))(s.T)
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		s.T.Fatalf("handshake: got %v, %v, want 101", res, err)
	}
	return conn
}

// slow opens a connection with a small receive buffer: the server notices soon that the client does not read.
func slow(s *sitetest.Site) net.Conn {
	s.T.Helper()
	conn := must.Get(net.Dial("tcp", strings.TrimPrefix(s.URL, "http://")))(s.T)
	s.T.Cleanup(func() { _ = conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	_ = conn.SetDeadline(time.Now().Add(sitetest.Patience))
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
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), one)
	began := time.Now()
	rawSocket(s, begin, request)
	if free(s) && time.Since(began) < 250*time.Millisecond {
		t.Fatal("the socket was not counted")
	}
	sitetest.Eventually(t, "the socket is closed", func() bool { return free(s) })
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
	sitetest.Eventually(s.T, "the stream is closed", func() bool {
		for _, id := range ids {
			s.VoteUp(id)
		}
		return free(s)
	})
}

func TestUnreadEventStreamIsClosed(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), one)
	subscription, ids := big(s)
	conn := slow(s)
	if _, err := fmt.Fprintf(conn, "GET /?query=%s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n", url.QueryEscape(subscription)); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReaderSize(conn, 16)
	res, err := http.ReadResponse(reader, nil)
	if err != nil || res.Header.Get("Content-Type") != typeEvents {
		t.Fatalf("got %v, %v, want an event stream", res, err)
	}
	signs := bufio.NewReaderSize(res.Body, 16)
	for comments := 0; comments < 5; { // it stays open as long as it is read
		line := must.Get(signs.ReadString('\n'))(t)
		if line == ":\n" {
			comments++
		}
	}
	flood(s, ids)
}

func TestUnreadSocketIsClosed(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), one, func(o *endpoint.Options) {
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
			must.Get(io.ReadFull(conn, extended[8-more:]))(t)
			length = binary.BigEndian.Uint64(extended[:])
		}
		must.Get(io.CopyN(io.Discard, conn, int64(length)))(t)
		if header[0] == 0x89 {
			pings++
		}
	}
	flood(s, ids)
}
