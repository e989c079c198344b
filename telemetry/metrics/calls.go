package metrics

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
)

// calls counts the calls of Redis. It is a hook that is nearer to the connection than those that repeat commands, so each time
// counts, and a pipeline to several servers counts for each. In a cluster, the client of each server has the hook.
type calls struct {
	duration *prometheus.HistogramVec
	single   prometheus.Observer
	pipeline prometheus.Observer
	commands prometheus.Counter
	errors   *prometheus.CounterVec
	dials    *prometheus.CounterVec
}

// newCalls counts the calls of a client from now on.
func newCalls(client redis.UniversalClient) *calls {
	c := &calls{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "frontpage_redis_round_trip_duration_seconds", Help: "Duration of the calls of Redis, with the wait for a connection or for the round trip that a call shares with others.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"type"}),
		commands: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "frontpage_redis_commands_total", Help: "Commands sent to Redis, by all calls together.",
		}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "frontpage_redis_errors_total", Help: "Calls of Redis that failed, by reason.",
		}, []string{"reason"}),
		dials: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "frontpage_redis_dials_total", Help: "Attempts to connect to Redis, by result.",
		}, []string{"result"}),
	}
	c.single, c.pipeline = c.duration.WithLabelValues("command"), c.duration.WithLabelValues("pipeline")
	for _, reason := range []string{reasonCancelled, reasonConnection, reasonPool, reasonReply, reasonTimeout} {
		c.errors.WithLabelValues(reason)
	}
	for _, result := range []string{"ok", "failed"} {
		c.dials.WithLabelValues(result)
	}
	cluster, many := client.(*redis.ClusterClient)
	if !many {
		client.AddHook(c)
		return c
	}
	// A server that it cannot reach now gets the hook later, as a new one.
	_ = failover.OnServers(cluster, func(server *redis.Client) { server.AddHook(c) })(context.Background())
	return c
}

// DialHook implements redis.Hook.
func (c *calls) DialHook(next redis.DialHook) redis.DialHook {
	ok, failed := c.dials.WithLabelValues("ok"), c.dials.WithLabelValues("failed")
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := next(ctx, network, address)
		if err != nil {
			failed.Inc()
		} else {
			ok.Inc()
		}
		return conn, err
	}
}

// ProcessHook implements redis.Hook.
func (c *calls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		began := time.Since(started)
		err := next(ctx, command)
		c.count(c.single, began, 1, err)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (c *calls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		began := time.Since(started)
		err := next(ctx, commands)
		c.count(c.pipeline, began, len(commands), err)
		return err
	}
}

// started is what times are measured from: time.Since reads the monotonic clock alone, time.Now another one, too.
var started = time.Now()

// count counts a round trip.
func (c *calls) count(by prometheus.Observer, began time.Duration, commands int, err error) {
	by.Observe((time.Since(started) - began).Seconds())
	c.commands.Add(float64(commands))
	if err != nil && !errors.Is(err, redis.Nil) {
		c.errors.WithLabelValues(reasonOf(err)).Inc()
	}
}

// Reasons why a round trip failed.
const (
	reasonCancelled  = "cancelled"  // the request ended
	reasonTimeout    = "timeout"    // no reply in time
	reasonPool       = "pool"       // no free connection in time
	reasonConnection = "connection" // it broke, or none could be made
	reasonReply      = "reply"      // Redis replied with an error
)

func reasonOf(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return reasonCancelled
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return reasonPool
	case errors.Is(err, syscall.ENOTCONN): // of package store: it could not connect
		return reasonConnection
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return reasonTimeout
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return reasonConnection
	case errors.As(err, new(redis.Error)):
		return reasonReply
	}
	return reasonConnection
}

var (
	poolConnections = describe("frontpage_redis_pool_connections", "Open connections to Redis, by pool and state.", "pool", "state")
	poolHits        = describe("frontpage_redis_pool_hits_total", "Round trips that found a free connection.", "pool")
	poolMisses      = describe("frontpage_redis_pool_misses_total", "Round trips that found no free connection.", "pool")
	poolTimeouts    = describe("frontpage_redis_pool_timeouts_total", "Round trips that got no connection in time.", "pool")
	poolWait        = describe("frontpage_redis_pool_wait_seconds_total", "Time that round trips waited for a free connection.", "pool")
	poolListeners   = describe("frontpage_redis_pool_subscriptions", "Connections that receive changes for live updates.")
)

// pools exports the pools of connections.
func pools(v values, client redis.UniversalClient) {
	s := client.PoolStats()
	v.gauge(poolListeners, float64(s.PubSubStats.Active))
	v.pool("commands", s.TotalConns, s.IdleConns, s.Hits, s.Misses, s.Timeouts, s.WaitDurationNs)
	if p := s.PipelineStats; p != nil {
		v.pool("pipelines", p.TotalConns, p.IdleConns, p.Hits, p.Misses, p.Timeouts, p.WaitDurationNs)
	}
}

func (v values) pool(name string, all, idle, hits, misses, timeouts uint32, waited int64) {
	v.gauge(poolConnections, float64(idle), name, "idle")
	v.gauge(poolConnections, float64(all)-float64(idle), name, "busy")
	v.counter(poolHits, uint64(hits), name)
	v.counter(poolMisses, uint64(misses), name)
	v.counter(poolTimeouts, uint64(timeouts), name)
	v <- prometheus.MustNewConstMetric(poolWait, prometheus.CounterValue, time.Duration(waited).Seconds(), name)
}
