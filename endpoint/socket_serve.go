package endpoint

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// socket is one WebSocket. Fields that no comment says are guarded belong to the goroutine of serve.
type socket struct {
	*socketTransport
	conn    *websocket.Conn
	bounded *boundedConn    // below conn
	request *http.Request   // of the handshake
	ctx     context.Context // with the viewer of connection_init, once it was received
	cancel  context.CancelFunc
	ending  context.Context // done when the socket has to close because the server stops

	ready   bool        // connection_init was accepted
	init    *time.Timer // closes the socket if connection_init does not come
	pinger  *time.Timer // nil until ready
	expiry  *time.Timer // of the token or the session; nil without one
	leave   func()      // counts the viewer's stream out; nil until ready
	running sync.WaitGroup

	starting    chan struct{} // has a value while an operation begins
	lagged      atomic.Bool   // messages were left unread for a while, since operations wait for their turn
	unconfirmed int           // bytes of events sent since the last answered ping; belongs to the sender of events

	wakes   sync.Mutex         // guards the next two fields
	waiting []*socketOperation // subscriptions that may have events to send
	sending bool               // the socket waits for its turn, sends events, or waits for a pong

	// The fields below, and writing, are guarded by mu.
	mu         sync.Mutex
	operations map[string]*socketOperation // by id
	// stopping is set when the server stops. No event is sent after that, so that the client knows that it has
	// to subscribe again.
	stopping bool
}

// socketOperation is an operation whose id is in use.
type socketOperation struct {
	id     string
	name   []byte // the id as JSON
	cancel context.CancelFunc
	sub    *subscription // nil before it has begun, and for queries and mutations; guarded by socket.mu
	queued bool          // it is in socket.waiting
}

func newSocket(ctx, ending context.Context, t *socketTransport, conn *websocket.Conn, bounded *boundedConn, req *http.Request) *socket {
	s := &socket{
		socketTransport: t, conn: conn, bounded: bounded, ending: ending,
		operations: map[string]*socketOperation{}, starting: make(chan struct{}, 1),
	}
	// The request's own context ends with its handler.
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	// Drop everything else the request keeps alive.
	s.request = (&http.Request{Method: req.Method, Host: req.Host, Header: req.Header, RemoteAddr: req.RemoteAddr}).WithContext(s.ctx)
	return s
}

// serve handles messages until either side closes the socket.
func (s *socket) serve() {
	defer s.forgetAll()
	defer s.running.Wait()
	defer s.cancel()
	// Only the function that AfterFunc returns is deferred: it unregisters goAway.
	defer context.AfterFunc(s.ending, s.goAway)()
	s.init = time.AfterFunc(initTimeout, func() { s.close(closeInitTimeout, "Connection initialisation timeout") })
	defer s.release()
	for {
		// A context that ends would close the connection without a close frame.
		kind, data, err := s.conn.Read(context.Background())
		switch {
		case err != nil:
			return
		case kind != websocket.MessageText:
			s.reject("send text, not binary data")
			return
		case !s.handle(data):
			return
		}
	}
}

// release stops the timers and counts the viewer's stream out.
func (s *socket) release() {
	for _, timer := range []*time.Timer{s.init, s.pinger, s.expiry} {
		if timer != nil {
			timer.Stop()
		}
	}
	if s.leave != nil {
		s.leave()
	}
}

// handle handles one message. It returns false when the socket is closed.
func (s *socket) handle(data []byte) bool {
	m, payload, problem := parseMessage(data)
	if problem != "" {
		return s.reject(problem)
	}
	switch m.text("type") {
	case typeInit:
		return s.begin(payload)
	case typePing:
		if payload == nil {
			delete(m, "payload")
		}
		s.write(typePong, nil, m["payload"])
	case typeSubscribe:
		return s.subscribe(m)
	case typeComplete:
		s.forget(m.text("id"))
	}
	return true
}

// reject closes the socket for an invalid message. It returns false.
func (s *socket) reject(problem string) bool {
	s.close(closeBadRequest, "Invalid message: "+problem)
	return false
}

