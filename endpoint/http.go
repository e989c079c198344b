package endpoint

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"frontpage/identity"
)

// httpTransport serves GET, HEAD and POST: with a single JSON response, or, for subscriptions and for clients
// that prefer it, with server-sent events.
//
// It replaces gqlgen's GET, POST and SSE transports. Those choose no media type by quality, bound neither body
// nor duration, and gqlgen's SSE writes without deadlines and makes every event when it is published instead of
// when the client can take it.
type httpTransport struct {
	exec      *executor
	log       *slog.Logger
	bodyLimit int64
	timeout   time.Duration
	maxAge    time.Duration
	streams   *streams
	identity  *identity.Verifier
	meter     *meter
}

// methods is the value of the header Allow.
const methods = "GET, HEAD, POST, OPTIONS"

// serve serves one request. All refusals are written here.
func (t *httpTransport) serve(ctx context.Context, w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodOptions {
		w.Header().Set("Allow", methods)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	accept := negotiate(req.Header.Values("Accept"))
	op := t.exec.receive(ctx, OverHTTP)
	defer func() {
		if cause := recover(); cause != nil {
			logPanic(op.ctx, t.log, cause)
			refused := &refusal{code: codeInternal, message: "internal error", status: http.StatusInternalServerError}
			write(w, req, accept.media, op, refused.finish(op))
		}
	}()
	op.turns = t.streams.turns
	defer t.streams.dismiss(op)
	refused := t.begin(w, req, accept, op)
	var f *finished
	switch {
	case refused.streamable() && (accept.eventsFirst || refused == nil && op.subscribes()):
		if refused = t.stream(w, req, op, refused); refused == nil {
			return
		}
	case refused == nil:
		var sent func()
		f, sent = op.run(t.timeout)
		defer sent()
	}
	if refused != nil {
		f = refused.finish(op)
	}
	t.publish(w.Header(), req, op, f)
	write(w, req, accept.media, op, f)
}

// begin reads an operation, checks that it may run over this request, and charges it.
func (t *httpTransport) begin(w http.ResponseWriter, req *http.Request, accept acceptance, op *operation) *refusal {
	if !accept.ok {
		return &refusal{
			code: codeNotAcceptable, message: "accept " + mediaJSON + ", " + mediaGraphQL + " or " + mediaEvents,
			status: http.StatusNotAcceptable,
		}
	}
	asked, refused := t.read(w, req, op)
	if refused != nil {
		return refused
	}
	if refused = op.prepare(asked, req.Header); refused == nil {
		refused = allowed(w, req, accept, op)
	}
	if refused != nil {
		refused = t.meter.chargeRefused(op, refused)
		billOf(op.ctx).header(w.Header())
		return refused
	}
	if op.subscribes() {
		if refused = t.streams.admit(op, perEventStream); refused != nil {
			return refused
		}
		refused = t.streams.begins(op.ctx, t.timeout, func() *refusal { return t.meter.charge(op) })
	} else {
		refused = t.meter.charge(op)
	}
	billOf(op.ctx).header(w.Header())
	return refused
}

// allowed refuses an operation that cannot run over this request.
func allowed(w http.ResponseWriter, req *http.Request, accept acceptance, op *operation) *refusal {
	if !op.reads() && req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return &refusal{code: codeMethod, message: "send mutations by POST", status: http.StatusMethodNotAllowed}
	}
	if op.subscribes() && !accept.events {
		return badRequest("subscriptions need a stream: accept " + mediaEvents + ", or connect by WebSocket")
	}
	return nil
}
