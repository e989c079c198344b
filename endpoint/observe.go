package endpoint

import (
	"context"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Observer is notified of each operation, over all transports. Each function may be nil. Many goroutines call them, and
// requests wait for them.
type Observer struct {
	// Begin is called when an operation arrives, before it is read. It returns the operation's context.
	Begin func(context.Context) context.Context
	// End is called once for each Begin: when the response is about to be sent or, for a subscription, when the
	// subscription is open. The context is the operation's, so ViewerOf knows the caller.
	End func(context.Context, Outcome)
}

// Outcome says what became of an operation, or of a request that never became one.
type Outcome struct {
	Name      string // of the operation in a valid document; empty if it has none. The client chose it: more than 100 bytes are cut
	Kind      string // query, mutation or subscription; empty if the document is not valid
	Code      string // of the first error; empty without errors
	Transport string // OverHTTP, OverEvents or OverSocket
	Source    Source
	Began     time.Time     // when the request had been read, or was refused before that
	Duration  time.Duration // until the response was made: slow clients do not lengthen it
	Bytes     int           // of the response's body as it is sent, compressed or not
}

// The transports of operations.
const (
	OverHTTP   = "http"
	OverEvents = "sse"
	OverSocket = "websocket"
)

// Source says where a response comes from.
type Source int

// The sources of responses.
const (
	Refused  Source = iota // the operation did not run
	Executed               // it ran
	Shared                 // it ran for another request
)

// receive makes an operation of a request that arrives.
func (e *executor) receive(ctx context.Context, transport string) *operation {
	o := &operation{exec: e, ctx: ctx}
	if len(e.observers) == 0 {
		return o
	}
	o.observed, o.outcome.Transport, o.outcome.Code = true, transport, codeInternal // the code is that of a panic
	for _, by := range e.observers {
		if by.Begin != nil {
			o.ctx = by.Begin(o.ctx)
		}
	}
	return o
}

// read starts the clock when the request has been read.
func (o *operation) read() {
	if o.observed {
		o.outcome.Began = time.Now()
	}
}

// over notes the transport, if it was not known when the request arrived.
func (o *operation) over(transport string) {
	if o.observed {
		o.outcome.Transport = transport
	}
}

// shares notes that the response is that of another request.
func (o *operation) shares() {
	if o.observed {
		o.outcome.Source = Shared
	}
}

// responds notes a response that is about to be sent, and how many bytes it has.
func (o *operation) responds(f *finished, bytes int) {
	switch {
	case !o.observed:
		return
	case f.refused != nil:
		o.outcome.Source = Refused
	case o.outcome.Source != Shared:
		o.outcome.Source = Executed
	}
	o.outcome.Code, o.outcome.Bytes = f.code, bytes
	o.end()
}

// begun notes that a subscription is open, or why it is not.
func (o *operation) begun(s *subscription) {
	switch {
	case !o.observed:
	case s.watch != nil:
		o.opens()
	case s.first != nil:
		o.refused(firstCode(s.first.Errors))
	default:
		o.refused(codeUnavailable) // the client left
	}
}

// opens notes that a stream is open.
func (o *operation) opens() {
	if o.observed {
		o.outcome.Source, o.outcome.Code = Executed, ""
		o.end()
	}
}

// refused notes that the operation does not run.
func (o *operation) refused(code string) {
	if o.observed {
		o.outcome.Source, o.outcome.Code = Refused, code
		o.end()
	}
}

// end notifies the observers, unless it has before.
func (o *operation) end() {
	if !o.observed {
		return
	}
	o.observed = false
	outcome := &o.outcome
	now := time.Now()
	if outcome.Began.IsZero() {
		outcome.Began = now
	}
	outcome.Duration = now.Sub(outcome.Began)
	if o.prepared != nil {
		outcome.Name, outcome.Kind = cutTo(o.prepared.operation.Name, maxAlias), string(o.prepared.operation.Operation)
	}
	for _, by := range o.exec.observers {
		if by.End != nil {
			by.End(o.ctx, *outcome)
		}
	}
}

// firstCode returns the code of the first of the errors that a client sees.
func firstCode(errs gqlerror.List) string {
	if len(errs) == 0 {
		return ""
	}
	code, _ := errs[0].Extensions["code"].(string)
	return code
}
