// Package metrics exports the counters and state of a process for Prometheus. docs/metrics.md lists every metric; a
// test compares the two, and makes each value change.
package metrics

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/redisrepo"
)

// Build identifies the program.
type Build struct{ Version, Commit, Go, Layout string }

// Metrics are the metrics of one process.
type Metrics struct {
	registry   *prometheus.Registry
	operations *operations
	handler    http.Handler
}

// New returns the metrics of a process that serves nothing yet. names are the names of operations that are always
// exported: see operations.
func New(log *slog.Logger, build Build, names []string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), operations: newOperations(names)}
	m.registry.MustRegister(m.operations.all...)
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "frontpage_build_info", Help: "The program, by its labels. The value is 1.",
			ConstLabels: prometheus.Labels{"version": build.Version, "commit": build.Commit, "go": build.Go, "layout": build.Layout},
		}, func() float64 { return 1 }),
	)
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		Timeout: scrapeTimeout, EnableOpenMetrics: true,
	})
	return m
}

// Observer counts the operations of an endpoint.
func (m *Metrics) Observer() endpoint.Observer { return endpoint.Observer{End: m.operations.end} }

// FollowStore exports the outcomes of the calls to the store from now on, and the store's state.
func (m *Metrics) FollowStore(client redis.UniversalClient, repo *redisrepo.Repo) {
	calls := newCalls(client)
	m.registry.MustRegister(calls.duration, calls.commands, calls.errors, calls.dials)
	follow(m, pools, client)
	follow(m, servers, client)
	follow(m, health, repo)
	follow(m, writes, repo)
	if repo.Search.On() {
		follow(m, searchState, repo)
	}
}

// FollowEndpoint exports the state of an endpoint.
func (m *Metrics) FollowEndpoint(h *endpoint.Handler) {
	follow(m, holdings, h)
}

// scrapeTimeout is the maximum time for one scrape. Prometheus gives up after 10 s by default.
const scrapeTimeout = 5 * time.Second

// ServeHTTP implements http.Handler: it responds with all metrics.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, req *http.Request) { m.handler.ServeHTTP(w, req) }

// collector is a collector of metrics whose values it reads at each scrape.
type collector func(values)

// follow has collect export metrics of something.
func follow[Of any](m *Metrics, collect func(values, Of), of Of) {
	m.registry.MustRegister(collector(func(to values) { collect(to, of) }))
}

// Describe implements prometheus.Collector. It describes nothing: what is collected is checked at each scrape.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) { c(to) }

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

// otherNames is how many names of operations are exported besides those that New was given: the first ones that
// clients use. All further ones are exported as other. Clients choose names, and each takes memory here and in
// Prometheus for as long as the process runs.
const otherNames = 100

// maxName is the maximum length of an exported name, bytes.
const maxName = 100

// Labels of operations that have no name, no document, or no error.
const (
	unnamed     = "unnamed"
	other       = "other"
	unknownKind = "unknown"
	noError     = "OK"
)

// operations counts operations by name, kind and code.
type operations struct {
	count    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	answers  [3]prometheus.Counter // by endpoint.Source
	bytes    map[string]prometheus.Counter
	all      []prometheus.Collector

	mu    sync.Mutex
	known map[string]bool
	room  int // for further names
}

func newOperations(names []string) *operations {
	o := &operations{
		count: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "frontpage_operations_total", Help: "Operations that have finished, by name, kind and the code of the first error.",
		}, []string{"operation", "kind", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "frontpage_operation_duration_seconds", Help: "Time from a request that was read to its response.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"operation", "kind"}),
		known: map[string]bool{}, room: otherNames,
	}
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "frontpage_answers_total", Help: "Responses, by source: executed for the request, shared with an equal one, or refused.",
	}, []string{"source"})
	bytes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "frontpage_response_bytes_total", Help: "Bytes of the bodies of responses, without events of subscriptions.",
	}, []string{"transport"})
	for source, label := range map[endpoint.Source]string{endpoint.Refused: "refused", endpoint.Executed: "executed", endpoint.Shared: "shared"} {
		o.answers[source] = answers.WithLabelValues(label)
	}
	o.bytes = map[string]prometheus.Counter{}
	for _, transport := range []string{endpoint.OverHTTP, endpoint.OverEvents, endpoint.OverSocket} {
		o.bytes[transport] = bytes.WithLabelValues(transport)
	}
	for _, name := range append([]string{unnamed, other}, names...) {
		o.known[name] = true
	}
	o.all = []prometheus.Collector{o.count, o.duration, answers, bytes}
	return o
}

// end counts an operation.
func (o *operations) end(_ context.Context, outcome endpoint.Outcome) {
	name, kind := o.label(outcome.Name), cmp.Or(outcome.Kind, unknownKind)
	o.count.WithLabelValues(name, kind, cmp.Or(outcome.Code, noError)).Inc()
	o.duration.WithLabelValues(name, kind).Observe(outcome.Duration.Seconds())
	o.answers[outcome.Source].Inc()
	o.bytes[outcome.Transport].Add(float64(outcome.Bytes))
}

// label returns the name under which an operation is exported.
func (o *operations) label(name string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case name == "":
		return unnamed
	case o.known[name]:
		return name
	case o.room == 0 || len(name) > maxName:
		return other
	}
	o.room--
	name = strings.Clone(name) // it is a part of the document, which it would keep in memory
	o.known[name] = true
	return name
}
