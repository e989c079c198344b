package metrics_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/search"
	"frontpage/redisrepo/secretbox"
	"frontpage/redisrepo/site"
	stored "frontpage/redisrepo/webhooks"
	"frontpage/telemetry/metrics"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
	"frontpage/webhooks"
)

// gate is a hook that holds some commands until it opens.
type gate struct {
	mu      sync.Mutex
	command string
	closed  chan struct{}
}

// close holds the commands of this name until the function that it returns is called.
func (g *gate) close(command string) (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	closed := make(chan struct{})
	g.command, g.closed = command, closed
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.command = ""
		close(closed)
	}
}

func (g *gate) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	g.mu.Lock()
	held, closed := commands[0].Name() == g.command, g.closed
	g.mu.Unlock()
	if held {
		<-closed
	}
	return send(ctx, commands)
}

// observed is a site, and its metrics.
type observed struct {
	*sitetest.Site
	redis    *redistest.Server
	port     string // of redis
	gate     *gate
	metrics  *metrics.Metrics
	moved    map[string]bool   // names of the metrics that moved as they were expected to
	exported map[string]string // see families
}

const poolSize = 8

func start(t *testing.T) *observed {
	t.Helper()
	port := redistest.UnusedPort(t)
	server := require.Value(redistest.Open("--port", port, "--bind", "127.0.0.1"))(t)
	t.Cleanup(server.Close)
	client := redis.NewClient(&redis.Options{
		Network: "unix", Addr: server.Socket(), ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second,
		ReadTimeout: 5 * time.Second, PoolSize: poolSize, PoolTimeout: time.Second,
	})
	t.Cleanup(func() { _ = client.Close() })
	o := &observed{redis: server, port: port, gate: &gate{}, moved: map[string]bool{}, exported: map[string]string{}}
	client.AddHook(redistest.Hook(o.gate.hook))
	o.metrics = metrics.New(slog.New(slog.DiscardHandler), metrics.Build{Version: "v1.2.3", Commit: "abc", Go: "go1", Layout: "1"}, []string{"Known"})
	o.Site = sitetest.NewWith(t, client, site.DefaultRules(), redisrepo.WithSearch(search.Options{Titles: true, Memory: 1 << 20}), func(options *endpoint.Options) {
		options.SharedAnswers, options.MaxConcurrent = time.Minute, 4
		options.Rates = endpoint.Rates{Posts: endpoint.Rate{Most: 2, Window: time.Hour}, Addresses: 1}
		options.Observers = []endpoint.Observer{o.metrics.Observer()}
	})
	o.metrics.FollowStore(client, o.Repo)
	o.metrics.FollowEndpoint(o.Handler)
	return o
}

// scrape returns the values of all series.
func (o *observed) scrape() (series map[string]float64) {
	to := httptest.NewRecorder()
	o.metrics.ServeHTTP(to, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	series = map[string]float64{}
	for line := range strings.Lines(to.Body.String()) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if ok {
			name += "}"
		} else {
			name, value, ok = strings.Cut(name, " ")
		}
		if number, err := strconv.ParseFloat(value, 64); ok && err == nil {
			series[name] = number
		}
	}
	maps.Copy(o.exported, families(to.Body.String()))
	return series
}

var change = regexp.MustCompile(`^(\S+) ([+-]|>)([\d.]+)$`)

// moves runs do, and checks that each of the series changes as it should: by a number, or by more than a number.
func (o *observed) moves(what string, do func(), want ...string) {
	o.T.Helper()
	before := o.scrape()
	do()
	wrong := func() (problems []string) {
		now := o.scrape()
		for _, each := range want {
			m := change.FindStringSubmatch(each)
			if m == nil {
				o.T.Fatalf("%q does not say what should change", each)
			}
			number := require.Value(strconv.ParseFloat(m[3], 64))(o.T)
			if m[2] == "-" {
				number = -number
			}
			got := now[m[1]] - before[m[1]]
			if m[2] == ">" && got <= number || m[2] != ">" && got != number {
				problems = append(problems, fmt.Sprintf("%s: changed by %v, want %s%s", m[1], got, m[2], m[3]))
			}
		}
		return problems
	}
	deadline := time.Now().Add(require.Timeout)
	for len(wrong()) > 0 && time.Now().Before(deadline) {
		<-time.After(10 * time.Millisecond)
	}
	for _, problem := range wrong() {
		o.T.Errorf("%s: %s", what, problem)
	}
	for _, each := range want {
		if strings.HasSuffix(each, " +0") {
			continue
		}
		name, _, _ := strings.Cut(strings.Fields(each)[0], "{")
		for _, suffix := range []string{"_count", "_sum"} {
			if strings.Contains(name, "_duration_") {
				name = strings.TrimSuffix(name, suffix)
			}
		}
		o.moved[name] = true
	}
}

