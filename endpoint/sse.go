package endpoint

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// stream responds with server-sent events, in what graphql-sse calls distinct connections mode, which a browser's
// EventSource can read as well: an event "next" for each response, then an event "complete". It returns a refusal
// if the stream may not open. If the operation was refused, that refusal is the only event.
//
// When the server stops, the client's token expires or its session ends, the stream ends without "complete", so that clients
// connect again.
func (t *httpTransport) stream(w http.ResponseWriter, req *http.Request, op *operation, refused *refusal) *refusal {
	ending, leave, denied := t.streams.enter(op.ctx, OverEvents, 0) // admit counts its bytes
	if denied != nil {
		return denied
	}
	defer leave()
	leave, denied = t.streams.enterViewer(op.ctx)
	if denied != nil {
		return denied
	}
	defer leave()
	header := w.Header()
	header.Set("Content-Type", mediaEvents+"; charset=utf-8")
	header.Set("Cache-Control", header.Get("Cache-Control")+", no-transform") // compression would delay events
	header.Set("X-Accel-Buffering", "no")                                     // otherwise nginx buffers events
	header.Set("X-Content-Type-Options", "nosniff")
	op.outcome.Transport = OverEvents
	if req.Method == http.MethodHead {
		op.end(Executed, "", 0)
		return nil
	}
	var subscribed *subscription
	if refused == nil && op.subscribes() {
		if last := req.Header.Get(lastEventHeader); last != "" {
			op.ctx = context.WithValue(op.ctx, lastEventKey{}, last)
		}
		// Before the first byte of the response: a client that has read it misses no event.
		denied = t.streams.begins(op.ctx, t.timeout, func() *refusal { subscribed = t.streams.begin(op); return nil })
		if denied != nil {
			return denied
		}
		defer subscribed.close()
		op.begun(subscribed)
	}
	to := &eventStream{w: w, control: http.NewResponseController(w), timeout: t.streams.limits.Ping}
	first := ""
	if subscribed != nil && subscribed.watch != nil && req.Method == http.MethodGet {
		first = subscribed.watch.Cursor()
	}
	if to.open(first) != nil {
		op.responds(wasCancelled().finish(op), 0)
		return nil
	}
	boundSendBuffer(req.Context())
	if conn, ok := connOf(req.Context()).(*countedConn); ok && req.ProtoMajor == 1 {
		conn.becomes(0, 0) // until it is idle again
	}
	var f *finished
	switch {
	case refused != nil:
		f = refused.finish(op)
	case subscribed != nil:
		t.watch(ending, to, subscribed)
		return nil
	default:
		f = op.run(t.timeout)
		defer op.sent()
	}
	op.responds(f, len(f.plain.body))
	if to.response(f.plain.body) == nil {
		_ = to.complete()
	}
	return nil
}

// lastEventHeader has the id of the last event that a client has when it connects again.
const lastEventHeader = "Last-Event-ID"

// sendBuffer is the size of a stream's send buffer in the kernel, bytes. By default it grows to megabytes, and a
// client that does not read is only noticed when a write blocks.
const sendBuffer = 32 << 10

type connKey struct{}

// boundSendBuffer is an optimization: streams work without it.
func boundSendBuffer(ctx context.Context) {
	if conn, ok := ctx.Value(connKey{}).(interface{ SetWriteBuffer(int) error }); ok {
		_ = conn.SetWriteBuffer(sendBuffer)
	}
}

// WithConn is for http.Server.ConnContext. It lets streams bound the kernel's send buffer; it is optional.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	return context.WithValue(ctx, connKey{}, conn)
}

// connOf returns the connection that WithConn has put into the context of a request, below its encryption, or nil.
func connOf(ctx context.Context) net.Conn {
	conn, _ := ctx.Value(connKey{}).(net.Conn)
	return conn
}

// watch sends the events of a subscription until it ends, ending is done, or the client leaves.
func (t *httpTransport) watch(ending context.Context, to *eventStream, s *subscription) {
	if s.watch == nil {
		if s.first != nil && to.response(appendResponse(nil, s.first)) == nil {
			_ = to.complete()
		}
		return
	}
	var expired *time.Timer
	var expires <-chan time.Time
	viewer := ViewerOf(s.ctx)
	if !viewer.Expires.IsZero() {
		expired = time.NewTimer(time.Until(viewer.Expires))
		defer expired.Stop()
		expires = expired.C
	}
	ping := time.NewTicker(t.streams.limits.Ping)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-s.ctx.Done():
			return
		case <-ending.Done():
			return
		case <-expires:
			wait, refused := viewer.again(s.ctx, t.identity, t.log)
			if refused != nil {
				return
			}
			expired.Reset(wait)
		case <-ping.C:
			err = to.comment()
		case <-s.watch.Wake():
			err = to.events(t.streams, s)
		}
		if err != nil {
			return // the client is gone, or does not read
		}
	}
}

// eventStream writes events. Its methods fail only if the client is gone or does not read.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// open sends the header and lifts the server's read deadline, which is meant for a single response. id is where a client
// that gets no event goes on: an EventSource takes it without an event. Other clients, which send POSTs, do not expect it.
func (e *eventStream) open(id string) error {
	if err := e.control.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if id == "" {
		return e.comment()
	}
	return e.send([]byte(":\n\nid: " + id + "\n\n"))
}

// comment shows proxies that the stream is alive. Clients skip it.
func (e *eventStream) comment() error { return e.send([]byte(":\n\n")) }

// response sends the only response of an operation.
func (e *eventStream) response(body []byte) error {
	return e.send(appendEvent(nil, "", body))
}

// events sends the pending events of a subscription, when it is the stream's turn.
func (e *eventStream) events(all *streams, s *subscription) (err error) {
	for more := true; more && err == nil; {
		all.turns.do(ViewerOf(s.ctx).Network(), func(k *turn) { more, err = e.batch(s, k) })
	}
	return err
}

// batch sends some of the pending events.
func (e *eventStream) batch(s *subscription, k *turn) (more bool, err error) {
	events, more := s.take(k)
	defer done(events)
	var text []byte
	sent := 0
	for i := range events {
		if body := s.renew(&events[i], k); body != nil {
			text = appendEvent(text, events[i].cursor(), body)
			sent++
		}
	}
	if text != nil {
		s.streams.sent.add(OverEvents, sent, len(text))
		k.rest()
		err = e.send(text)
	}
	return more, err
}

func appendEvent(to []byte, id string, body []byte) []byte {
	to = append(append(append(to, "event: next\ndata: "...), body...), '\n')
	if id != "" {
		to = append(append(append(to, "id: "...), id...), '\n')
	}
	return append(to, '\n')
}

// completeEvent has an empty data line, because an EventSource drops events without data.
const completeEvent = "event: complete\ndata:\n\n"

func (e *eventStream) complete() error { return e.send([]byte(completeEvent)) }

func (e *eventStream) send(event []byte) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(e.timeout)); err != nil {
		return err
	}
	if _, err := e.w.Write(event); err != nil {
		return err
	}
	return e.control.Flush()
}
