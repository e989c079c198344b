package endpoint

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/rs/cors"
)

// subprotocol is the only supported one:
// https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
const subprotocol = "graphql-transport-ws"

// initTimeout is how long a client may take to send connection_init.
const initTimeout = 3 * time.Second

// Close codes of the subprotocol, and two of WebSocket itself.
const (
	closeGoingAway           websocket.StatusCode = 1001
	closeTryAgainLater       websocket.StatusCode = 1013
	closeBadRequest          websocket.StatusCode = 4400
	closeUnauthorized        websocket.StatusCode = 4401
	closeForbidden           websocket.StatusCode = 4403
	closeNoSubprotocol       websocket.StatusCode = 4406
	closeInitTimeout         websocket.StatusCode = 4408
	closeIDInUse             websocket.StatusCode = 4409
	closeTooManyInitialising websocket.StatusCode = 4429
)

// socketTransport serves WebSockets.
//
// It replaces gqlgen's Websocket transport, which keeps net/http's buffers and goroutine for each connection,
// sets no write deadline, limits neither connections nor operations, and queues events for a slow client
// instead of sending the newest state once the client can take it.
type socketTransport struct {
	transport
	origins *cors.Cors // allowed besides the site's own; nil for none
}

// serve upgrades the request. It returns at once, so that net/http can free what it holds for a request.
func (t *socketTransport) serve(ctx context.Context, w http.ResponseWriter, req *http.Request) {
	ending, leave, refused := t.enter(ctx, req)
	if refused != nil {
		op := t.exec.receive(ctx, OverSocket)
		write(w, req, mediaJSON, op, refused.finish(op))
		return
	}
	up := &upgrade{ResponseWriter: w, timeout: t.streams.limits.Ping}
	conn, err := websocket.Accept(up, req, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // enter has checked the origin
	})
	if err != nil { // Accept has responded
		leave()
		return
	}
	boundSendBuffer(req.Context())
	conn.SetReadLimit(t.bodyLimit)
	s := newSocket(ctx, ending, t, conn, up.conn, req)
	go func() {
		defer leave()
		defer s.end()
		defer func() {
			if cause := recover(); cause != nil {
				logPanic(s.ctx, t.log, cause)
			}
		}()
		if conn.Subprotocol() == "" {
			s.close(closeNoSubprotocol, "Subprotocol not acceptable")
			return
		}
		s.serve()
	}()
}

// enter checks the origin, since browsers send no CORS preflight for WebSockets, and counts the socket. A page by http
// is not the site's own if the site is served by https; a request by http may come from a proxy that ends TLS.
func (t *socketTransport) enter(ctx context.Context, req *http.Request) (ending context.Context, leave func(), refused *refusal) {
	if origin := req.Header.Get("Origin"); origin != "" && (t.origins == nil || !t.origins.OriginAllowed(req)) {
		if page, err := url.Parse(origin); err != nil || !strings.EqualFold(page.Host, req.Host) || req.TLS != nil && page.Scheme != "https" {
			return nil, nil, &refusal{code: codeOrigin, message: "pages of this origin may not connect", status: http.StatusForbidden}
		}
	}
	return t.streams.enter(ctx, OverSocket, perSocket)
}

// upgrade hijacks a connection so that writes have a deadline and its buffers are smaller than those of net/http:
// thousands of connections may be open and idle.
type upgrade struct {
	http.ResponseWriter
	timeout time.Duration
	conn    *boundedConn
}

// Unwrap implements the interface that http.ResponseController looks for.
func (u *upgrade) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Hijack implements http.Hijacker for websocket.Accept.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.conn = &boundedConn{Conn: conn, timeout: u.timeout}
	// What the client has sent already must not be lost.
	early, err := buffered.Reader.Peek(buffered.Reader.Buffered())
	if err != nil {
		return nil, nil, err
	}
	reader := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(early)), u.conn), max(512, len(early)))
	if _, err := reader.Peek(len(early)); err != nil {
		return nil, nil, err
	}
	return u.conn, bufio.NewReadWriter(reader, bufio.NewWriterSize(u.conn, 512)), nil
}

