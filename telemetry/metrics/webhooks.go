package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"frontpage/webhooks"
)

// webhookCounts exports what a process sends to webhooks.
type webhookCounts struct {
	described
	sender *webhooks.Sender
}

var (
	webhookTries       = describe("frontpage_webhook_tries_total", "Events that this process has sent to webhooks, by result: delivered or failed.", "result")
	webhookPaused      = describe("frontpage_webhook_paused", "1 if the webhook is paused, otherwise 0. Only the process that sends events exports it.", "webhook")
	webhookUndelivered = describe("frontpage_webhook_undelivered", "Events that the webhook did not get, and those that wait for them. Only the process that sends events exports it.", "webhook")
)

// FollowWebhooks exports what a process sends to webhooks from now on.
func (m *Metrics) FollowWebhooks(sender *webhooks.Sender) {
	m.registry.MustRegister(&webhookCounts{described{webhookTries, webhookPaused, webhookUndelivered}, sender})
}

// Collect implements prometheus.Collector.
func (w *webhookCounts) Collect(to chan<- prometheus.Metric) {
	v, s := values(to), w.sender.Stats()
	v.counter(webhookTries, s.Delivered, "delivered")
	v.counter(webhookTries, s.Failed, "failed")
	for id, state := range s.Endpoints {
		v.gauge(webhookPaused, number(state.Paused), id)
		v.gauge(webhookUndelivered, float64(state.Undelivered), id)
	}
}
