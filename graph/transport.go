package graph

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
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

// operation is one that was asked for, on its way to its answer.
type operation struct {
	exec   graphql.GraphExecutor
	ctx    context.Context
	asked  *graphql.OperationContext
	answer *graphql.Response // nil as long as there is none
}

// prepare parses, validates and measures an operation. One that must not run has
// its answer already, and why, unless it is just not valid.
func prepare(ctx context.Context, exec graphql.GraphExecutor, params *graphql.RawParams) (*operation, *refused) {
	asked, errs := exec.CreateOperationContext(ctx, params)
	o := &operation{exec: exec, ctx: graphql.WithOperationContext(ctx, asked), asked: asked}
	var why *refused
	if errs != nil {
		errs = limitsFirst(errs)
		errors.As(errs[0], &why)
		o.answer = exec.DispatchError(o.ctx, errs)
	} else if o.subscribes() && len(graphql.CollectFields(asked, asked.Operation.SelectionSet, []string{"Subscription"})) != 1 {
		// gqlparser's rule for this takes aliases of one field for one, and does not know what is skipped.
		why = &refused{code: errcode.ValidationFailed, message: "a subscription has exactly one field"}
		o.answer = exec.DispatchError(o.ctx, why.list())
	}
	return o, why
}

// reads reports whether it changes nothing. What does not run does not.
func (o *operation) reads() bool {
	return o.answer != nil || o.asked.Operation.Operation != ast.Mutation
}

// subscribes reports whether it has many answers.
func (o *operation) subscribes() bool {
	return o.answer == nil && o.asked.Operation.Operation == ast.Subscription
}

// once runs a query or a mutation. A refusal comes with an answer that says so.
func (o *operation) once(timeout time.Duration) *refused {
	ctx, cancel := context.WithTimeout(o.ctx, timeout)
	defer cancel()
	next, ctx := o.exec.DispatchOperation(ctx, o.asked)
	if o.answer = next(ctx); o.answer != nil {
		return nil
	}
	// It ended before it began.
	why := &refused{code: codeUnavailable, message: "the request was cancelled", status: http.StatusServiceUnavailable}
	if expired(ctx) {
		why.code, why.message = codeTimeout, "the request took too long: try again, or ask for less"
	}
	o.answer = o.exec.DispatchError(ctx, why.list())
	return why
}

// mostErrors is how many errors of one document are shown. Short documents can
// have thousands.
const mostErrors = 20

// limitsFirst leaves out what else is wrong with a document that is over a limit.
func limitsFirst(errs gqlerror.List) gqlerror.List {
	var over gqlerror.List
	for _, err := range errs {
		if why := (*refused)(nil); errors.As(err, &why) {
			over = append(over, err)
		}
	}
	if over != nil {
		errs = over
	}
	return errs[:min(len(errs), mostErrors)]
}