// Each metric of docs/metrics.md changes when what it counts happens, and none is exported that is not there.
func TestDocumentedMetricsMove(t *testing.T) {
	t.Parallel()
	o := start(t)
	var first, second string
	o.moves("a post", func() { first = o.Post("alice", "One", "go") },
		`frontpage_operations_total{code="OK",kind="mutation",operation="unnamed"} +1`,
		`frontpage_operation_duration_seconds_count{kind="mutation",operation="unnamed"} +1`,
		`frontpage_answers_total{source="executed"} +1`, `frontpage_response_bytes_total{transport="http"} >50`,
		`frontpage_writes_total{result="done",write="post"} +1`,
		`frontpage_cache_entries{cache="documents"} +1`, `frontpage_cache_bytes{cache="documents"} >100`, `frontpage_cache_entries{cache="requests"} +1`,
		`frontpage_redis_round_trip_duration_seconds_count{type="command"} >1`, `frontpage_redis_commands_total >1`,
		`frontpage_redis_pool_hits_total{pool="commands"} >1`)
	o.moves("equal queries", func() {
		for range 3 {
			o.AskText("", `query Front { articles { title } }`)
		}
	}, `frontpage_operations_total{code="OK",kind="query",operation="Front"} +3`, `frontpage_answers_total{source="executed"} +1`,
		`frontpage_answers_total{source="shared"} +2`, `frontpage_cache_entries{cache="answers"} +1`,
		`frontpage_redis_round_trip_duration_seconds_count{type="pipeline"} >0`)
	o.moves("an invalid document", func() { o.AskText("", `{`) },
		`frontpage_operations_total{code="GRAPHQL_PARSE_FAILED",kind="unknown",operation="unnamed"} +1`, `frontpage_answers_total{source="refused"} +1`)
	o.moves("votes", func() {
		o.Vote("bob", first, "UP")
		o.Vote("bob", first, "UP")
		o.AskText("bob", `mutation { vote(input: {article: "article:999", direction: UP}) { changed } }`)
	}, `frontpage_writes_total{result="done",write="vote"} +1`, `frontpage_writes_total{result="unchanged",write="vote"} +1`,
		`frontpage_writes_total{result="refused",write="vote"} +1`)
	o.moves("changes of an article", func() {
		second = o.Post("alice", "Two")
		o.AskText("alice", fmt.Sprintf(`mutation { regroup(input: {article: %q, add: ["go"]}) { article { id } } }`, second))
		o.AskText("alice", fmt.Sprintf(`mutation { editArticle(input: {article: %q, title: "Too"}) { article { id } } }`, second))
		o.AskText("alice", fmt.Sprintf(`mutation { deleteArticle(input: {article: %q}) { deletedId } }`, second))
		id, _ := site.ParseArticleID(second)
		if _, err := o.Repo.Undelete(t.Context(), id, site.Actor{Name: "mod", Moderator: true}); err != nil {
			t.Error(err)
		}
	}, `frontpage_writes_total{result="done",write="regroup"} +1`, `frontpage_writes_total{result="done",write="edit"} +1`, `frontpage_writes_total{result="done",write="delete"} +1`,
		`frontpage_writes_total{result="done",write="undelete"} +1`)
	o.moves("a post over the rate limit", func() {
		o.AskText("alice", `mutation { post(input: {title: "Three", text: "x", groups: []}) { article { id } } }`)
	}, `frontpage_rate_refusals_total{rule="posts",subject="user"} +1`, `frontpage_rate_refusals_total{rule="posts",subject="address"} +1`,
		`frontpage_writes_total{result="done",write="post"} +0`)

	o.liveMetricsMove(first)
	o.overloadMetricsMove()
	o.poolMetricsMove()
	o.webhookMetricsMove(first)
	o.searchMetricsMove()
	o.storeMetricsMove(first)

	now := o.scrape()
	for series, want := range map[string]float64{
		`frontpage_build_info{commit="abc",go="go1",layout="1",version="v1.2.3"}`: 1,
		`frontpage_operations_limit`: 4, `frontpage_stream_memory_limit_bytes`: float64(endpoint.DefaultStreamLimits().Memory),
	} {
		if now[series] != want {
			t.Errorf("%s is %v, want %v", series, now[series], want)
		}
		name, _, _ := strings.Cut(series, "{")
		o.moved[name] = true
	}
	exported, documented := o.exported, documentedFamilies(t)
	for name, want := range documented {
		if exported[name] != want {
			t.Errorf("%s is documented as %s, and exported as %s", name, want, exported[name])
		}
		if !o.moved[name] {
			t.Errorf("%s is documented, and did not move in this test", name)
		}
	}
	for name := range exported {
		if _, ok := documented[name]; !ok {
			t.Errorf("%s is exported, and not documented", name)
		}
	}
}

