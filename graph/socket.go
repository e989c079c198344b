package graph

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
)

// subprotocol is the only one that is spoken on sockets:
// https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
const subprotocol = "graphql-transport-ws"

// initTimeout is how long a client may take to send connection_init.
const initTimeout = 3 * time.Second

// Close codes of the protocol, and one of RFC 6455.
const (
	closeGoingAway           websocket.StatusCode = 1001
	closeTryAgainLater       websocket.StatusCode = 1013
	closeBadRequest          websocket.StatusCode = 4400
	closeUnauthorized        websocket.StatusCode = 4401
	closeNoSubprotocol       websocket.StatusCode = 4406
	closeInitTimeout         websocket.StatusCode = 4408
	closeIDInUse             websocket.StatusCode = 4409
	closeTooManyInitialising websocket.StatusCode = 4429
)

// socketTransport answers over WebSocket.
type socketTransport struct {
	log       *slog.Logger
	bodyLimit int64
	timeout   time.Duration
	origins   []string // besides the site's own; "*" is any
	streams   *streams
}

// Supports takes the requests that want to become a WebSocket.
func (t *socketTransport) Supports(req *http.Request) bool {
	return strings.EqualFold(req.Header.Get("Upgrade"), "websocket")
}

// Do serves one socket until it is closed.
func (t *socketTransport) Do(w http.ResponseWriter, req *http.Request, exec graphql.GraphExecutor) {
	leave, why := t.streams.enter(req)
	if why != nil {
		write(w, mediaJSON, why, exec.DispatchError(req.Context(), why.list()))
		return
	}
	defer leave()
	conn, err := websocket.Accept(&upgrade{w, t.streams.limits.Ping}, req, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		OriginPatterns:     t.origins,
		InsecureSkipVerify: len(t.origins) == 1 && t.origins[0] == "*",
	})
	if err != nil {
		return // the client was told
	}
	defer func() { _ = conn.CloseNow() }()
	if conn.Subprotocol() == "" {
		_ = conn.Close(closeNoSubprotocol, "Subprotocol not acceptable")
		return
	}
	conn.SetReadLimit(t.bodyLimit)
	newSocket(t, conn, req, exec).serve()
}

// upgrade hands over a connection whose writes have an end, and which takes
// less memory than one for HTTP: thousands may be open and quiet.
type upgrade struct {
	http.ResponseWriter
	timeout time.Duration
}

// Unwrap is for http.ResponseController.
func (u *upgrade) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Hijack is for the library of WebSockets.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	// What the client has sent already must stay in the buffer.
	early, err := buffered.Reader.Peek(buffered.Reader.Buffered())
	if err != nil {
		return nil, nil, err
	}
	limited := boundedConn{conn, u.timeout}
	reader := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(early)), limited), max(512, len(early)))
	if _, err := reader.Peek(len(early)); err != nil {
		return nil, nil, err
	}
	return limited, bufio.NewReadWriter(reader, bufio.NewWriterSize(limited, 1024)), nil
}

// boundedConn gives up a write that takes longer than timeout: the client does
// not read.
type boundedConn struct {
	net.Conn
	timeout time.Duration
}

func (c boundedConn) Write(data []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(data)
}
