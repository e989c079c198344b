package tracing

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"frontpage/endpoint"
)

// Observers returns the observers for the endpoint; none if spans and access log are off.
func (t *Tracing) Observers() []endpoint.Observer {
	switch {
	case t.On():
		return []endpoint.Observer{{Begin: t.begin, End: t.end}}
	case t.access != None:
		return []endpoint.Observer{{End: t.end}}
	}
	return nil
}

// begin starts the span of an operation. One of a WebSocket begins a trace of its own, with a link to the handshake:
// otherwise a trace could last for days.
func (t *Tracing) begin(ctx context.Context) context.Context {
	var options []trace.SpanStartOption
	if r := requestOf(ctx); r != nil && r.socket.Load() {
		options = append(options, trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer), trace.WithLinks(trace.LinkFromContext(ctx)))
	}
	ctx, _ = t.tracer.Start(ctx, "operation", options...)
	return ctx
}

// end notes an operation for the line of its request, or writes the line of one of a WebSocket.
func (t *Tracing) end(ctx context.Context, o endpoint.Outcome) {
	viewer := endpoint.ViewerOf(ctx).Name != ""
	if t.On() {
		endOperation(trace.SpanFromContext(ctx), o, viewer)
	}
	r := requestOf(ctx)
	switch {
	case r == nil:
	case !r.socket.Load():
		r.observed, r.outcome, r.viewer = true, o, viewer
	case t.access == All || t.access == Failed && o.Code != "":
		t.line(ctx, "operation", o.Duration, int64(o.Bytes), outcome(o, viewer))
	}
}

// endOperation ends the span of an operation. Its name is not part of the span's, since clients choose it.
func endOperation(span trace.Span, o endpoint.Outcome, viewer bool) {
	if o.Kind != "" {
		span.SetName(o.Kind)
	}
	span.SetAttributes(attribute.String("graphql.operation.name", o.Name), attribute.String("graphql.operation.type", o.Kind),
		attribute.String("frontpage.transport", o.Transport), attribute.Bool("frontpage.viewer", viewer), attribute.Bool("frontpage.shared", o.Source == endpoint.Shared))
	if o.Code != "" {
		span.SetAttributes(attribute.String("error.type", o.Code))
	}
	switch o.Code {
	case "INTERNAL", "UNAVAILABLE", "TIMEOUT":
		span.SetStatus(codes.Error, o.Code)
	}
	span.End()
}

// RedisHook returns a hook that makes a span of each round trip of an operation. Add it before hooks that repeat calls.
//
// It replaces redisotel, whose spans have the texts of errors, which may contain keys, and which looks up the line of
// code that sent each command.
func (t *Tracing) RedisHook() redis.Hook { return redisHook{t.tracer} }

type redisHook struct{ tracer trace.Tracer }

// DialHook implements redis.Hook.
func (redisHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h redisHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		return h.trace(ctx, command.Name(), 1, func(ctx context.Context) error { return next(ctx, command) })
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h redisHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		return h.trace(ctx, "pipeline", len(commands), func(ctx context.Context) error { return next(ctx, commands) })
	}
}

// trace makes a span of a round trip, unless the operation is not recorded. The text of an error may have a key or an address.
func (h redisHook) trace(ctx context.Context, name string, commands int, do func(context.Context) error) error {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return do(ctx)
	}
	name = strings.ToUpper(name)
	ctx, span := h.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("db.system.name", "redis"), attribute.String("db.operation.name", name), attribute.Int("db.operation.batch.size", commands)))
	defer span.End()
	err := do(ctx)
	if err != nil && !errors.Is(err, redis.Nil) {
		span.SetStatus(codes.Error, "")
	}
	return err
}