// webhookMetricsMove adds an endpoint that fails once, and then wants no more events.
func (o *observed) webhookMetricsMove(id string) {
	var requests atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(map[int64]int{1: http.StatusOK, 2: http.StatusGone}[requests.Add(1)])
	}))
	o.T.Cleanup(receiver.Close)
	repo := require.Value(redisrepo.New(o.T.Context(), o.Client, site.DefaultRules(), redisrepo.WithWebhooks(stored.Options{
		Box: require.Value(secretbox.New("0123456789abcdef0123456789abcdef"))(o.T), Origins: []string{receiver.URL},
	})))(o.T)
	sender := webhooks.New(repo, webhooks.Options{Pause: time.Millisecond})
	o.metrics.FollowWebhooks(sender)
	e, _, err := repo.Webhooks.AddWebhook(o.T.Context(), receiver.URL, nil, site.Actor{Name: "mod", Moderator: true})
	require.NoError(o.T, err)
	ctx, stop := context.WithCancel(o.T.Context())
	done := make(chan struct{})
	go func() { defer close(done); sender.Follow(ctx, func(error) {}) }()
	defer func() { stop(); <-done }()
	label := fmt.Sprintf(`{webhook=%q}`, e.ID())
	o.moves("an event that arrives", func() { o.VoteUp(id) }, `frontpage_webhook_tries_total{result="delivered"} +1`)
	o.moves("an event that does not", func() { o.VoteUp(id) }, `frontpage_webhook_tries_total{result="failed"} +1`, `frontpage_webhook_paused`+label+` +1`, `frontpage_webhook_undelivered`+label+` +1`)
}

// searchMetricsMove builds the index of search, and lets time pass.
func (o *observed) searchMetricsMove() {
	ctx, stop := context.WithCancel(o.T.Context())
	done := make(chan struct{})
	o.moves("the index of search", func() {
		go func() { defer close(done); o.Repo.Search.Follow(ctx, func(int, int) {}, func(error) {}) }()
		require.Eventually(o.T, "search is ready", func() bool { return o.Repo.Search.Status().Ready })
	}, `frontpage_search_articles >0`, `frontpage_search_index_bytes >100`)
	stop()
	<-done
	o.moves("time without changes of the index", func() { o.Advance(3 * time.Second) }, `frontpage_search_lag_seconds +3`)
}

