package metrics

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"frontpage/endpoint"
)

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

// operations counts operations by name, kind and code. The numbers of an operation are looked up once, since the
// lookup of Prometheus takes longer than the rest.
type operations struct {
	count    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	answers  [3]prometheus.Counter // by endpoint.Source
	bytes    map[string]prometheus.Counter
	all      []prometheus.Collector

	mu    sync.RWMutex
	known map[string]bool
	room  int // for further names
	found map[operation]*series
}

// operation is what operations are counted by.
type operation struct{ name, kind, code string }

// series are the numbers of an operation.
type series struct {
	count    prometheus.Counter
	duration prometheus.Observer
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
		known: map[string]bool{}, room: otherNames, found: map[operation]*series{},
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
	s := o.series(operation{outcome.Name, outcome.Kind, outcome.Code})
	s.count.Inc()
	s.duration.Observe(outcome.Duration.Seconds())
	o.answers[outcome.Source].Inc()
	o.bytes[outcome.Transport].Add(float64(outcome.Bytes))
}

// series returns the numbers of an operation.
func (o *operations) series(of operation) *series {
	o.mu.RLock()
	s := o.found[of]
	o.mu.RUnlock()
	if s != nil {
		return s
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	of.name = o.label(of.name)
	if s = o.found[of]; s != nil {
		return s
	}
	kind, code := cmp.Or(of.kind, unknownKind), cmp.Or(of.code, noError)
	s = &series{o.count.WithLabelValues(of.name, kind, code), o.duration.WithLabelValues(of.name, kind)}
	o.found[of] = s
	if of.name == unnamed {
		of.name = ""
		o.found[of] = s
	}
	return s
}

// label returns the name under which an operation is exported.
func (o *operations) label(name string) string {
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
