package benchmarks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

const (
	rounds     = 5
	perRound   = 200 // requests
	inCluster  = 20_000
	askClients = 8 // that send requests at a time
)

// pageFields are those of an article on a page.
const pageFields = `id title link score votes createdAt poster { name }`

// BenchmarkPartitions measures requests to sites of 20,000 articles in 1, 16 and 64 partitions. Each is in a Redis Cluster of three
// primaries that have a replica each, which confirms writes. It reports the CPU of the server and of all six Redis processes, minus
// their idle CPU, and the commands of the primaries, including those that scripts run. The sites take turns, so that a busy machine
// slows down all of them. The median of the rounds is reported.
func BenchmarkPartitions(b *testing.B) {
	var sites []*clusterSite
	for _, n := range []int{1, 16, 64} {
		sites = append(sites, startClusterSite(b, n))
	}
	for _, kind := range []struct {
		name string
		body func(s *clusterSite, n int) string
	}{
		{"page", func(*clusterSite, int) string { return `{ articles { ` + pageFields + ` } }` }},
		{"cursor", func(s *clusterSite, _ int) string {
			return fmt.Sprintf(`{ articlesConnection(first: 25, after: %q) { nodes { %s } pageInfo { hasNextPage endCursor } } }`, s.cursor, pageFields)
		}},
		{"group", func(*clusterSite, int) string {
			return `{ group(name: "fifth") { articlesConnection(first: 25) { nodes { ` + pageFields + ` } pageInfo { hasNextPage endCursor } } } }`
		}},
		{"vote", func(_ *clusterSite, n int) string {
			return fmt.Sprintf(`mutation { vote(input: {article: %d}) { changed } }`, inCluster-n%100)
		}},
		{"post", func(_ *clusterSite, n int) string {
			return fmt.Sprintf(`mutation { post(input: {title: "An article of usual length", link: "https://example.com/%d"}) { article { id } } }`, n)
		}},
	} {
		for _, s := range sites {
			s.rest(b)
		}
		used := make([][]usage, len(sites))
		for range rounds {
			for i, s := range sites {
				used[i] = append(used[i], s.measure(b, func(n int) string { return kind.body(s, n) }))
			}
		}
		for i, s := range sites {
			b.Run(fmt.Sprint(s.partitions, "/", kind.name), func(b *testing.B) {
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(used[i], func(u usage) float64 { return u.server }), "server-µs/op")
				b.ReportMetric(median(used[i], func(u usage) float64 { return u.redis }), "redis-µs/op")
				b.ReportMetric(median(used[i], func(u usage) float64 { return u.commands }), "commands/op")
			})
		}
	}
}

// usage is what requests take: CPU in microseconds, and commands.
type usage struct{ server, redis, commands float64 }

func median(of []usage, number func(usage) float64) float64 {
	numbers := site.Collect(of, number)
	slices.Sort(numbers)
	return numbers[len(numbers)/2]
}

// clusterSite is a site in a cluster of its own, and its server.
type clusterSite struct {
	partitions int
	cluster    *redistest.Cluster
	server     *programtest.Server
	client     *http.Client
	idle       usage  // a second
	cursor     string // after the first 100 articles
	asked      int
}

func startClusterSite(b *testing.B, partitions int) *clusterSite {
	b.Helper()
	c := redistest.StartCluster(b)
	repo := require.Value(redisrepo.New(b.Context(), c.Client, site.DefaultRules(), redisrepo.WithPartitions(partitions)))(b)
	importArticles(b, repo, inCluster)
	s := &clusterSite{partitions: partitions, cluster: c, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: askClients}},
		server: programtest.Start(b, "REDIS_URL="+c.URL()+"?read_timeout=5s", "FRONTPAGE_SHARED_ANSWERS=0")}
	var first struct {
		Data struct {
			ArticlesConnection struct{ PageInfo struct{ EndCursor string } }
		}
	}
	require.NoError(b, json.Unmarshal(s.ask(b, `{ articlesConnection(first: 100) { pageInfo { endCursor } } }`), &first))
	s.cursor = first.Data.ArticlesConnection.PageInfo.EndCursor
	return s
}

// rest measures the idle CPU of the processes, without requests.
func (s *clusterSite) rest(b *testing.B) {
	b.Helper()
	before, began := s.used(b), time.Now()
	<-time.After(2 * time.Second)
	s.idle = before.until(s.used(b), time.Since(began).Seconds())
}

// until returns what was used since u, divided by a number.
func (u usage) until(now usage, by float64) usage {
	return usage{(now.server - u.server) / by, (now.redis - u.redis) / by, (now.commands - u.commands) / by}
}

// used is what the processes have used since they began.
func (s *clusterSite) used(b *testing.B) (u usage) {
	b.Helper()
	u.server = float64(programtest.CPU(b, s.server.Cmd.Process.Pid).Nanoseconds()) / 1000
	for _, node := range s.cluster.Nodes {
		u.redis += float64(programtest.CPU(b, node.Process().Pid).Nanoseconds()) / 1000
		if info := node.Client.Info(b.Context(), "replication", "commandstats").Val(); strings.Contains(info, "role:master") {
			u.commands += commands(info)
		}
	}
	return u
}

// commands returns the number of commands in INFO commandstats, without those of this benchmark and of replicas.
func commands(info string) (n float64) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if !strings.HasPrefix(name, "cmdstat_") || name == "cmdstat_info" || name == "cmdstat_replconf" {
			continue
		}
		calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		count, _ := strconv.Atoi(calls)
		n += float64(count)
	}
	return n
}

// measure sends requests, and returns what each used.
func (s *clusterSite) measure(b *testing.B, body func(n int) string) usage {
	b.Helper()
	s.ask(b, body(s.asked)) // builds listings
	before, began := s.used(b), time.Now()
	var all sync.WaitGroup
	for i := range askClients {
		first := s.asked + 1 + i
		all.Go(func() {
			for n := range perRound / askClients {
				s.ask(b, body(first+n*askClients))
			}
		})
	}
	all.Wait()
	s.asked += 1 + perRound
	each, idle := before.until(s.used(b), perRound), time.Since(began).Seconds()/perRound
	return usage{each.server - s.idle.server*idle, each.redis - s.idle.redis*idle, each.commands - s.idle.commands*idle}
}

// ask sends a request of another user each time, and returns the response.
func (s *clusterSite) ask(b *testing.B, query string) []byte {
	body, _ := json.Marshal(map[string]string{"query": query})
	req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, s.server.URL+"/query", bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-User-ID", fmt.Sprint("user", time.Now().UnixNano()))
	res, err := s.client.Do(req)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || bytes.Contains(text, []byte(`"errors"`)) || bytes.Contains(text, []byte(`null}`)) {
		b.Errorf("%s: got %s, %v", query, text, err)
	}
	return text
}

// connections returns how many connections of the server the busiest of some Redis has. The other clients use sockets of files.
func connections(tb testing.TB, nodes ...*redistest.Server) (most int) {
	tb.Helper()
	for _, node := range nodes {
		n := 0
		for line := range strings.Lines(require.Value(node.Client.ClientList(tb.Context()).Result())(tb)) {
			if !strings.Contains(line, "flags=U") && !strings.Contains(line, "flags=S") && !strings.Contains(line, "flags=M") {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