// begin handles connection_init. It returns false when the socket is closed.
func (s *socket) begin(payload map[string]any) bool {
	if s.ready {
		s.close(closeTooManyInitialising, "Too many initialisation requests")
		return false
	}
	if !s.init.Stop() || !s.signIn(payload) {
		return false
	}
	leave, refused := s.streams.enterViewer(s.ctx)
	if refused != nil {
		s.close(closeTryAgainLater, cutReason(refused.message))
		return false
	}
	s.ready, s.leave = true, leave
	// ping uses s.pinger, so the timer must not run before it is assigned.
	s.pinger = time.AfterFunc(time.Hour, s.ping)
	s.pinger.Reset(s.streams.limits.Ping)
	s.write(typeAck, nil, nil)
	return true
}

// signIn authenticates the client by the payload of connection_init or, without credentials there, by the
// handshake. An expired token or a session that has ended closes the socket, also later. It returns false when the
// socket is closed.
func (s *socket) signIn(payload map[string]any) bool {
	caller, err := s.identity.FromInit(payload, s.request)
	if err != nil {
		s.expel(notAuthenticated(s.ctx, s.log, err))
		return false
	}
	viewer := ViewerOf(s.ctx).withCaller(caller)
	s.ctx = &viewerContext{s.ctx, viewer}
	if !caller.Expires.IsZero() {
		// check uses s.expiry, so the timer must not run before it is assigned.
		s.expiry = time.AfterFunc(time.Hour, func() { s.check(viewer) })
		s.expiry.Reset(time.Until(caller.Expires))
	}
	return true
}

// check closes the socket if its viewer has no right to it any more.
func (s *socket) check(viewer Viewer) {
	wait, refused := viewer.again(s.ctx, s.identity, s.log)
	if refused != nil {
		s.expel(refused)
		return
	}
	if s.ctx.Err() == nil {
		s.expiry.Reset(wait)
	}
}

// expel closes the socket because its client was not authenticated, or is not any more.
func (s *socket) expel(refused *refusal) {
	code := closeForbidden
	if refused.code == codeUnavailable {
		code = closeTryAgainLater
	}
	s.close(code, cutReason(refused.code+": "+refused.message))
}

// write sends one message. id and payload are JSON. A write that fails ends the socket.
func (s *socket) write(kind string, id, payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeLocked(kind, id, payload)
}

func (s *socket) writeLocked(kind string, id, payload []byte) {
	text := appendMessage(make([]byte, 0, len(payload)+len(id)+48), kind, id, payload)
	if s.conn.Write(context.Background(), websocket.MessageText, text) != nil {
		s.end()
	}
}

// end closes the socket without a close frame: the client does not listen.
func (s *socket) end() {
	s.cancel()
	_ = s.conn.CloseNow()
}

// close ends the socket with a reason. The client has a second to confirm.
func (s *socket) close(code websocket.StatusCode, reason string) {
	s.cancel()
	end := time.AfterFunc(time.Second, func() { _ = s.bounded.Close() })
	defer end.Stop()
	_ = s.conn.Close(code, reason)
}

// ping checks at every interval that the client is still there.
func (s *socket) ping() {
	began := time.Now()
	if s.pong() {
		s.pinger.Reset(max(s.streams.limits.Ping-time.Since(began), 0))
	}
}

// pong sends a ping and waits for its pong. Without one in time, it ends the socket, unless messages of the client
// had to wait for their turn, and the pong behind them.
func (s *socket) pong() bool {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), s.streams.limits.Ping)
		err := s.conn.Ping(ctx)
		late := ctx.Err() != nil
		cancel()
		if err == nil {
			return true
		}
		if !late || !s.lagged.Swap(false) {
			s.end()
			return false
		}
	}
}

// goAway closes the socket because the server stops. Queries and mutations may finish first.
func (s *socket) goAway() {
	// A blocked writer holds the mutex: closing the connection makes it give up.
	stuck := time.AfterFunc(time.Second, func() { _ = s.bounded.Close() })
	s.mu.Lock()
	stuck.Stop()
	s.stopping = true
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(s.timeout):
	}
	s.close(closeGoingAway, "Going away")
}

// cutReason shortens a text to what fits into a close frame, with room for some words around it.
func cutReason(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), 90)], "")
}
