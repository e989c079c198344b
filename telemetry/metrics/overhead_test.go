package metrics

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
)

// BenchmarkOverhead measures what metrics add to an operation, and to each round trip.
func BenchmarkOverhead(b *testing.B) {
	b.Run("operation", func(b *testing.B) {
		end := New(slog.New(slog.DiscardHandler), Build{}, nil).Observer().End
		outcome := endpoint.Outcome{Name: "Front", Kind: "query", Transport: endpoint.OverHTTP, Source: endpoint.Shared, Duration: time.Millisecond, Bytes: 1000}
		b.ReportAllocs()
		for b.Loop() {
			end(b.Context(), outcome)
		}
	})
	b.Run("round trip", func(b *testing.B) {
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
		b.Cleanup(func() { _ = client.Close() })
		process := newCalls(client).ProcessHook(func(context.Context, redis.Cmder) error { return nil })
		command := redis.NewStatusCmd(b.Context(), "ping")
		b.ReportAllocs()
		for b.Loop() {
			_ = process(b.Context(), command)
		}
	})
}