// Types of messages.
const (
	typeInit      = "connection_init"
	typeAck       = "connection_ack"
	typePing      = "ping"
	typePong      = "pong"
	typeSubscribe = "subscribe"
	typeNext      = "next"
	typeError     = "error"
	typeComplete  = "complete"
)

// message is a client message as raw JSON members; encoding/json matches struct fields case-insensitively.
type message map[string]json.RawMessage

// parseMessage parses a client message. problem says what is wrong with it, for the client; it is empty if the
// message is valid. Of the payload it checks only that it is an object.
func parseMessage(data []byte) (m message, payload map[string]any, problem string) {
	if !utf8.Valid(data) || json.Unmarshal(data, &m) != nil {
		return nil, nil, "not a JSON object"
	}
	kind := m.text("type")
	payload, ok := m.payload(kind)
	if !ok && kind != typeComplete {
		return nil, nil, "the payload is not an object"
	}
	switch kind {
	case typeInit, typePing, typePong:
	case typeSubscribe, typeComplete:
		if m.text("id") == "" {
			return nil, nil, kind + " needs an id"
		}
	default:
		return nil, nil, "clients do not send messages of this type"
	}
	return m, payload, ""
}

// text returns a member that is a string; otherwise it is empty.
func (m message) text(name string) string {
	var text string
	if json.Unmarshal(m[name], &text) != nil {
		return ""
	}
	return text
}

// payload returns the member payload, which is optional but must be an object or null. That of subscribe may be
// long, and is parsed by parseSubscribe alone.
func (m message) payload(kind string) (members map[string]any, ok bool) {
	raw := m["payload"]
	if kind == typeSubscribe && bytes.HasPrefix(raw, []byte("{")) {
		return nil, true
	}
	return members, len(raw) == 0 || json.Unmarshal(raw, &members) == nil
}

// parseSubscribe parses the payload of subscribe. problem is empty if it is valid.
func parseSubscribe(m message) (parsed *request, problem string) {
	parsed = &request{}
	if !decode(bytes.NewReader(m["payload"]), parsed) {
		return nil, "query, operationName, variables, extensions and onError of subscribe must have the right types"
	}
	if refused := parsed.complete(); refused != nil {
		return nil, refused.message
	}
	return parsed, ""
}

// appendMessage appends a message of the server. id and payload are JSON, and left out if nil.
func appendMessage(to []byte, kind string, id, payload []byte) []byte {
	to = append(append(append(to, `{"type":"`...), kind...), '"')
	if id != nil {
		to = append(append(to, `,"id":`...), id...)
	}
	if payload != nil {
		to = append(append(to, `,"payload":`...), payload...)
	}
	return append(to, '}')
}

// boundedConn fails a write that takes longer than timeout, because the client does not read. Between hold and
// release it collects what is written, so that many messages are one system call.
type boundedConn struct {
	net.Conn
	timeout time.Duration

	mu   sync.Mutex
	held *[]byte // nil unless writes are collected
}

// buffers are free buffers for collected writes.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxHeld is how much is collected before it is written, bytes.
const maxHeld = 64 << 10

func (c *boundedConn) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = buffers.Get().(*[]byte)
}

func (c *boundedConn) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.flush()
	if cap(*c.held) <= 2*maxHeld {
		buffers.Put(c.held)
	}
	c.held = nil
	return err
}

// Write collects data between hold and release: an error of writing it may be returned by a later Write, or by release.
func (c *boundedConn) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		return c.write(data)
	}
	*c.held = append(*c.held, data...)
	if len(*c.held) > maxHeld {
		return len(data), c.flush()
	}
	return len(data), nil
}

func (c *boundedConn) flush() error {
	defer func() { *c.held = (*c.held)[:0] }()
	_, err := c.write(*c.held)
	return err
}

func (c *boundedConn) write(data []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(data)
}
