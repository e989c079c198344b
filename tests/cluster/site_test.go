package cluster_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/store"
	"frontpage/redisrepo/wire"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// tags are those of the partitions of a site that has four. The number of an article is that of its partition, modulo
// four.
var tags = []string{"{p11}", "{p10}", "{p13}", "{p12}"}

// site is one process of a site.
type testSite struct {
	t          *testing.T
	repo       *redisrepo.Repo
	partitions int
	handler    http.Handler
	log        *sitetest.Log
}

// openSite opens the site in a store as the program does. Its requests get more time than a failover takes on a busy
// machine.
func openSite(t *testing.T, o store.Options, options ...redisrepo.Option) (*testSite, error) {
	t.Helper()
	s := &testSite{t: t, log: new(sitetest.Log)}
	log := s.log.Logger(slog.LevelInfo)
	o.Log = log
	opened, err := store.Open(t.Context(), o)
	if err != nil {
		return s, err
	}
	t.Cleanup(func() { _ = opened.Close() })
	failover.LimitWaiting(opened.Client)
	s.partitions = cmp.Or(opened.Partitions, len(tags))
	s.repo, err = redisrepo.New(t.Context(), opened.Client, site.DefaultRules(),
		append(options, redisrepo.WithPartitions(s.partitions), redisrepo.WithAcks(opened.Acks))...)
	if err != nil {
		return s, err
	}
	if err := wire.Join(t.Context(), opened.Client, wire.JoinWait); err != nil {
		return s, err
	}
	api := endpoint.DefaultOptions()
	api.Timeout = 10 * time.Second
	many := endpoint.Rate{Most: 1_000_000, Window: time.Hour}
	api.Rates = endpoint.Rates{Cost: many, Votes: many, Posts: many, Addresses: 1}
	api.Identity, err = identity.New(t.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName})
	s.handler = graph.NewHandler(s.repo, graph.Site{}, log, api)
	return s, err
}

// mustOpen fails the test if the site cannot be opened.
func mustOpen(t *testing.T, o store.Options, options ...redisrepo.Option) *testSite {
	t.Helper()
	return require.Value(openSite(t, o, options...))(t)
}

// answer is a response to one of the operations below.
type answer struct {
	Data struct {
		Vote, Post struct {
			Article    struct{ Number int }
			UserErrors []struct{ Code, Message string }
		}
		Article  *struct{ Title string }
		Articles []struct{ Number int }
	}
	Errors []struct {
		Message    string
		Extensions struct{ Code string }
	}
}

// code is the code of an error, or empty.
func (a answer) code() string {
	for _, e := range a.Errors {
		return e.Extensions.Code
	}
	for _, e := range append(a.Data.Vote.UserErrors, a.Data.Post.UserErrors...) {
		return e.Code
	}
	return ""
}

func (s *testSite) ask(user, query string) (a answer) { return s.askFrom("192.0.2.1", user, query) }

// askFrom sends an operation once, as a client with this address.
func (s *testSite) askFrom(address, user, query string) (a answer) {
	body, _ := json.Marshal(map[string]string{"query": query})
	request := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "/query", bytes.NewReader(body))
	request.RemoteAddr = address + ":1"
	request.Header.Set("Content-Type", "application/json")
	if user != "" {
		request.Header.Set("X-User-ID", user)
	}
	response := httptest.NewRecorder()
	s.handler.ServeHTTP(response, request)
	if err := json.Unmarshal(response.Body.Bytes(), &a); err != nil {
		s.t.Errorf("%s: got %s, want a GraphQL response", query, response.Body)
	}
	if code := a.code(); code != "" && code != "UNAVAILABLE" {
		s.t.Errorf("%s: got %s, want no error but UNAVAILABLE", query, response.Body)
	}
	return a
}

func voteUp(number int) string {
	return fmt.Sprintf(`mutation { vote(input: {article: %d, direction: UP}) { article { number } userErrors { code message } } }`, number)
}

func readArticle(number int) string { return fmt.Sprintf(`{ article(id: %d) { title } }`, number) }

func newPost(title string) string {
	return fmt.Sprintf(`mutation { post(input: {title: %q, link: "https://example.org/%s", idempotencyKey: %q}) { article { number } userErrors { code message } } }`,
		title, title, title)
}

// insist repeats an operation until it is acknowledged.
func (s *testSite) insist(user, query string) answer {
	for deadline := time.Now().Add(require.Timeout); ; {
		a := s.ask(user, query)
		if a.code() != "UNAVAILABLE" {
			return a
		}
		if time.Now().After(deadline) {
			s.t.Errorf("%s is not acknowledged within %v: %v", query, require.Timeout, a.Errors)
			return a
		}
	}
}

// post posts an article, and returns its number.
func (s *testSite) post(title string) int {
	return s.insist("poster", newPost(title)).Data.Post.Article.Number
}

// postEverywhere posts one article into each partition, and returns their numbers in the order of the partitions.
func (s *testSite) postEverywhere(title string) []int {
	numbers := make([]int, s.partitions)
	for i, missing := 0, s.partitions; missing > 0 && !s.t.Failed(); i++ {
		n := s.post(fmt.Sprint(title, i))
		if numbers[n%s.partitions] == 0 {
			missing--
		}
		numbers[n%s.partitions] = n
	}
	return numbers
}

