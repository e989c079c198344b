// Package sitetest serves a site for a test, and sends it requests over HTTP, event streams and WebSockets.
package sitetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/redisrepo"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/secretbox"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/store"
	"frontpage/redisrepo/webhooks"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// Start is the first time of a site's clock, which only Advance moves.
var Start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Site is a running server and its store.
type Site struct {
	T      *testing.T
	Client redis.UniversalClient
	URL    string
	Log    *Log
	clock  *atomic.Int64 // Unix seconds
	Trips  *Trips

	Handler *endpoint.Handler
	Repo    *redisrepo.Repo
	Voters  atomic.Int64 // number of users that VoteUp has invented

	StopListening func() // ends Listen, so that only requests send commands; there are no events after it
}

// EachStore runs a test on a Redis server and on the in-memory store.
func EachStore(t *testing.T, test func(*testing.T, *Site)) {
	t.Helper()
	EachClient(t, func(t *testing.T, client redis.UniversalClient) {
		test(t, New(t, client, site.DefaultRules()))
	})
}

// EachClient runs test with a client of an empty Redis, and with one of a store in memory.
func EachClient(t *testing.T, test func(*testing.T, redis.UniversalClient)) {
	t.Helper()
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.Start(t).Client)
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		s := require.Value(store.Open(t.Context(), store.Options{URL: "memory://", Timeout: time.Minute, Log: slog.New(slog.DiscardHandler)}))(t)
		t.Cleanup(func() { _ = s.Close() })
		test(t, s.Client)
	})
}

// Open starts a site with the default rules on an empty Redis.
func Open(t *testing.T, change ...func(*endpoint.Options)) *Site {
	t.Helper()
	return New(t, redistest.Start(t).Client, site.DefaultRules(), change...)
}

// New starts a site that stores its data through client. Each change edits the options of the endpoint.
func New(t *testing.T, client redis.UniversalClient, rules site.Rules, change ...func(*endpoint.Options)) *Site {
	t.Helper()
	return NewOn(t, func(*http.Server) {}, client, rules, change...)
}

// NewOn is like New, and lets configure change the settings of the HTTP server.
func NewOn(t *testing.T, configure func(*http.Server), client redis.UniversalClient, rules site.Rules, change ...func(*endpoint.Options)) *Site {
	t.Helper()
	return newSite(t, configure, client, graph.Site{}, rules, nil, change...)
}

// NewAbout is like New, for a site with its own contact, or with a public log.
func NewAbout(t *testing.T, client redis.UniversalClient, about graph.Site, rules site.Rules) *Site {
	t.Helper()
	return newSite(t, func(*http.Server) {}, client, about, rules, nil)
}

// NewWith is like New, for a repo with an option.
func NewWith(t *testing.T, client redis.UniversalClient, rules site.Rules, option redisrepo.Option, change ...func(*endpoint.Options)) *Site {
	t.Helper()
	return newSite(t, func(*http.Server) {}, client, graph.Site{}, rules, []redisrepo.Option{option}, change...)
}

func newSite(t *testing.T, configure func(*http.Server), client redis.UniversalClient, about graph.Site, rules site.Rules, with []redisrepo.Option, change ...func(*endpoint.Options)) *Site {
	t.Helper()
	options := endpoint.DefaultOptions()
	options.Timeout = require.Timeout
	options.SharedAnswers = 0 // most tests expect each change of the store at once, and the reads of each query
	for _, f := range change {
		f(&options)
	}
	if options.Identity == nil {
		options.Identity = require.Value(identity.New(t.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName}))(t)
	}
	s := &Site{T: t, Client: client, Log: &Log{}, clock: &atomic.Int64{}, Trips: &Trips{listening: make(chan struct{}, 1)}}
	s.clock.Store(Start.Unix())
	now := func() time.Time { return time.Unix(s.clock.Load(), 0) }
	box := require.Value(secretbox.New("the secret of the sites of all tests"))(t)
	repo := require.Value(redisrepo.New(t.Context(), client, rules, append(with, redisrepo.WithClock(now), redisrepo.WithReports(reports.Options{Box: box}), redisrepo.WithWebhooks(webhooks.Options{Box: box}))...))(t)
	client.AddHook(s.Trips)
	s.Repo = repo
	about.Version, about.SignIn = "test", graph.ByName
	s.Handler = graph.NewHandler(repo, about, s.Log.Logger(slog.LevelDebug), options)
	server := httptest.NewUnstartedServer(s.Handler)
	server.Config.MaxHeaderBytes = 8 << 20 // so that large headers reach the handler, which refuses them
	server.Config.WriteTimeout = time.Minute
	configure(server.Config)
	server.Start()
	listening, stopListening := context.WithCancel(context.WithValue(context.Background(), listenKey{}, s.Trips))
	var background sync.WaitGroup
	background.Go(func() { repo.Live.Listen(listening, func(error) {}) })
	s.StopListening = func() {
		stopListening()
		background.Wait()
	}
	t.Cleanup(func() {
		limit, cancel := context.WithTimeout(context.Background(), require.Timeout)
		defer cancel()
		if err := s.Handler.Shutdown(limit, 0); err != nil {
			t.Errorf("streams are still open: %v", err)
		}
		server.Close()
		s.StopListening()
	})
	select {
	case <-s.Trips.listening:
	case <-time.After(require.Timeout):
		t.Fatal("Listen did not subscribe in time")
	}
	s.URL = server.URL
	return s
}

