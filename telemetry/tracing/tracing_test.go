package tracing_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"frontpage/telemetry/tracing"
	"frontpage/tests/require"
)

// silent is a ResponseWriter that keeps nothing.
type silent struct{ header http.Header }

func (s silent) Header() http.Header            { return s.header }
func (s silent) WriteHeader(int)                {}
func (s silent) Write(body []byte) (int, error) { return len(body), nil }

// With nothing to write, a request allocates its id, its context and the request with that context, and no operation is
// observed.
func TestWithoutTracesRequestsCostLittle(t *testing.T) {
	follow := require.Value(tracing.Open(t.Context(), tracing.Options{Access: tracing.None, Log: slog.New(slog.DiscardHandler)}))(t)
	if follow.On() || follow.Observers() != nil {
		t.Error("something is observed although nothing is written")
	}
	handler := follow.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	to, req := silent{http.Header{}}, httptest.NewRequest(http.MethodPost, "/query", nil)
	if got := testing.AllocsPerRun(100, func() { handler.ServeHTTP(to, req) }); got > 4 {
		t.Errorf("got %v allocations, want at most 4", got)
	}
}
