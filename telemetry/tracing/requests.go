package tracing

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
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

// Handler returns a handler that gives each request of next an id, which the response has, and traces and logs it.
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
	var id [2 * 13]byte                                                                                 // of 64 bits each in base 36
	return string(strconv.AppendUint(strconv.AppendUint(id[:0], rand.Uint64(), 36), rand.Uint64(), 36)) // #nosec G404 -- no secret
}

func unsafeInID(r rune) bool {
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("-_.:=+/", r)
}

// method returns the method of a request: clients can send any word.
func method(req *http.Request) string {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, "QUERY":
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
	w.status = cmp.Or(w.status, http.StatusOK)
	n, err := w.ResponseWriter.Write(body)
	w.bytes += int64(n)
	return n, err
}

// logRequest writes the line of a request.
func (t *Tracing) logRequest(req *http.Request, to *response, took time.Duration) {
	attrs := []slog.Attr{slog.String("method", method(req)), slog.String("path", route(req)), slog.String("protocol", req.Proto), slog.Int("status", to.status)}
	if r := to.request; r.observed {
		attrs = append(attrs, outcome(r.outcome, r.viewer)...)
	}
	t.line(req.Context(), "request", took, to.bytes, attrs)
}

func (t *Tracing) line(ctx context.Context, message string, took time.Duration, bytes int64, attrs []slog.Attr) {
	attrs = append(append(ids(ctx), attrs...), slog.Float64("duration_ms", float64(took.Microseconds())/1000), slog.Int64("bytes", bytes))
	t.lines.LogAttrs(ctx, slog.LevelInfo, message, attrs...)
}

func outcome(o endpoint.Outcome, viewer bool) []slog.Attr {
	return []slog.Attr{slog.String("transport", o.Transport), slog.String("operation", o.Name), slog.String("kind", o.Kind),
		slog.String("code", o.Code), slog.Bool("viewer", viewer)}
}

// ids returns the id of the request that ctx belongs to, and of its trace.
func ids(ctx context.Context) (attrs []slog.Attr) {
	if r := requestOf(ctx); r != nil {
		attrs = append(attrs, slog.String("request_id", r.id[0]))
	}
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		attrs = append(attrs, slog.String("trace_id", span.TraceID().String()))
	}
	return attrs
}

// Logger returns a logger whose lines about a request have its id and that of its trace.
func Logger(log *slog.Logger) *slog.Logger { return slog.New(withIDs{log.Handler()}) }

type withIDs struct{ slog.Handler }

// Handle implements slog.Handler.
func (h withIDs) Handle(ctx context.Context, r slog.Record) error {
	if attrs := ids(ctx); attrs != nil {
		r = r.Clone()
		r.AddAttrs(attrs...)
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h withIDs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withIDs{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h withIDs) WithGroup(name string) slog.Handler { return withIDs{h.Handler.WithGroup(name)} }
