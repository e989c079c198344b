package tracing

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"frontpage/endpoint"
)

// idHeader is the canonical name of the header with a request's id.
const idHeader = "X-Request-Id"

// maxID is the maximum length of an id that is accepted, bytes.
const maxID = 64

// request is the context of a request. A WebSocket keeps it for as long as it is open, so it is small.
type request struct {
	context.Context
	id       [1]string   // an array, so that the header of the response shares it
	socket   atomic.Bool // it has become a WebSocket: later outcomes are not its own
	observed bool
	outcome  endpoint.Outcome
	viewer   bool
}

type requestKey struct{}

// Value implements context.Context.
func (r *request) Value(key any) any {
	if key == (requestKey{}) {
		return r
	}
	return r.Context.Value(key)
}

func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// Handler returns a handler that gives each request of next an id, sends it back, and follows the request.
func (t *Tracing) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r := &request{Context: req.Context(), id: [1]string{requestID(req.Header[idHeader])}}
		w.Header()[idHeader] = r.id[:]
		if !t.On() && t.access == None {
			next.ServeHTTP(w, req.WithContext(r))
			return
		}
		began, to := time.Now(), &response{ResponseWriter: w, request: r}
		var span trace.Span
		if t.On() {
			parent := propagation.TraceContext{}.Extract(r.Context, propagation.HeaderCarrier(req.Header))
			r.Context, span = t.tracer.Start(parent, method(req), trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(began))
		}
		followed := req.WithContext(r)
		defer func() { // also after a panic
			if t.On() {
				endRequest(span, followed, to)
			}
			if t.access == All || t.access == Failed && (to.status >= 400 || r.outcome.Code != "") {
				t.logRequest(followed, to, time.Since(began))
			}
		}()
		next.ServeHTTP(to, followed)
	})
}

// requestID returns the id that the client or a proxy has sent, if it is short and harmless in a log, and a new one
// otherwise.
func requestID(sent []string) string {
	if len(sent) == 1 && sent[0] != "" && len(sent[0]) <= maxID && strings.IndexFunc(sent[0], unsafeInID) < 0 {
		return sent[0]
	}
	return rand.Text()
}

func unsafeInID(r rune) bool {
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("-_.:=+/", r)
}

// method returns the method of a request: clients can send any word.
func method(req *http.Request) string {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return req.Method
	}
	return "OTHER"
}

// route returns the pattern of a path, such as /u/{user}: the path itself may have a name.
func route(req *http.Request) string {
	if _, path, ok := strings.Cut(req.Pattern, " "); ok {
		return path
	}
	return req.Pattern
}

// endRequest ends the span of a request.
func endRequest(span trace.Span, req *http.Request, to *response) {
	span.SetName(strings.TrimSpace(method(req) + " " + route(req)))
	span.SetAttributes(attribute.String("http.request.method", method(req)), attribute.String("http.route", route(req)),
		attribute.Int("http.response.status_code", to.status), attribute.Int64("http.response.body.size", to.bytes),
		attribute.String("network.protocol.version", strings.TrimPrefix(req.Proto, "HTTP/")), attribute.String("frontpage.request_id", to.request.id[0]))
	if to.status >= 500 {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// response is a ResponseWriter that remembers what was sent.
type response struct {
	http.ResponseWriter
	request *request
	status  int // 0 if nothing was sent
	bytes   int64
}

// Unwrap implements the interface that http.ResponseController looks for.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
		w.request.socket.Store(status == http.StatusSwitchingProtocols)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *response) Write(body []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(body)
	w.bytes += int64(n)
	return n, err
}
