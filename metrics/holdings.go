package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"frontpage/endpoint"
)

// holdings exports what an endpoint holds, and what it did besides answering operations.
type holdings struct{ of *endpoint.Handler }

var (
	streamsOpen    = describe("frontpage_streams", "Open WebSockets and event streams.", "transport")
	subscriptions  = describe("frontpage_subscriptions", "Open subscriptions.")
	watched        = describe("frontpage_watched", "Articles that subscriptions watch, one counting once for each subscription.")
	streamMemory   = describe("frontpage_stream_memory_bytes", "Memory that open streams and their subscriptions take, roughly.")
	streamLimit    = describe("frontpage_stream_memory_limit_bytes", "Maximum of frontpage_stream_memory_bytes: a quarter of GOMEMLIMIT.")
	eventsSent     = describe("frontpage_events_sent_total", "Events of subscriptions that were sent.", "transport")
	eventBytes     = describe("frontpage_event_bytes_total", "Bytes of these events.", "transport")
	eventsMade     = describe("frontpage_events_made_total", "Answers about a change: executed for a subscription, or shared with others that asked the same.", "source")
	atWork         = describe("frontpage_operations_running", "Queries and mutations at work.", "kind")
	waiting        = describe("frontpage_operations_waiting", "Queries and mutations that wait for others to finish.", "kind")
	shed           = describe("frontpage_operations_shed_total", "Queries and mutations that were refused since too many waited, or for too long.", "kind")
	maxConcurrent  = describe("frontpage_operations_limit", "Maximum number of queries and mutations at work: FRONTPAGE_MAX_CONCURRENT.")
	rateRefusals   = describe("frontpage_rate_refusals_total", "Operations that a rate limit refused, by rule and by whose limit it was.", "rule", "subject")
	cacheEntries   = describe("frontpage_cache_entries", "Entries of the caches of this process.", "cache")
	cacheBytes     = describe("frontpage_cache_bytes", "Memory that these entries take, roughly.", "cache")
	ofEventSources = map[endpoint.Source]string{endpoint.Executed: "executed", endpoint.Shared: "shared"}
)

// Describe implements prometheus.Collector.
func (*holdings) Describe(to chan<- *prometheus.Desc) {
	described{
		streamsOpen, subscriptions, watched, streamMemory, streamLimit, eventsSent, eventBytes, eventsMade,
		atWork, waiting, shed, maxConcurrent, rateRefusals, cacheEntries, cacheBytes,
	}.Describe(to)
}

// Collect implements prometheus.Collector.
func (h *holdings) Collect(to chan<- prometheus.Metric) {
	v, s := values(to), h.of.Stats()
	for transport, n := range s.Streams {
		v.gauge(streamsOpen, float64(n), transport)
		v.counter(eventsSent, s.Events[transport].Sent, transport)
		v.counter(eventBytes, s.Events[transport].Bytes, transport)
	}
	v.gauge(subscriptions, float64(s.Subscriptions))
	v.gauge(watched, float64(s.Watched))
	v.gauge(streamMemory, float64(s.StreamBytes))
	v.gauge(streamLimit, float64(s.StreamLimit))
	for source, n := range s.EventsMade {
		v.counter(eventsMade, n, ofEventSources[source])
	}
	for kind := range s.AtWork {
		v.gauge(atWork, float64(s.AtWork[kind]), kind)
		v.gauge(waiting, float64(s.Waiting[kind]), kind)
		v.counter(shed, s.Shed[kind], kind)
	}
	v.gauge(maxConcurrent, float64(s.MaxConcurrent))
	for refused, n := range s.RateRefusals {
		subject := "user"
		if refused.ByAddress {
			subject = "address"
		}
		v.counter(rateRefusals, n, refused.Rule, subject)
	}
	for cache, n := range s.Caches {
		v.gauge(cacheEntries, float64(n.Entries), cache)
		v.gauge(cacheBytes, float64(n.Bytes), cache)
	}
}
