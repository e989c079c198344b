package benchmarks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

const (
	loadTime = 20 * time.Second
	samples  = 50 // watchers whose delays are measured

	ofAddress = 5000 // watchers; one address may not have many more
)

func TestMain(m *testing.M) { os.Exit(programtest.Main(m)) }

// BenchmarkWatchers opens WebSockets that each watch the 25 articles of a front page, casts votes for 20 seconds, and
// reports delays, messages, CPU and memory. A case is watchers/votes a second/partitions; those with 16 or 64 partitions are in
// a Redis Cluster. The server is a process of its own, on the same machine as the watchers and the voters. Run it with -benchtime 1x.
func BenchmarkWatchers(b *testing.B) {
	for _, load := range []watchLoad{
		{5000, 500, 16}, {5000, 500, 64}, {500, 500, 1}, {5000, 500, 1},
		{0, 10, 1}, {1000, 10, 1}, {5000, 10, 1}, {18_000, 10, 1}, // of 20,000 open files
	} {
		b.Run(fmt.Sprintf("%d/%d/%d", load.watchers, load.votesPerSecond, load.partitions), func(b *testing.B) {
			for b.Loop() {
				measureWatchers(b, load)
			}
		})
	}
}

type watchLoad struct{ watchers, votesPerSecond, partitions int }

func measureWatchers(b *testing.B, load watchLoad) {
	watchers := load.watchers
	var nodes []*redistest.Server
	var client redis.UniversalClient
	var url string
	if load.partitions == 1 {
		single := redistest.Start(b)
		nodes, client, url = append(nodes, single), single.Client, single.URL()
	} else {
		c := redistest.StartCluster(b)
		nodes, client, url = c.Nodes, c.Client, c.URL()
	}
	repo := require.Value(redisrepo.New(b.Context(), client, site.DefaultRules(), redisrepo.WithPartitions(load.partitions)))(b)
	server := programtest.Start(b, "REDIS_URL="+url, "GOMEMLIMIT=4GiB") // all subscriptions may take a quarter
	var ids []site.ArticleID
	for i := range 25 {
		link := fmt.Sprintf("https://example.org/%d", i)
		a := require.Value(repo.Post(b.Context(), "poster", site.Draft{Title: fmt.Sprint("An article of usual length, number ", i), Link: &link}))(b)
		ids = append(ids, a.ID)
	}
	pid := server.Cmd.Process.Pid
	before := memory(b, pid, "VmRSS")

	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	w := watching{shown: make([]map[site.ArticleID][]shown, min(watchers, samples))}
	var open sync.WaitGroup
	gate := make(chan struct{}, 64)
	for i := range watchers {
		gate <- struct{}{}
		conn := w.connect(ctx, b, server.URL, i/ofAddress, ids)
		<-gate
		open.Go(func() { w.read(ctx, conn, i) })
	}
	w.ready(b, repo, ids, watchers)
	idle := memory(b, pid, "VmRSS")
	if load.partitions > 1 {
		_ = client.Close() // from here on all connections are the server's
	}

	messagesBefore, cpu, began := w.messages.Load(), programtest.CPU(b, pid), time.Now()
	votes := vote(b, server.URL, ids, load.votesPerSecond)
	messages, used := w.messages.Load()-messagesBefore, programtest.CPU(b, pid)-cpu
	during := time.Since(began).Seconds() // longer than loadTime if the server cannot keep up
	loaded, most := memory(b, pid, "VmRSS"), memory(b, pid, "VmHWM")
	last := map[site.ArticleID]int{}
	for _, v := range votes {
		last[v.article] = max(last[v.article], v.votes)
	}
	w.await(b, last)
	cancel()
	open.Wait()

	delays := w.delays(votes)
	latencies := make([]time.Duration, len(votes))
	for i, v := range votes {
		latencies[i] = v.took
	}
	slices.Sort(latencies)
	percentile := func(of []time.Duration, p int) float64 {
		if len(of) == 0 {
			return 0
		}
		return float64(of[(len(of)-1)*p/100].Microseconds()) / 1000
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(votes))/during, "votes/s")
	b.ReportMetric(float64(messages)/during, "messages/s")
	b.ReportMetric(100*used.Seconds()/during, "CPU-%")
	if load.partitions > 1 {
		b.ReportMetric(float64(connections(b, nodes...)), "connections")
	}
	b.ReportMetric(percentile(delays, 50), "delay-p50-ms")
	b.ReportMetric(percentile(delays, 99), "delay-p99-ms")
	b.ReportMetric(percentile(latencies, 50), "vote-p50-ms")
	b.ReportMetric(percentile(latencies, 99), "vote-p99-ms")
	for name, kib := range map[string]int{"idle": idle, "loaded": loaded, "most": most} {
		b.ReportMetric(float64(kib-before)/float64(max(watchers, 1)), "KiB/watcher-"+name)
	}
	server.Stop()
}

// shown is one event of a watcher.
type shown struct {
	votes int
	at    time.Time
}

type watching struct {
	messages atomic.Int64
	mu       sync.Mutex
	shown    []map[site.ArticleID][]shown // of the first watchers
}

