package endpoint

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

// httpTransport answers by GET, HEAD and POST: with one finished answer, or, for
// subscriptions and for whoever prefers them, with server-sent events.
type httpTransport struct {
	log       *slog.Logger
	bodyLimit int64
	timeout   time.Duration
	preflight bool
	streams   *streams
	meter     *meter
}

// methods is the header Allow of the endpoint.
const methods = "GET, HEAD, POST, OPTIONS"

// Supports takes every request that no transport in front of it took.
func (t *httpTransport) Supports(*http.Request) bool { return true }

// Do answers one request.
func (t *httpTransport) Do(w http.ResponseWriter, req *http.Request, exec graphql.GraphExecutor) {
	w.Header().Add("Vary", "Accept")
	accept := negotiate(req.Header.Values("Accept"))
	if req.Method == http.MethodOptions {
		w.Header().Set("Allow", methods)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	ctx := req.Context()
	defer func() {
		if cause := recover(); cause != nil {
			why := &refused{code: codeInternal, message: "internal error", status: http.StatusInternalServerError}
			_ = recovered(t.log)(ctx, cause)
			write(w, accept.media, why, exec.DispatchError(ctx, why.list()))
		}
	}()
	if !accept.any {
		why := &refused{code: codeNotAcceptable, message: "the answer is " + mediaJSON + ", " + mediaGraphQL + " or " + mediaEvents, status: http.StatusNotAcceptable}
		write(w, accept.media, why, exec.DispatchError(ctx, why.list()))
		return
	}
	params, why := t.read(w, req)
	if why != nil {
		write(w, accept.media, why, exec.DispatchError(ctx, why.list()))
		return
	}
	run, why := prepare(ctx, exec, params)
	switch {
	case !run.reads() && req.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		why = &refused{code: codeMethod, message: "a mutation is sent by POST", status: http.StatusMethodNotAllowed}
		run.answer = exec.DispatchError(run.ctx, why.list())
	case run.subscribes() && !accept.events:
		why = badRequest("a subscription needs a stream: accept " + mediaEvents + ", or connect by WebSocket")
		run.answer = exec.DispatchError(run.ctx, why.list())
	case run.answer == nil:
		why = t.meter.charge(run)
		bill, _ := run.ctx.Value(billKey{}).(bill)
		bill.header(w.Header())
	}
	switch {
	case why != nil && why.status >= http.StatusBadRequest: // whatever is accepted, this is not an event
	case accept.eventsFirst || run.subscribes():
		t.stream(w, req, run)
		return
	case run.answer == nil:
		why = run.once(t.timeout)
	}
	write(w, accept.media, why, run.answer)
}
