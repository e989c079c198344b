package endpoint

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

// stream answers with server-sent events, in the form that graphql-sse calls
// distinct connections, which a browser's EventSource reads too: an event next
// for each answer, and an event complete when there is none to come.
//
// When the server stops, or the client's token expires, the stream ends without
// complete, so that clients connect again.
func (t *httpTransport) stream(w http.ResponseWriter, req *http.Request, run *operation) {
	leave, why := t.streams.enter(req)
	if why == nil {
		defer leave()
		leave, why = t.streams.enterViewer(run.ctx)
	}
	if why != nil {
		write(w, mediaJSON, why, run.exec.DispatchError(run.ctx, why.list()))
		return
	}
	defer leave()
	header := w.Header()
	header.Set("Content-Type", mediaEvents+"; charset=utf-8")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no") // a proxy that collects answers would keep events back
	header.Set("X-Content-Type-Options", "nosniff")
	if req.Method == http.MethodHead {
		return
	}
	to := &eventStream{w: w, control: http.NewResponseController(w), timeout: t.streams.limits.Ping}
	if to.open() != nil {
		return
	}
	if conn, ok := req.Context().Value(connKey{}).(interface{ SetWriteBuffer(int) error }); ok {
		_ = conn.SetWriteBuffer(sendBuffer) // of what the system keeps for a client that does not read
	}
	if run.subscribes() {
		t.watch(to, run)
		return
	}
	if run.answer == nil {
		_ = run.once(t.timeout)
	}
	if to.answer(run.answer) == nil {
		_ = to.complete()
	}
}

// sendBuffer is how much of a stream may wait in the system, bytes. Left to
// itself it keeps megabytes, and a client that does not read is noticed by a write
// that has to wait.
const sendBuffer = 32 << 10

type connKey struct{}

// WithConn is for http.Server.ConnContext: it lets streams bound what waits in
// the system. They work without.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	return context.WithValue(ctx, connKey{}, conn)
}

// watch sends the events of a subscription until it or the client ends.
func (t *httpTransport) watch(to *eventStream, run *operation) {
	s := t.streams.begin(run)
	defer s.close()
	if s.watch == nil {
		if s.first != nil && to.answer(s.first) == nil {
			_ = to.complete()
		}
		return
	}
	var expired <-chan time.Time
	if expires := ViewerOf(run.ctx).Expires; !expires.IsZero() {
		timer := time.NewTimer(time.Until(expires))
		defer timer.Stop()
		expired = timer.C
	}
	ping := time.NewTicker(t.streams.limits.Ping)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-s.ctx.Done():
			return
		case <-t.streams.stopping.Done():
			return
		case <-expired: // the client connects again, with another token or in vain
			return
		case <-ping.C:
			err = to.comment()
		case <-s.watch.Wake():
			err = to.round(s)
		}
		if err != nil {
			return // the client is gone, or does not read
		}
	}
}

// eventStream writes events. An error is the client's absence.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// open sends the header, and takes the place of the times that a server sets for
// a finished answer: reading is for noticing that the client left.
func (e *eventStream) open() error {
	if err := e.control.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return e.comment()
}

// comment is what a client skips, and proxies take for a sign of life.
func (e *eventStream) comment() error { return e.send([]byte(":\n\n")) }

// answer sends the only answer of an operation.
func (e *eventStream) answer(answer *graphql.Response) error {
	return e.send(appendEvent(nil, appendResponse(nil, answer)))
}

// round sends the events of a subscription that there are now.
func (e *eventStream) round(s *subscription) error {
	events := s.take()
	defer done(events)
	var text []byte
	for i := range events {
		if body := s.renew(&events[i]); body != nil {
			text = appendEvent(text, body)
		}
	}
	if text == nil {
		return nil
	}
	return e.send(text)
}

func appendEvent(to, body []byte) []byte {
	return append(append(append(to, "event: next\ndata: "...), body...), "\n\n"...)
}

// complete has a line of data, without which an EventSource drops it.
func (e *eventStream) complete() error { return e.send([]byte("event: complete\ndata:\n\n")) }

func (e *eventStream) send(event []byte) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(e.timeout)); err != nil {
		return err
	}
	if _, err := e.w.Write(event); err != nil {
		return err
	}
	return e.control.Flush()
}
