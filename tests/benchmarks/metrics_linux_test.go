package benchmarks_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/telemetry/metrics"
	"frontpage/tests/require"
)

// maxMetricsAllocations is what metrics may allocate for a request.
const maxMetricsAllocations = 1

// measured returns an endpoint without metrics, and one with them.
func measured(tb testing.TB, share time.Duration) (handlers [2]http.Handler) {
	tb.Helper()
	for i := range handlers {
		client, repo := benchSite(tb, 1000)
		o := endpoint.DefaultOptions()
		o.SharedAnswers = share
		o.Identity = require.Value(identity.New(tb.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName}))(tb)
		if i == 1 {
			m := metrics.New(slog.New(slog.DiscardHandler), metrics.Build{}, nil)
			o.Observers = []endpoint.Observer{m.Observer()}
			m.FollowStore(client, repo)
		}
		handlers[i] = graph.NewHandler(repo, graph.Site{}, slog.New(slog.DiscardHandler), o)
	}
	return handlers
}

const (
	metricsPage = `{"query":"query Front { articles { id title link score votes createdAt poster { name } } }"}`
	metricsVote = `{"query":"mutation V($a: ID!) { vote(input: {article: $a}) { changed article { id votes } } }","variables":{"a":"article:1000"}}`
)

func TestMetricsAllocateLittle(t *testing.T) {
	for name, each := range map[string]struct {
		share time.Duration
		body  string
	}{"a page": {0, metricsPage}, "a page that is shared": {time.Hour, metricsPage}, "a vote": {0, metricsVote}} {
		handlers, voter := measured(t, each.share), 0
		next := func() (string, string) { voter++; return fmt.Sprint("voter", voter), each.body }
		without, with := allocations(t, handlers[0], next), allocations(t, handlers[1], next)
		if with-without > maxMetricsAllocations+raced {
			t.Errorf("%s: got %v allocations with metrics, %v without, want at most %d more", name, with, without, maxMetricsAllocations)
		}
	}
}

// BenchmarkMetrics compares the CPU time of this process for a request without metrics and with them. The two alternate,
// so that a busy machine slows down both, and each number is that of a round with few disturbances: a tenth of the rounds
// took less.
func BenchmarkMetrics(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the server does by default
	for _, each := range []struct {
		name, body string
		share      time.Duration
	}{{"page", metricsPage, 0}, {"shared", metricsPage, time.Hour}, {"vote", metricsVote, 0}} {
		b.Run(each.name, func(b *testing.B) {
			const perRound = 200
			handlers, voter := measured(b, each.share), 0
			var took [2][]float64
			for b.Loop() {
				for i, handler := range handlers {
					before := cpu(b)
					for range perRound {
						voter++
						req := httptest.NewRequest(http.MethodPost, "/query", strings.NewReader(each.body))
						req.Header.Set("Content-Type", "application/json")
						req.Header.Set("X-User-ID", fmt.Sprint("voter", voter))
						handler.ServeHTTP(&unread{header: http.Header{}}, req)
					}
					took[i] = append(took[i], float64((cpu(b)-before).Nanoseconds())/perRound/1000)
				}
			}
			for i, unit := range []string{"us-without", "us-with"} {
				slices.Sort(took[i])
				b.ReportMetric(took[i][len(took[i])/10], unit)
			}
			b.ReportMetric(0, "ns/op") // of two rounds: no use
		})
	}
}

// cpu returns the CPU time that this process has taken.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
