package costs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontpage/tests/programtest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// The secret of tokens, and a quota that no test uses up.
const (
	secret = "a secret of the tests that has enough bytes"
	quota  = 1_000_000_000
)

// meter measures requests to a site.
type meter struct {
	t      testing.TB
	url    string
	server int // ids of processes
	redis  int
	client *http.Client

	body      []byte // of the last response
	tooCostly bool   // whether it said that the request would cost more than one may
}

func newMeter(t testing.TB, env ...string) *meter {
	t.Helper()
	_, url, redis := store(t)
	cmd := programtest.Command(t, append([]string{
		"REDIS_URL=" + url, "FRONTPAGE_JWT_SECRET=" + secret, "FRONTPAGE_CALENDAR=groups", "FRONTPAGE_PUBLIC_LOG=true",
		"FRONTPAGE_SHARED_ANSWERS=0", fmt.Sprintf("FRONTPAGE_RATES=off cost=%d/1h addresses=1", quota),
	}, env...))
	if *binary != "" {
		cmd.Path = *binary
	}
	s := programtest.StartCommand(t, cmd)
	return &meter{t: t, url: s.URL, server: s.Cmd.Process.Pid, redis: redis, client: from("127.0.0.1")}
}

// from returns a client with an address of this machine.
func from(address string) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64}}
}

// request is a request whose cost is measured.
type request struct {
	name string
	path string // of a page; empty: the query
	query
	user  string // whose token it has; empty: none
	roles string
}

// query is a GraphQL request.
type query struct {
	Query     string         `json:"query"`
	Variables map[string]any `json:"variables,omitempty"`
}

func (r request) of(t testing.TB, url string) *http.Request {
	t.Helper()
	method, path, body := http.MethodGet, r.path, ""
	if path == "" {
		method, path, body = http.MethodPost, "/query", string(require.Value(json.Marshal(r.query))(t))
	}
	req := require.Value(http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body)))(t)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.user != "" {
		claims := fmt.Sprintf(`{"sub":%q,"roles":[%q],"exp":%s}`, r.user, r.roles, sitetest.UnixIn(time.Hour))
		req.Header.Set("Authorization", "Bearer "+sitetest.SignToken(sitetest.HeaderHS, claims, secret))
	}
	return req
}

// send sends a request, and returns the status, the body's size and how many points its address has left.
func (m *meter) send(r request) (status, size, left int) {
	m.t.Helper()
	res := require.Value(m.client.Do(r.of(m.t, m.url)))(m.t)
	defer func() { _ = res.Body.Close() }()
	m.body = require.Value(io.ReadAll(res.Body))(m.t)
	m.tooCostly = bytes.Contains(m.body, []byte("COMPLEXITY_LIMIT_EXCEEDED"))
	if _, after, ok := strings.Cut(res.Header.Get("RateLimit"), `"cost-address";r=`); ok {
		number, _, _ := strings.Cut(after, ";")
		left = require.Value(strconv.Atoi(number))(m.t)
	}
	return res.StatusCode, len(m.body), left
}

// left returns how many points the address has left. That costs a point.
func (m *meter) left() int {
	m.t.Helper()
	_, _, left := m.send(request{query: query{Query: "{__typename}"}})
	return left
}

// cost is what a request takes.
type cost struct {
	status, size, points int
	server, redis        time.Duration // of CPU
}

func (c cost) perMillisecond() float64 {
	return float64(c.points) / (float64(c.server+c.redis) / float64(time.Millisecond))
}

func (c cost) String() string {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return fmt.Sprintf("%d %8d B %7d points %8.2f ms server %8.2f ms redis %7.1f points/ms", c.status, c.size, c.points, ms(c.server), ms(c.redis), c.perMillisecond())
}

// measure measures requests that next makes, on average.
func (m *meter) measure(times int, next func(i int) request) (c cost) {
	m.t.Helper()
	before, server, redis := m.left(), programtest.CPU(m.t, m.server), programtest.CPU(m.t, m.redis)
	for i := range times {
		c.status, c.size, _ = m.send(next(i))
	}
	c.server, c.redis = (programtest.CPU(m.t, m.server)-server)/time.Duration(times), (programtest.CPU(m.t, m.redis)-redis)/time.Duration(times)
	c.points = (before - m.left() - 1) / times
	return c
}
