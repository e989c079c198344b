package graph

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
)

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

// message is one of the client's.
type message struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// socket is one WebSocket.
type socket struct {
	*socketTransport
	conn   *websocket.Conn
	exec   graphql.GraphExecutor
	header http.Header
	ctx    context.Context // with the viewer, once the client has said who it is
	cancel context.CancelFunc
	pinger *time.Timer

	running sync.WaitGroup // operations

	mu   sync.Mutex // whoever writes has it
	live map[string]*running
	// left is set when the server stops: nothing of a subscription is written then,
	// so that the client knows that it has to subscribe again.
	left bool
}

// running is an operation whose id is in use.
type running struct {
	id     string
	name   []byte // the id as JSON
	cancel context.CancelFunc
}

func newSocket(t *socketTransport, conn *websocket.Conn, req *http.Request, exec graphql.GraphExecutor) *socket {
	s := &socket{socketTransport: t, conn: conn, exec: exec, header: req.Header, live: map[string]*running{}}
	s.ctx, s.cancel = context.WithCancel(req.Context())
	return s
}

// serve reads messages until the socket is closed by either side.
func (s *socket) serve() {
	defer s.running.Wait()
	defer s.cancel()
	defer context.AfterFunc(s.streams.stopping, s.goAway)()

	patience := time.AfterFunc(initTimeout, func() { s.close(closeInitTimeout, "Connection initialisation timeout") })
	defer patience.Stop()
	ready := false
	for {
		// Not with a context: one that ends closes the connection without a word.
		_, data, err := s.conn.Read(context.Background())
		if err != nil {
			return
		}
		var m message
		if !utf8.Valid(data) || json.Unmarshal(data, &m) != nil {
			s.close(closeBadRequest, "Invalid message: not a JSON object with the members of the protocol")
			return
		}
		switch m.Type {
		case typeInit:
			payload, ok := object(m.Payload)
			if !ok {
				s.close(closeBadRequest, "Invalid message: the payload is not an object")
				return
			}
			if ready {
				s.close(closeTooManyInitialising, "Too many initialisation requests")
				return
			}
			if !patience.Stop() {
				return
			}
			s.ctx = withInitViewer(s.ctx, payload)
			leave, why := s.streams.enterViewer(s.ctx)
			if why != nil {
				s.close(closeTryAgainLater, cutReason(why.message))
				return
			}
			defer leave()
			ready = true
			s.pinger = time.AfterFunc(s.streams.limits.Ping, s.ping)
			defer s.pinger.Stop()
			s.write(typeAck, nil, nil)
		case typePing:
			if _, ok := object(m.Payload); !ok {
				s.close(closeBadRequest, "Invalid message: the payload is not an object")
				return
			}
			if string(m.Payload) == "null" {
				m.Payload = nil
			}
			s.write(typePong, nil, m.Payload)
		case typePong:
		case typeSubscribe:
			if !ready {
				s.close(closeUnauthorized, "Unauthorized")
				return
			}
			if !s.subscribe(m) {
				return
			}
		case typeComplete:
			if m.ID == "" {
				s.close(closeBadRequest, "Invalid message: complete has an id")
				return
			}
			s.forget(m.ID)
		default:
			s.close(closeBadRequest, "Invalid message: its type is not one that a client sends")
			return
		}
	}
}

// object reads a payload that may be left out.
func object(payload json.RawMessage) (map[string]any, bool) {
	if len(payload) == 0 || string(payload) == "null" {
		return nil, true
	}
	var members map[string]any
	return members, json.Unmarshal(payload, &members) == nil
}

// write sends one message. The id is JSON. A write that fails ends the socket.
func (s *socket) write(kind string, id, payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeLocked(kind, id, payload)
}

func (s *socket) writeLocked(kind string, id, payload []byte) {
	text := make([]byte, 0, len(payload)+len(id)+48)
	text = append(text, `{"type":"`...)
	text = append(append(text, kind...), '"')
	if id != nil {
		text = append(append(text, `,"id":`...), id...)
	}
	if payload != nil {
		text = append(append(text, `,"payload":`...), payload...)
	}
	if s.conn.Write(context.Background(), websocket.MessageText, append(text, '}')) != nil {
		s.cancel()
		_ = s.conn.CloseNow()
	}
}

// close says why and ends the socket. The client has five seconds to agree.
func (s *socket) close(code websocket.StatusCode, reason string) {
	s.cancel()
	_ = s.conn.Close(code, reason)
}

// ping wants to hear of the client, every interval.
func (s *socket) ping() {
	ctx, cancel := context.WithTimeout(context.Background(), s.streams.limits.Ping)
	defer cancel()
	began := time.Now()
	if s.conn.Ping(ctx) != nil {
		s.cancel()
		_ = s.conn.CloseNow()
		return
	}
	s.pinger.Reset(s.streams.limits.Ping - time.Since(began))
}

// goAway ends the socket because the server stops. What is not a subscription
// may finish.
func (s *socket) goAway() {
	s.mu.Lock()
	s.left = true
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
	end := time.AfterFunc(time.Second, func() { _ = s.conn.CloseNow() })
	defer end.Stop()
	_ = s.conn.Close(closeGoingAway, "Going away")
	s.cancel()
}

// cutReason shortens what a close frame cannot hold.
func cutReason(reason string) string {
	if len(reason) > 120 {
		return reason[:120]
	}
	return reason
}
