// Package metrics exports what a process does, and what it holds, for Prometheus. docs/metrics.md lists every metric; a
// test compares the two, and makes each value change.
package metrics

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/redisrepo"
)

// Build is what identifies the program.
type Build struct{ Version, Commit, Go, Layout string }

// Metrics are the metrics of one process.
type Metrics struct {
	registry   *prometheus.Registry
	operations *operations
	handler    http.Handler
}

// New returns the metrics of a process that serves nothing yet. names are those of operations that are exported under
// their own name, whatever clients send: see operations.
func New(log *slog.Logger, build Build, names []string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), operations: newOperations(names)}
	m.registry.MustRegister(m.operations.all...)
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		constant("frontpage_build_info", "The program, by its labels. The value is 1.", 1, prometheus.Labels{
			"version": build.Version, "commit": build.Commit, "go": build.Go, "layout": build.Layout,
		}),
	)
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		Timeout: scrapeTimeout, EnableOpenMetrics: true,
	})
	return m
}

// constant returns a metric whose value never changes.
func constant(name, help string, value float64, labels prometheus.Labels) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return value })
}

// Observer counts the operations of an endpoint.
func (m *Metrics) Observer() endpoint.Observer { return endpoint.Observer{End: m.operations.end} }

// FollowStore exports the outcomes of the calls to the store from now on, and the store's state.
func (m *Metrics) FollowStore(client redis.UniversalClient, repo *redisrepo.Repo) {
	calls := newCalls(client)
	m.registry.MustRegister(calls.duration, calls.commands, calls.errors, calls.dials,
		&pools{described{poolConnections, poolHits, poolMisses, poolTimeouts, poolWait, poolListeners}, client},
		&servers{described{redisMemory, redisMemoryLimit, redisReplicas, redisLag, redisSilence}, client},
		&health{described{storeUp, storeWritable}, repo},
		&writes{described{writesDone, changesReceived, changesCoalesced, watchesNotified, articlesWatched, partitionsLost}, repo})
	if repo.Search.On() {
		m.registry.MustRegister(&searchState{described{searchArticles, searchBytes, searchLag}, repo})
	}
}

// FollowEndpoint exports what an endpoint holds.
func (m *Metrics) FollowEndpoint(h *endpoint.Handler) {
	m.registry.MustRegister(&holdings{described{
		streamsOpen, subscriptions, watched, streamMemory, streamLimit, eventsSent, eventBytes, eventsMade,
		atWork, waiting, shed, maxConcurrent, rateRefusals, cacheEntries, cacheBytes,
	}, h})
}

// scrapeTimeout is the maximum time for one scrape. Prometheus gives up after 10 s by default.
const scrapeTimeout = 5 * time.Second

// ServeHTTP implements http.Handler: it responds with all metrics.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, req *http.Request) { m.handler.ServeHTTP(w, req) }

// described are the descriptions of a collector whose values are read at each scrape.
type described []*prometheus.Desc

// Describe implements prometheus.Collector.
func (d described) Describe(to chan<- *prometheus.Desc) {
	for _, one := range d {
		to <- one
	}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// values receives the values of a scrape.
type values chan<- prometheus.Metric

func (v values) counter(d *prometheus.Desc, value uint64, labels ...string) {
	v <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

func (v values) gauge(d *prometheus.Desc, value float64, labels ...string) {
	v <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