// Advance moves the site's clock forward.
func (s *Site) Advance(d time.Duration) { s.clock.Add(int64(d / time.Second)) }

// Error is an error of a response.
type Error struct {
	Message    string
	Path       []any
	Extensions struct {
		Code           string
		Asked, Allowed int
	}
}

// Answer is a GraphQL response.
type Answer struct {
	Data   map[string]any
	Errors []Error
}

// Ask runs one operation as user; an empty user is anonymous. vars holds pairs of name and value.
func (s *Site) Ask(user, query string, vars ...any) Answer {
	s.T.Helper()
	var a Answer
	if body := s.AskText(user, query, vars...); json.Unmarshal([]byte(body), &a) != nil {
		s.T.Fatalf("%s: got %s, want a GraphQL response", query, body)
	}
	return a
}

// AskText is like Ask, but returns the text of the response.
func (s *Site) AskText(user, query string, vars ...any) string {
	s.T.Helper()
	variables := map[string]any{}
	for i := 0; i < len(vars); i += 2 {
		variables[vars[i].(string)] = vars[i+1]
	}
	var header []string
	if user != "" {
		header = []string{"X-User-ID", user}
	}
	_, text := s.PostJSON(string(require.Value(json.Marshal(map[string]any{"query": query, "variables": variables}))(s.T)), header...)
	return text
}

// AddHeaders adds pairs of name and value.
func AddHeaders(to http.Header, pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		to.Add(pair[0], pair[1])
	}
}

// try sends any request, and returns the response with its whole body.
func (s *Site) try(by http.RoundTripper, method, target, body string, header ...string) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(s.T.Context(), method, s.URL+target, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	AddHeaders(req.Header, header...)
	res, err := by.RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return res, string(text), err
}

// Send sends any request. header holds pairs of name and value.
func (s *Site) Send(method, target, body string, header ...string) (*http.Response, string) {
	s.T.Helper()
	res, text, err := s.try(http.DefaultTransport, method, target, body, header...)
	require.NoError(s.T, err)
	return res, text
}

// Get sends a query by GET.
func (s *Site) Get(query string, header ...string) (*http.Response, string) {
	s.T.Helper()
	return s.Send(http.MethodGet, "?query="+url.QueryEscape(query), "", header...)
}

// PostJSON sends a body by POST.
func (s *Site) PostJSON(body string, header ...string) (*http.Response, string) {
	s.T.Helper()
	return s.Send(http.MethodPost, "", body, append(header, "Content-Type", "application/json")...)
}

// PostQuery posts a query without variables, and returns the body of the response.
func (s *Site) PostQuery(query string, header ...string) string {
	s.T.Helper()
	_, body := s.PostJSON(string(require.Value(json.Marshal(map[string]string{"query": query}))(s.T)), header...)
	return body
}

// CodeOf returns the code of the first error of a response, or "" if it has no errors.
func CodeOf(t *testing.T, body string) string {
	t.Helper()
	var a Answer
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatalf("want a GraphQL response: %v, got %.200s", err, body)
	}
	if len(a.Errors) == 0 {
		return ""
	}
	return a.Errors[0].Extensions.Code
}

