package endpoint

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/rs/cors"

	"frontpage/identity"
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
	closeForbidden           websocket.StatusCode = 4403
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
	origins   *cors.Cors // besides the site's own; nil: none
	streams   *streams
	identity  *identity.Verifier
	meter     *meter
}

// Supports takes the requests that want to become a WebSocket.
func (t *socketTransport) Supports(req *http.Request) bool {
	return strings.EqualFold(req.Header.Get("Upgrade"), "websocket")
}

// Do makes the request a socket. It returns at once, so that what net/http holds
// for a request is free.
func (t *socketTransport) Do(w http.ResponseWriter, req *http.Request, exec graphql.GraphExecutor) {
	leave, why := t.enter(req)
	if why != nil {
		write(w, mediaJSON, why, exec.DispatchError(req.Context(), why.list()))
		return
	}
	up := &upgrade{ResponseWriter: w, timeout: t.streams.limits.Ping}
	conn, err := websocket.Accept(up, req, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // enter has looked at the origin
	})
	if err != nil { // the client was told
		leave()
		return
	}
	conn.SetReadLimit(t.bodyLimit)
	s := newSocket(t, conn, up.conn, req, exec)
	go func() {
		defer leave()
		defer s.end()
		defer func() {
			if cause := recover(); cause != nil {
				_ = recovered(t.log)(s.ctx, cause)
			}
		}()
		if conn.Subprotocol() == "" {
			s.close(closeNoSubprotocol, "Subprotocol not acceptable")
			return
		}
		s.serve()
	}()
}

// enter counts the socket, unless it is one of a foreign page. A browser asks
// nobody before it connects such a page.
func (t *socketTransport) enter(req *http.Request) (leave func(), why *refused) {
	if origin := req.Header.Get("Origin"); origin != "" && (t.origins == nil || !t.origins.OriginAllowed(req)) {
		if page, err := url.Parse(origin); err != nil || !strings.EqualFold(page.Host, req.Host) {
			return nil, &refused{code: codeOrigin, message: "pages of this origin may not connect", status: http.StatusForbidden}
		}
	}
	return t.streams.enter(req)
}

// upgrade hands over a connection whose writes have an end, and which takes
// less memory than one for HTTP: thousands may be open and quiet.
type upgrade struct {
	http.ResponseWriter
	timeout time.Duration
	conn    *boundedConn
}

// Unwrap is for http.ResponseController.
func (u *upgrade) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Hijack is for the library of WebSockets.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.conn = &boundedConn{Conn: conn, timeout: u.timeout}
	// What the client has sent already must stay in the buffer.
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