func (w *watching) connect(ctx context.Context, b *testing.B, url string, address int, ids []site.ArticleID) *websocket.Conn {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+address))}}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
	conn, _, err := websocket.Dial(ctx, url+"/query", &websocket.DialOptions{HTTPClient: client, Subprotocols: []string{"graphql-transport-ws"}})
	require.NoError(b, err)
	payload := require.Value(json.Marshal(map[string]any{
		"query":     `subscription Watch($ids: [ID!]!) { articleChanged(ids: $ids) { id votes score upvotes downvotes } }`,
		"variables": map[string]any{"ids": ids},
	}))(b)
	for _, message := range []string{`{"type":"connection_init"}`, `{"type":"subscribe","id":"1","payload":` + string(payload) + `}`} {
		require.NoError(b, conn.Write(ctx, websocket.MessageText, []byte(message)))
	}
	return conn
}

// read counts messages, and decodes those of the first watchers.
func (w *watching) read(ctx context.Context, conn *websocket.Conn, number int) {
	for {
		_, from, err := conn.Reader(ctx)
		if err != nil {
			return
		}
		if number >= len(w.shown) {
			_, _ = io.Copy(io.Discard, from)
			w.messages.Add(1)
			continue
		}
		var m struct {
			Payload struct {
				Data struct {
					ArticleChanged struct {
						ID    string
						Votes int
					}
				}
			}
		}
		if json.NewDecoder(from).Decode(&m) != nil {
			return
		}
		_, _ = io.Copy(io.Discard, from)
		w.messages.Add(1)
		id, err := site.ParseArticleID(m.Payload.Data.ArticleChanged.ID)
		if err != nil {
			continue // the acknowledgement
		}
		w.mu.Lock()
		if w.shown[number] == nil {
			w.shown[number] = map[site.ArticleID][]shown{}
		}
		w.shown[number][id] = append(w.shown[number][id], shown{m.Payload.Data.ArticleChanged.Votes, time.Now()})
		w.mu.Unlock()
	}
}

// ready waits until every watcher has an event of every article.
func (w *watching) ready(b *testing.B, repo *redisrepo.Repo, ids []site.ArticleID, watchers int) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	late := time.After(10 * time.Minute)
	for voter := 0; w.messages.Load() < int64(watchers*(1+len(ids))); voter++ {
		for _, id := range ids {
			require.Value(repo.Vote(b.Context(), id, site.UserName(fmt.Sprint("first", voter)), site.Up, ""))(b)
		}
		select {
		case <-tick.C:
		case <-late:
			b.Fatal("the watchers get no events")
		}
	}
	<-tick.C
}

// await waits until the measured watchers have seen the last votes.
func (w *watching) await(b *testing.B, last map[site.ArticleID]int) {
	late := time.Now().Add(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		done := true
		w.mu.Lock()
		for _, of := range w.shown {
			for id, votes := range last {
				states := of[id]
				done = done && len(states) > 0 && states[len(states)-1].votes == votes
			}
		}
		w.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(late) {
			b.Fatal("the watchers do not get the last votes")
		}
	}
}

// delays are the times from a vote's reply to the first event that has it.
func (w *watching) delays(votes []voted) []time.Duration {
	var all []time.Duration
	for _, of := range w.shown {
		for _, v := range votes {
			states := of[v.article]
			i, _ := slices.BinarySearchFunc(states, v.votes, func(s shown, votes int) int { return s.votes - votes })
			all = append(all, states[i].at.Sub(v.at))
		}
	}
	slices.Sort(all)
	return all
}

// voted is a vote and its reply.
type voted struct {
	article site.ArticleID
	votes   int
	at      time.Time // of the reply
	took    time.Duration
}

// vote sends votes at an even pace, each by another user.
func vote(b *testing.B, url string, ids []site.ArticleID, votesPerSecond int) []voted {
	const connections = 16
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
	jobs := make(chan int, votesPerSecond)
	var mu sync.Mutex
	var done []voted
	var workers sync.WaitGroup
	for range connections {
		workers.Go(func() {
			for i := range jobs {
				id := ids[i%len(ids)]
				began := time.Now()
				votes, err := voteOnce(client, url, id, fmt.Sprint("voter", i))
				now := time.Now()
				if err != nil {
					b.Error(err)
					continue
				}
				mu.Lock()
				done = append(done, voted{id, votes, now, now.Sub(began)})
				mu.Unlock()
			}
		})
	}
	began := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	all := votesPerSecond * int(loadTime.Seconds())
	for sent := 0; sent < all; {
		<-tick.C
		for due := min(all, int(time.Since(began).Seconds()*float64(votesPerSecond))); sent < due; sent++ {
			jobs <- sent
		}
	}
	close(jobs)
	workers.Wait()
	return done
}

func voteOnce(client *http.Client, url string, id site.ArticleID, user string) (int, error) {
	body := fmt.Sprintf(`{"query":"mutation Vote($id: ID!) { vote(input: {article: $id}) { article { votes } } }","variables":{"id":%d}}`, id)
	req, err := http.NewRequest(http.MethodPost, url+"/query", bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-User-ID", user)
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var answer struct {
		Data struct {
			Vote struct{ Article struct{ Votes int } }
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Data.Vote.Article.Votes == 0 {
		return 0, fmt.Errorf("response to a vote: %+v, want the votes of the article (%w)", answer, err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return answer.Data.Vote.Article.Votes, nil
}

// memory reads a line of the process' status, KiB.
func memory(b *testing.B, pid int, line string) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatalf("memory is measured on Linux only: %v", err)
	}
	for text := range strings.Lines(string(status)) {
		var kib int
		if n, _ := fmt.Sscanf(text, line+": %d kB", &kib); n == 1 {
			return kib
		}
	}
	b.Fatalf("/proc/%d/status has no line %s", pid, line)
	return 0
}
