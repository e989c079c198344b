package tracing

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"frontpage/endpoint"
)

// logRequest writes the line of a request.
func (t *Tracing) logRequest(req *http.Request, to *response, took time.Duration) {
	attrs := []slog.Attr{slog.String("method", method(req)), slog.String("path", route(req)), slog.String("protocol", req.Proto), slog.Int("status", to.status)}
	if r := to.request; r.observed {
		attrs = append(attrs, outcome(r.outcome, r.viewer)...)
	}
	t.line(req.Context(), "request", took, to.bytes, attrs)
}

// logOperation writes the line of an operation on a WebSocket.
func (t *Tracing) logOperation(ctx context.Context, o endpoint.Outcome, viewer bool) {
	t.line(ctx, "operation", o.Duration, int64(o.Bytes), outcome(o, viewer))
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