// wantClean fails the test if check finds an inconsistency.
func (s *testSite) wantClean() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), require.Timeout)
	defer cancel()
	if _, err := check.Check(ctx, s.repo, func(violation string) { s.t.Errorf("check: %s", violation) }); err != nil {
		s.t.Errorf("check: %v", err)
	}
}

// load is clients that vote and post until stop, each operation until it is acknowledged.
type load struct {
	t       *testing.T
	sites   []*testSite
	name    string
	numbers []int // of the articles that are voted on
	ended   chan struct{}
	clients sync.WaitGroup

	mu       sync.Mutex
	votes    map[string]int // articles by voter
	posts    map[string]int // articles by title
	slowest  time.Duration  // that a client waited, until its operation was acknowledged
	progress chan struct{}  // closed with the next vote that is acknowledged
}

func startLoad(t *testing.T, sites ...*testSite) *load {
	t.Helper()
	name := strings.ReplaceAll(t.Name(), "/", "-")
	l := &load{t: t, sites: sites, name: name, numbers: sites[0].postEverywhere(name + "-voted"), ended: make(chan struct{}),
		votes: map[string]int{}, posts: map[string]int{}, progress: make(chan struct{})}
	for client := range 6 {
		l.clients.Go(func() { l.run(client) })
	}
	t.Cleanup(func() { l.stop() })
	l.more(50)
	return l
}

// run is one client. It does not try how much the servers can bear.
func (l *load) run(client int) {
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for i := 0; ; i++ {
		select {
		case <-pace.C:
		case <-l.ended:
			return
		}
		s, name, began := l.sites[i%len(l.sites)], fmt.Sprintf("%s-%d-%d", l.name, client, i), time.Now()
		if client == 0 {
			number := s.post(name)
			l.mu.Lock()
			l.slowest = max(l.slowest, time.Since(began))
			l.posts[name] = number
			l.mu.Unlock()
			continue
		}
		number := l.numbers[(client+i)%len(l.numbers)]
		if s.insist(name, voteUp(number)).code() != "" {
			return
		}
		l.mu.Lock()
		l.slowest = max(l.slowest, time.Since(began))
		l.votes[name] = number
		close(l.progress)
		l.progress = make(chan struct{})
		l.mu.Unlock()
	}
}

// more waits until each partition has n more votes.
func (l *load) more(n int) {
	l.t.Helper()
	late := time.After(require.Timeout)
	before := l.counts()
	for {
		l.mu.Lock()
		progress := l.progress
		l.mu.Unlock()
		enough := true
		for i, count := range l.counts() {
			enough = enough && count >= before[i]+n
		}
		if enough {
			return
		}
		select {
		case <-progress:
		case <-late:
			l.t.Fatalf("votes by partition: %v, and %v after %v; want %d more of each", before, l.counts(), require.Timeout, n)
		}
	}
}

// counts returns the number of votes in each partition.
func (l *load) counts() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := make([]int, len(l.numbers))
	for _, number := range l.votes {
		counts[number%len(l.numbers)]++
	}
	return counts
}

func (l *load) stop() {
	select {
	case <-l.ended:
	default:
		close(l.ended)
	}
	l.clients.Wait()
}

// verify ends the load. It fails the test unless the store has each vote and each post that was acknowledged, and each
// post once.
func (l *load) verify(client redis.UniversalClient, tags ...string) {
	l.t.Helper()
	l.stop()
	voted, titles := map[string]*redis.BoolCmd{}, map[string]*redis.StringCmd{}
	_, err := client.Pipelined(l.t.Context(), func(pipe redis.Pipeliner) error {
		for voter, number := range l.votes {
			voted[voter] = pipe.SIsMember(l.t.Context(), fmt.Sprint(tags[number%len(tags)], "voted:", number), "user:"+voter)
		}
		for title, number := range l.posts {
			titles[title] = pipe.HGet(l.t.Context(), fmt.Sprint(tags[number%len(tags)], "article:", number), "title")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		l.t.Fatal(err)
	}
	for voter, found := range voted {
		if !found.Val() {
			l.t.Errorf("the vote of %s on %d was acknowledged and is not stored", voter, l.votes[voter])
		}
	}
	owners := map[int]string{}
	for title, found := range titles {
		if found.Val() != title {
			l.t.Errorf("%s was acknowledged as %d, which is %q", title, l.posts[title], found.Val())
		}
		if other, twice := owners[l.posts[title]]; twice {
			l.t.Errorf("%s and %s are both %d", title, other, l.posts[title])
		}
		owners[l.posts[title]] = title
	}
	l.wantOnce(client, tags)
	l.t.Logf("%d votes and %d posts were acknowledged, the slowest after %v", len(voted), len(titles), l.slowest)
	l.sites[0].wantClean()
}

// wantOnce fails the test if a post is stored twice.
func (l *load) wantOnce(client redis.UniversalClient, tags []string) {
	l.t.Helper()
	times := map[string]int{}
	for _, tag := range tags {
		members := client.ZRange(l.t.Context(), tag+"time:", 0, -1).Val()
		titles := make([]*redis.StringCmd, len(members))
		_, err := client.Pipelined(l.t.Context(), func(pipe redis.Pipeliner) error {
			for i, member := range members {
				titles[i] = pipe.HGet(l.t.Context(), tag+member, "title")
			}
			return nil
		})
		if err != nil {
			l.t.Error(err)
		}
		for _, title := range titles {
			times[title.Val()]++
		}
	}
	for title, n := range times {
		if n > 1 {
			l.t.Errorf("%s is stored %d times", title, n)
		}
	}
}