// liveMetricsMove watches an article.
func (o *observed) liveMetricsMove(id string) {
	watch := fmt.Sprintf(`subscription Watch { articleChanged(ids: [%q]) { votes } }`, id)
	var stream *sitetest.Stream
	var socket *sitetest.Socket
	o.moves("subscriptions", func() {
		stream, socket = o.Stream(watch), o.Socket("")
		stream.Comment()
		socket.Subscribe("a", watch, "")
	}, `frontpage_streams{transport="sse"} +1`, `frontpage_streams{transport="websocket"} +1`, `frontpage_subscriptions +2`, `frontpage_watched +2`,
		`frontpage_articles_watched +1`, `frontpage_stream_memory_bytes >1000`,
		`frontpage_operations_total{code="OK",kind="subscription",operation="Watch"} +2`)
	o.moves("a vote on a watched article", func() {
		o.VoteUp(id)
		stream.Votes()
		socket.Read()
	}, `frontpage_events_sent_total{transport="sse"} +1`, `frontpage_events_sent_total{transport="websocket"} +1`, `frontpage_event_bytes_total{transport="sse"} >10`,
		`frontpage_event_bytes_total{transport="websocket"} >10`, `frontpage_events_made_total{source="executed"} +1`, `frontpage_events_made_total{source="shared"} +1`,
		`frontpage_watches_notified_total >1`, `frontpage_changes_received_total{kind="voted"} +1`, `frontpage_cache_entries{cache="events"} +1`)
	o.moves("votes in a row", func() {
		for range 20 {
			o.VoteUp(id)
		}
	}, `frontpage_changes_coalesced_total >0`)
}

// overloadMetricsMove holds more queries than may run.
func (o *observed) overloadMetricsMove() {
	open := o.gate.close("zrange")
	var queries sync.WaitGroup
	stop := make(chan struct{})
	o.moves("more queries than may run", func() {
		for i := range 8 {
			queries.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
						o.AskText("", fmt.Sprintf(`query Many { articles(page: %d) { id } }`, 1+10*n+i))
					}
				}
			})
		}
	}, `frontpage_operations_running{kind="query"} +3`, `frontpage_operations_waiting{kind="query"} >0`, `frontpage_operations_shed_total{kind="query"} >2`,
		`frontpage_operations_total{code="UNAVAILABLE",kind="query",operation="Many"} >2`)
	close(stop)
	open()
	queries.Wait()
	o.moves("more names than are kept", func() {
		for i := range 150 {
			o.AskText("", fmt.Sprintf(`query N%d { __typename }`, i))
		}
		o.AskText("", `query Known { __typename }`)
	}, `frontpage_operations_total{code="OK",kind="query",operation="other"} >40`, `frontpage_operations_total{code="OK",kind="query",operation="Known"} +1`)
}

// poolMetricsMove takes all connections.
func (o *observed) poolMetricsMove() {
	client := o.Client.(*redis.Client)
	var taken []*redis.Conn
	o.moves("taking all connections", func() {
		for range poolSize {
			conn := client.Conn()
			require.NoError(o.T, conn.Ping(o.T.Context()).Err())
			taken = append(taken, conn)
		}
		_ = client.Ping(o.T.Context())
	}, `frontpage_redis_pool_connections{pool="commands",state="busy"} +8`, `frontpage_redis_pool_misses_total{pool="commands"} >1`,
		`frontpage_redis_pool_timeouts_total{pool="commands"} +1`, `frontpage_redis_errors_total{reason="pool"} +1`, `frontpage_redis_dials_total{result="ok"} >1`)
	o.moves("waiting for a connection", func() {
		var waits sync.WaitGroup
		waits.Go(func() { _ = client.Ping(o.T.Context()) })
		require.Eventually(o.T, "a waiting call", func() bool { return client.PoolStats().PendingRequests > 0 })
		for _, conn := range taken {
			_ = conn.Close()
		}
		waits.Wait()
	}, `frontpage_redis_pool_wait_seconds_total{pool="commands"} >0`)
	o.moves("failed calls", func() {
		_ = client.Do(o.T.Context(), "no-such-command")
		cancelled, cancel := context.WithCancel(o.T.Context())
		cancel()
		_ = client.Ping(cancelled)
	}, `frontpage_redis_errors_total{reason="reply"} +1`, `frontpage_redis_errors_total{reason="cancelled"} +1`)
}

