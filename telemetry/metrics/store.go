package metrics

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/webhooks"
)

// askTimeout is how long a scrape waits for Redis.
const askTimeout = time.Second

var (
	storeUp       = describe("frontpage_store_up", "1 if the store serves reads, as /readyz says, otherwise 0.")
	storeWritable = describe("frontpage_store_writable", "1 if the store accepts writes, otherwise 0.")
)

// health asks the store whether it serves.
func health(v values, repo *redisrepo.Repo) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	err := repo.Ready(ctx)
	v.gauge(storeWritable, number(err == nil))
	v.gauge(storeUp, number(err == nil || errors.Is(err, failover.ErrReadOnly)))
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

var (
	redisMemory      = describe("frontpage_redis_memory_bytes", "Memory that a primary uses.", "server")
	redisMemoryLimit = describe("frontpage_redis_memory_limit_bytes", "The maxmemory of a primary; 0 means unlimited.", "server")
	redisReplicas    = describe("frontpage_redis_replicas", "Replicas of a primary that are connected and up to date.", "server")
	redisLag         = describe("frontpage_redis_replication_lag_bytes", "What a replica has not confirmed yet.", "server", "replica")
	redisSilence     = describe("frontpage_redis_replication_silence_seconds", "Time since a replica last confirmed anything, whole seconds.", "server", "replica")
)

// servers asks the primaries for their memory and their replicas. Of a server that does not answer, or does not allow
// INFO, nothing is exported.
func servers(v values, client redis.UniversalClient) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	switch c := client.(type) {
	case *redis.Client:
		ask(ctx, c, v)
	case *redis.ClusterClient:
		_ = c.ForEachMaster(ctx, func(ctx context.Context, server *redis.Client) error {
			ask(ctx, server, v)
			return nil
		})
	}
}

// ask exports what a primary says.
func ask(ctx context.Context, server *redis.Client, v values) {
	// Not all servers take several sections in one INFO.
	var memory, replication *redis.StringCmd
	_, err := server.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		memory, replication = pipe.Info(ctx, "memory"), pipe.Info(ctx, "replication")
		return nil
	})
	if err != nil {
		return
	}
	name, info := server.Options().Addr, fields(memory.Val()+"\n"+replication.Val(), "\n", ":")
	for key, d := range map[string]*prometheus.Desc{"used_memory": redisMemory, "maxmemory": redisMemoryLimit} {
		if n, err := strconv.ParseFloat(info[key], 64); err == nil {
			v.gauge(d, n, name)
		}
	}
	written, err := strconv.ParseFloat(info["master_repl_offset"], 64)
	if err != nil || info["role"] != "master" {
		return
	}
	online := 0
	for i := 0; info["slave"+strconv.Itoa(i)] != ""; i++ {
		replica := fields(info["slave"+strconv.Itoa(i)], ",", "=")
		if replica["state"] == "online" {
			online++
		}
		label := replica["ip"] + ":" + replica["port"]
		if confirmed, err := strconv.ParseFloat(replica["offset"], 64); err == nil {
			v.gauge(redisLag, max(written-confirmed, 0), name, label)
		}
		if silent, err := strconv.ParseFloat(replica["lag"], 64); err == nil {
			v.gauge(redisSilence, max(silent, 0), name, label)
		}
	}
	v.gauge(redisReplicas, float64(online), name)
}

// fields parses a list of fields and their values.
func fields(text, separator, equals string) map[string]string {
	found := map[string]string{}
	for field := range strings.SplitSeq(text, separator) {
		if name, value, ok := strings.Cut(strings.TrimSpace(field), equals); ok {
			found[name] = value
		}
	}
	return found
}

var (
	writesDone       = describe("frontpage_writes_total", "Votes, posts, edits, regroupings, deletions and undeletions of this process, by result.", "write", "result")
	changesReceived  = describe("frontpage_changes_received_total", "Changes of articles by all processes that were read in the log, while something was watched, by kind.", "kind")
	changesCoalesced = describe("frontpage_changes_coalesced_total", "Changes that joined an earlier one before the watches of their article were notified.")
	watchesNotified  = describe("frontpage_watches_notified_total", "Notifications of watches about a changed article.")
	articlesWatched  = describe("frontpage_articles_watched", "Different articles that subscriptions watch.")
	partitionsLost   = describe("frontpage_live_partitions_lost", "Partitions whose logs could not be looked at: live updates of their articles are late.")
)

// writes exports what a Repo has written, and how it follows the changes of all processes.
func writes(v values, repo *redisrepo.Repo) {
	w, s := &repo.Writes, repo.Live.WatchStats()
	for write, n := range map[string]*redisrepo.Writes{
		"vote": &w.Votes, "post": &w.Posts, "edit": &w.Edits, "regroup": &w.Regroupings, "delete": &w.Deletions, "undelete": &w.Undeletions,
	} {
		v.counter(writesDone, n.Done.Load(), write, "done")
		v.counter(writesDone, n.Refused.Load(), write, "refused")
		v.counter(writesDone, n.Failed.Load(), write, "failed")
		if write == "vote" {
			v.counter(writesDone, n.Unchanged.Load(), write, "unchanged")
		}
	}
	for kind, n := range s.Changes {
		v.counter(changesReceived, n, kind)
	}
	v.counter(changesCoalesced, s.Coalesced)
	v.counter(watchesNotified, s.Notified)
	v.gauge(articlesWatched, float64(s.Watched))
	v.gauge(partitionsLost, float64(s.Lost))
}

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

// holdings exports what an endpoint holds, and what it did besides answering operations.
func holdings(v values, h *endpoint.Handler) {
	s := h.Stats()
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

var (
	searchArticles = describe("frontpage_search_articles", "Articles in the index of search.")
	searchBytes    = describe("frontpage_search_index_bytes", "Memory that the index of search takes, about.")
	searchLag      = describe("frontpage_search_lag_seconds", "How long ago the index of search was last complete. Not exported until it is.")
)

// searchState exports the state of a process's search.
func searchState(v values, repo *redisrepo.Repo) {
	status := repo.Search.Status()
	v.gauge(searchArticles, float64(status.Articles))
	v.gauge(searchBytes, float64(status.Bytes))
	if status.Ready {
		v.gauge(searchLag, max(repo.Store.Now().Sub(status.Through), time.Duration(0)).Seconds())
	}
}

var (
	webhookTries       = describe("frontpage_webhook_tries_total", "Events that this process has sent to webhooks, by result: delivered or failed.", "result")
	webhookPaused      = describe("frontpage_webhook_paused", "1 if the webhook is paused, otherwise 0. Only the process that sends events exports it.", "webhook")
	webhookUndelivered = describe("frontpage_webhook_undelivered", "Events that the webhook did not get, and those that wait for them. Only the process that sends events exports it.", "webhook")
)

// FollowWebhooks exports the deliveries of a process to webhooks from now on.
func (m *Metrics) FollowWebhooks(sender *webhooks.Sender) {
	follow(m, webhookCounts, sender)
}

// webhookCounts exports what a process sends to webhooks.
func webhookCounts(v values, sender *webhooks.Sender) {
	s := sender.Stats()
	v.counter(webhookTries, s.Delivered, "delivered")
	v.counter(webhookTries, s.Failed, "failed")
	for id, state := range s.Endpoints {
		v.gauge(webhookPaused, number(state.Paused), id)
		v.gauge(webhookUndelivered, float64(state.Undelivered), id)
	}
}