// Want runs an operation, and fails the test unless the response has this data, a JSON object, and no errors.
func (s *Site) Want(user, query, data string, vars ...any) {
	s.T.Helper()
	a := s.Ask(user, query, vars...)
	var want map[string]any
	if err := json.Unmarshal([]byte(data), &want); err != nil {
		s.T.Fatalf("bad JSON in the test: %v\n%s", err, data)
	}
	if len(a.Errors) > 0 || !reflect.DeepEqual(a.Data, want) {
		got, _ := json.Marshal(a.Data)
		s.T.Errorf("%s\n got %s %v\nwant %s", query, got, a.Errors, data)
	}
}

// Post posts an article with a title as user, and returns its id.
func (s *Site) Post(user, title string, groups ...string) string {
	s.T.Helper()
	a := s.Ask(user, `mutation($t: String!, $g: [String!]!) { post(input: {title: $t, text: "x", groups: $g}) { article { id } userErrors { message } } }`,
		"t", title, "g", append([]string{}, groups...))
	payload, _ := a.Data["post"].(map[string]any)
	article, _ := payload["article"].(map[string]any)
	id, _ := article["id"].(string)
	if id == "" {
		s.T.Fatalf("post %q: got %v, want an article", title, a)
	}
	return id
}

// PostMany posts n articles with the titles "article 0" and so on.
func (s *Site) PostMany(user string, n int, groups ...string) {
	s.T.Helper()
	for i := range n {
		s.Post(user, fmt.Sprint("article ", i), groups...)
	}
}

// WantNoLog fails the test if anything was logged, such as an error of a client.
func (s *Site) WantNoLog() {
	s.T.Helper()
	if log := s.Log.String(); log != "" {
		s.T.Errorf("got log %.500s, want nothing logged", log)
	}
}

// Vote votes as user; a refusal fails the test.
func (s *Site) Vote(user, id, direction string) {
	s.T.Helper()
	a := s.Ask(user, `mutation($a: ID!, $d: VoteDirection!) { vote(input: {article: $a, direction: $d}) { userErrors { message } } }`, "a", id, "d", direction)
	payload, _ := a.Data["vote"].(map[string]any)
	if broken, _ := payload["userErrors"].([]any); len(a.Errors) > 0 || len(broken) > 0 {
		s.T.Fatalf("vote %s on %s: got %v, want no errors", direction, id, a)
	}
}

// Trips counts round trips to Redis and their commands, except for the handshakes of new connections and messages to other
// processes. Those of Listen are counted apart, without its read of the epoch once a second.
type Trips struct {
	listening chan struct{} // has a value once a command of Listen has succeeded
	mu        sync.Mutex
	count     int
	commands  []string
	heard     []string // the commands of Listen
}

// listenKey marks the context of Listen.
type listenKey struct{}

// Reset drops the commands counted so far.
func (c *Trips) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count, c.commands, c.heard = 0, nil, nil
}

func (c *Trips) add(ctx context.Context, commands ...redis.Cmder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if redistest.IsAside(commands[0]) {
		return
	}
	names := &c.heard
	if ctx.Value(listenKey{}) == nil {
		names = &c.commands
		c.count++
	} else if fmt.Sprint(commands[0].Args()) == "[hmget meta: epoch cursor_key uuid]" { // of each second
		return
	}
	for _, command := range commands {
		*names = append(*names, strings.ToLower(command.Name()))
	}
}

// Read returns the number of round trips since Reset, and the names of their commands.
func (c *Trips) Read() (int, []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count, c.commands
}

// Listened returns the names of the commands that Listen has sent since Reset.
func (c *Trips) Listened() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.heard)
}

// DialHook implements redis.Hook.
func (c *Trips) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (c *Trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		c.add(ctx, command)
		err := next(ctx, command)
		if of, _ := ctx.Value(listenKey{}).(*Trips); of == c && err == nil {
			select {
			case c.listening <- struct{}{}:
			default:
			}
		}
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (c *Trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		c.add(ctx, commands...)
		return next(ctx, commands)
	}
}

// Log is a buffer of log lines that a test may read while the server writes to it.
type Log struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *Log) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *Log) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// Logger returns a log that writes to b in the form of slog.TextHandler.
func (b *Log) Logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level}))
}

// Tally counts equal commands, for example "hgetall 25, zrange 1".
func Tally(commands []string) string {
	numbers := map[string]int{}
	for _, name := range commands {
		numbers[name]++
	}
	var counts []string
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		counts = append(counts, fmt.Sprint(name, " ", numbers[name]))
	}
	return strings.Join(counts, ", ")
}