// storeMetricsMove gives Redis a replica, fills it, and takes it away.
func (o *observed) storeMetricsMove(id string) {
	t := o.T
	server := fmt.Sprintf(`{server=%q`, o.redis.Socket())
	args := []string{"--replicaof", "127.0.0.1 " + o.port, "--port", redistest.UnusedPort(t), "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"}
	replica := require.Value(redistest.Open(args...))(t)
	t.Cleanup(replica.Close)
	o.moves("a replica", func() {}, `frontpage_redis_replicas`+server+`} +1`)
	now := o.scrape()
	var lag string
	for series := range now {
		if strings.HasPrefix(series, "frontpage_redis_replication_lag_bytes") {
			lag = strings.TrimPrefix(series, "frontpage_redis_replication_lag_bytes")
		}
	}
	o.moves("a replica that hangs, and a large value", func() {
		replica.Pause()
		require.NoError(t, o.redis.Client.Set(t.Context(), "large", strings.Repeat("x", 4<<20), 0).Err())
	}, `frontpage_redis_replication_lag_bytes`+lag+` >4000000`, `frontpage_redis_replication_silence_seconds`+lag+` >1`, `frontpage_redis_memory_bytes`+server+`} >4000000`)
	replica.Resume()
	o.moves("full memory", func() {
		require.NoError(t, o.redis.Client.ConfigSet(t.Context(), "maxmemory", "1000000").Err())
		o.AskText("carol", fmt.Sprintf(`mutation { vote(input: {article: %q, direction: UP}) { changed } }`, id))
	}, `frontpage_redis_memory_limit_bytes`+server+`} +1000000`, `frontpage_store_writable -1`, `frontpage_store_up +0`, `frontpage_writes_total{result="failed",write="vote"} +1`)
	o.redis.Pause()
	o.moves("a Redis that hangs", func() {
		limited, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_ = o.Client.Ping(limited)
	}, `frontpage_redis_errors_total{reason="timeout"} >0`)
	o.redis.Resume()
	require.Eventually(t, "the store to answer", func() bool {
		now := o.scrape()
		return now["frontpage_store_up"] == 1 && now["frontpage_live_partitions_lost"] == 0
	})
	o.moves("a Redis that is gone", o.redis.Kill, `frontpage_store_up -1`, `frontpage_live_partitions_lost +1`, `frontpage_redis_pool_subscriptions -1`,
		`frontpage_redis_dials_total{result="failed"} >0`, `frontpage_redis_errors_total{reason="connection"} >0`)
}

var (
	typeLine = regexp.MustCompile(`^# TYPE (frontpage_\S+) (\S+)`)
	label    = regexp.MustCompile(`[{,]([a-z]+)="`)
)

// families returns the type and the labels of each metric of a scrape.
func families(text string) map[string]string {
	found := map[string]string{}
	name, kind := "", ""
	for line := range strings.Lines(text) {
		if m := typeLine.FindStringSubmatch(line); m != nil {
			name, kind = m[1], m[2]
			continue
		}
		if name == "" || !strings.HasPrefix(line, name) {
			continue
		}
		labels := map[string]bool{}
		for _, m := range label.FindAllStringSubmatch(line, -1) {
			if m[1] != "le" {
				labels[m[1]] = true
			}
		}
		found[name] = kind + " " + strings.Join(slices.Sorted(maps.Keys(labels)), " ")
	}
	return found
}

var (
	row  = regexp.MustCompile("^\\| `(frontpage_[a-z_]+)` \\| (\\w+) \\|([^|]*)\\|")
	code = regexp.MustCompile("`([a-z]+)`")
)

// documentedFamilies returns the type and the labels of each metric of docs/metrics.md.
func documentedFamilies(t *testing.T) map[string]string {
	t.Helper()
	document := require.Value(os.ReadFile("../../docs/metrics.md"))(t)
	found := map[string]string{}
	for line := range strings.Lines(string(document)) {
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var labels []string
		for _, name := range code.FindAllStringSubmatch(m[3], -1) {
			labels = append(labels, name[1])
		}
		slices.Sort(labels)
		found[m[1]] = m[2] + " " + strings.Join(labels, " ")
	}
	if len(found) < 30 {
		t.Fatalf("docs/metrics.md has %d metrics, want at least 30", len(found))
	}
	return found
}
