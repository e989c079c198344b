package endpoint

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"

	"frontpage/identity"
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

// message is one of the client's: its members as they are. A struct would take
// names in any case.
type message map[string]json.RawMessage

// text is a member that is a string, or empty.
func (m message) text(name string) string {
	var text string
	if json.Unmarshal(m[name], &text) != nil {
		return ""
	}
	return text
}

// payload is the object of that name, which may be left out.
func (m message) payload() (members map[string]any, ok bool) {
	raw := m["payload"]
	return members, len(raw) == 0 || json.Unmarshal(raw, &members) == nil
}

// socket is one WebSocket.
type socket struct {
	*socketTransport
	conn    *websocket.Conn
	bounded *boundedConn // below conn
	exec    graphql.GraphExecutor
	request *http.Request   // of the handshake
	ctx     context.Context // with the viewer, once the client has said who it is
	cancel  context.CancelFunc
	pinger  *time.Timer
	expiry  *time.Timer // of the token; nil: there is none

	running sync.WaitGroup // operations

	turn        chan struct{} // whoever shows events has its value
	unconfirmed int           // bytes of events behind which there was no ping; belongs to whoever has turn

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

func newSocket(t *socketTransport, conn *websocket.Conn, bounded *boundedConn, req *http.Request, exec graphql.GraphExecutor) *socket {
	s := &socket{socketTransport: t, conn: conn, bounded: bounded, exec: exec,
		request: &http.Request{Header: req.Header, RemoteAddr: req.RemoteAddr}, // without what it holds else
		live:    map[string]*running{}, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	// The request's own ends with its handler.
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(req.Context()))
	return s
}

// serve reads messages until the socket is closed by either side.
func (s *socket) serve() {
	defer s.running.Wait()
	defer s.cancel()
	defer context.AfterFunc(s.streams.stopping, s.goAway)()

	patience := time.AfterFunc(initTimeout, func() { s.close(closeInitTimeout, "Connection initialisation timeout") })
	defer patience.Stop()
	defer func() {
		if s.expiry != nil {
			s.expiry.Stop()
		}
	}()
	ready := false
	for {
		// Not with a context: one that ends closes the connection without a word.
		_, data, err := s.conn.Read(context.Background())
		if err != nil {
			return
		}
		var m message
		if !utf8.Valid(data) || json.Unmarshal(data, &m) != nil {
			s.close(closeBadRequest, "Invalid message: not a JSON object")
			return
		}
		payload, ok := m.payload()
		if !ok && m.text("type") != typeComplete {
			s.close(closeBadRequest, "Invalid message: the payload is not an object")
			return
		}
		switch m.text("type") {
		case typeInit:
			if ready {
				s.close(closeTooManyInitialising, "Too many initialisation requests")
				return
			}
			if !patience.Stop() {
				return
			}
			if !s.signIn(payload) {
				return
			}
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
			if payload == nil {
				delete(m, "payload")
			}
			s.write(typePong, nil, m["payload"])
		case typePong:
		case typeSubscribe:
			if !s.subscribe(m, ready) {
				return
			}
		case typeComplete:
			id := m.text("id")
			if id == "" {
				s.close(closeBadRequest, "Invalid message: complete has an id")
				return
			}
			s.forget(id)
		default:
			s.close(closeBadRequest, "Invalid message: its type is not one that a client sends")
			return
		}
	}
}

// signIn finds out who the client is, now that it had its say. A token that
// expires ends the socket, also later. It returns false when it did.
func (s *socket) signIn(payload map[string]any) bool {
	caller, err := s.identity.FromInit(payload, s.request)
	if err != nil {
		why := notRecognised(s.ctx, s.log, err)
		s.close(closeForbidden, cutReason(why.code+": "+why.message))
		return false
	}
	s.ctx = context.WithValue(s.ctx, viewerKey{}, ViewerOf(s.ctx).withCaller(caller))
	if !caller.Expires.IsZero() {
		s.expiry = time.AfterFunc(time.Until(caller.Expires), func() {
			s.close(closeForbidden, string(identity.Expired)+": the token has expired")
		})
	}
	return true
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
		s.end()
	}
}

// end closes the socket without a word: the client does not listen.
func (s *socket) end() {
	s.cancel()
	_ = s.conn.CloseNow()
}

// close says why and ends the socket. The client has a second to agree.
func (s *socket) close(code websocket.StatusCode, reason string) {
	s.cancel()
	end := time.AfterFunc(time.Second, func() { _ = s.bounded.Close() })
	defer end.Stop()
	_ = s.conn.Close(code, reason)
}

// ping wants to hear of the client, every interval.
func (s *socket) ping() {
	began := time.Now()
	if s.pong() {
		s.pinger.Reset(s.streams.limits.Ping - time.Since(began))
	}
}

// pong waits for the client to answer a ping, and ends the socket if it does not.
func (s *socket) pong() bool {
	ctx, cancel := context.WithTimeout(context.Background(), s.streams.limits.Ping)
	defer cancel()
	if s.conn.Ping(ctx) != nil {
		s.end()
		return false
	}
	return true
}

// goAway ends the socket because the server stops. What is not a subscription
// may finish.
func (s *socket) goAway() {
	stuck := time.AfterFunc(time.Second, func() { _ = s.bounded.Close() }) // who writes has the mutex
	s.mu.Lock()
	stuck.Stop()
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
	s.close(closeGoingAway, "Going away")
}

// cutReason shortens what a close frame cannot hold, with some words around it.
func cutReason(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), 90)], "")
}
