package graph

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// plainTransport answers queries by GET and HEAD, and queries and mutations by
// POST: GraphQL over HTTP, one finished answer for one request.
type plainTransport struct {
	log       *slog.Logger
	bodyLimit int64
	timeout   time.Duration
	preflight bool
}

// methods is the header Allow of the endpoint.
const methods = "GET, HEAD, POST, OPTIONS"

// Supports takes every request that no transport in front of it took.
func (t *plainTransport) Supports(*http.Request) bool { return true }

// Do answers one request.
func (t *plainTransport) Do(w http.ResponseWriter, req *http.Request, exec graphql.GraphExecutor) {
	w.Header().Add("Vary", "Accept")
	media, acceptable := negotiate(req.Header.Values("Accept"))
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
			write(w, media, why, exec.DispatchError(ctx, why.list()))
		}
	}()
	if !acceptable {
		why := &refused{code: codeNotAcceptable, message: "the answer is " + mediaJSON + " or " + mediaGraphQL, status: http.StatusNotAcceptable}
		write(w, media, why, exec.DispatchError(ctx, why.list()))
		return
	}
	params, why := t.read(w, req)
	if why != nil {
		write(w, media, why, exec.DispatchError(ctx, why.list()))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	why, answer := execute(ctx, exec, params, req.Method != http.MethodPost)
	if why != nil && why.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	write(w, media, why, answer)
}

// execute runs an operation. A refusal comes with an answer that says so.
func execute(ctx context.Context, exec graphql.GraphExecutor, params *graphql.RawParams, readOnly bool) (*refused, *graphql.Response) {
	operation, errs := exec.CreateOperationContext(ctx, params)
	ctx = graphql.WithOperationContext(ctx, operation)
	var why *refused
	switch {
	case errs != nil:
		errs = limitsFirst(errs)
		errors.As(errs[0], &why)
		return why, exec.DispatchError(ctx, errs)
	case operation.Operation.Operation == ast.Subscription:
		why = badRequest("a subscription needs a stream, which this request does not ask for")
		return why, exec.DispatchError(ctx, why.list())
	case readOnly && operation.Operation.Operation == ast.Mutation:
		why = &refused{code: codeMethod, message: "a mutation is sent by POST", status: http.StatusMethodNotAllowed}
		return why, exec.DispatchError(ctx, why.list())
	}
	next, ctx := exec.DispatchOperation(ctx, operation)
	if answer := next(ctx); answer != nil {
		return nil, answer
	}
	// It ended before it began.
	why = &refused{code: codeUnavailable, message: "the request was cancelled", status: http.StatusServiceUnavailable}
	if expired(ctx) {
		why.code, why.message = codeTimeout, "the request took too long: try again, or ask for less"
	}
	return why, exec.DispatchError(ctx, why.list())
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
