package endpoint

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/rs/cors"

	"frontpage/identity"
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
	exec      *executor
	log       *slog.Logger
	bodyLimit int64
	timeout   time.Duration
	origins   *cors.Cors // allowed besides the site's own; nil for none
	streams   *streams
	identity  *identity.Verifier
	meter     *meter
}

// supports reports whether a request is a WebSocket handshake.
func (t *socketTransport) supports(req *http.Request) bool {
	return strings.EqualFold(req.Header.Get("Upgrade"), "websocket")
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
