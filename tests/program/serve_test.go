package program_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

const (
	postOne    = `mutation { post(input: {title: "t", text: "x"}) { article { id votes } } }`
	postedOne  = `{"data":{"post":{"article":{"id":"article:1","votes":1}}}}`
	voteOne    = `mutation { vote(input: {article: 1, direction: NONE}) { article { votes } changed } }`
	votedOne   = `{"data":{"vote":{"article":{"votes":0},"changed":true}}}`
	frontPage  = `{ articles { id votes viewerVote } }`
	frontPage1 = `{"data":{"articles":[{"id":"article:1","votes":0,"viewerVote":"NONE"}]}}`
)

// useIt posts, votes and reads, and checks the status of the other paths.
func (s *server) useIt() {
	s.t.Helper()
	for _, step := range [][2]string{{postOne, postedOne}, {voteOne, votedOne}, {frontPage, frontPage1}} {
		if got := s.ask(step[0]); got != step[1] {
			s.t.Errorf("%s\n got %s\nwant %s", step[0], got, step[1])
		}
	}
	for path, want := range map[string]int{"/": 200, "/healthz": 200, "/readyz": 200, "/nothing": 404} {
		if got := s.status(path); got != want {
			s.t.Errorf("%s: status %d, want %d", path, got, want)
		}
	}
}

func TestServesOnEachStore(t *testing.T) {
	t.Parallel()
	t.Run("private redis-server keeps its data", func(t *testing.T) {
		t.Parallel()
		data := filepath.Join(t.TempDir(), "data")
		s := start(t, "FRONTPAGE_DATA_DIR="+data)
		s.useIt()
		if log := s.Stop(); !strings.Contains(log, data) {
			t.Errorf("the log does not say where the data is:\n%s", log)
		}
		again := start(t, "FRONTPAGE_DATA_DIR="+data)
		if got := again.ask(frontPage); got != frontPage1 {
			t.Errorf("after a restart: %s, want %s", got, frontPage1)
		}
		again.Stop()
	})
	t.Run("Redis named by a URL", func(t *testing.T) {
		t.Parallel()
		s := start(t, "REDIS_URL="+redistest.Start(t).URL())
		s.useIt()
		s.Stop()
	})
	t.Run("memory, without a redis-server on PATH", func(t *testing.T) {
		t.Parallel()
		s := start(t, "PATH="+t.TempDir())
		s.useIt()
		if log := s.Stop(); !strings.Contains(log, "all data is in memory and lost") {
			t.Errorf("the log does not say that all data is lost at the end:\n%s", log)
		}
	})
}

// Without a redis-server, a site that is in use would start empty.
func TestNoSiteInUseStartsInMemoryByAccident(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(full, "appendonlydir"), 0o700))
	cert, key, _ := certificate(t)
	for why, env := range map[string][]string{
		"the data directory " + full + " is not empty": {"FRONTPAGE_DATA_DIR=" + full},
		"sign-in is configured":                        {"FRONTPAGE_JWT_SECRET=" + testSecret},
		"sign-in is configured: ":                      {"FRONTPAGE_PROXY_USER_HEADER=X-User", "FRONTPAGE_TRUSTED_PROXIES=10.0.0.1/32"},
		"FRONTPAGE_PUBLIC_URL is set":                  {"FRONTPAGE_PUBLIC_URL=https://news.example.org"},
		"FRONTPAGE_TLS_CERT_FILE is set":               {"FRONTPAGE_TLS_CERT_FILE=" + cert, "FRONTPAGE_TLS_KEY_FILE=" + key},
		"FRONTPAGE_ADDR is not a loopback address":     {"FRONTPAGE_ADDR=0.0.0.0:0", "FRONTPAGE_DEV_HOSTS=devbox"},
		// as deploy/frontpage.service sets it, at the first start and later
		"but sign-in":                          {"FRONTPAGE_ADDR=0.0.0.0:0", "FRONTPAGE_PUBLIC_URL=https://news.example.org", "FRONTPAGE_JWT_SECRET_FILE=" + fileOf(t, testSecret), "FRONTPAGE_DATA_DIR=" + t.TempDir()},
		"but the data directory " + full + " ": {"FRONTPAGE_ADDR=0.0.0.0:0", "FRONTPAGE_PUBLIC_URL=https://news.example.org", "FRONTPAGE_JWT_SECRET_FILE=" + fileOf(t, testSecret), "FRONTPAGE_DATA_DIR=" + full},
	} {
		_, log, code := programtest.Run(t, append(env, "PATH="+t.TempDir()))
		if code != 1 || strings.Contains(log, "serving") {
			t.Errorf("%v: exit code %d, want 1 before it serves; log:\n%s", env, code, log)
		}
		for _, part := range []string{why, "no redis-server or valkey-server is on PATH", "apt install redis-server", "set REDIS_URL (--redis-url) to", "memory://"} {
			if !strings.Contains(log, part) {
				t.Errorf("%v: the error lacks %q:\n%s", env, part, log)
			}
		}
		s := start(t, append(env, "PATH="+t.TempDir(), "REDIS_URL=memory://")...) // on purpose
		s.AwaitLog("all data is in memory and lost")
		s.Stop()
	}
}

func TestQueryStringUpToTheBodyLimitIsAccepted(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://")
	const limit = 131072
	query := "/query?query=%7B__typename%7D&x="
	for length, want := range map[int]int{limit: 200, limit + 1: 414} {
		if got := s.status(query + strings.Repeat("x", length-len(query)+len("/query?"))); got != want {
			t.Errorf("a query string of %d bytes: status %d, want %d", length, got, want)
		}
	}
	s.Stop()
}

func TestReadinessFollowsTheStore(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t).Own()
	s := start(t, "REDIS_URL="+redis.URL())
	s.useIt()
	redis.Kill()
	if ready, healthy := s.status("/readyz"), s.status("/healthz"); ready != 503 || healthy != 200 {
		t.Errorf("without Redis: /readyz has status %d, want 503; /healthz has %d, want 200", ready, healthy)
	}
	if got := s.ask(frontPage); !strings.Contains(got, `"code":"UNAVAILABLE"`) {
		t.Errorf("without Redis: %s, want UNAVAILABLE", got)
	}
	redis.Restart()
	if ready := s.status("/readyz"); ready != 200 {
		t.Errorf("with Redis again: /readyz has status %d, want 200", ready)
	}
	if got := s.ask(frontPage); got != frontPage1 {
		t.Errorf("with Redis again: %s, want %s", got, frontPage1)
	}
	require.NoError(t, redis.Client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	if status, body := s.page("/readyz"); status != 200 || !strings.Contains(body, "refuses writes") {
		t.Errorf("with full memory: /readyz has status %d and text %q, want 200 and that writes are refused", status, body)
	}
	if got := s.ask(frontPage); got != frontPage1 {
		t.Errorf("with full memory: %s, want %s", got, frontPage1)
	}
	s.Stop()
}

// A client that sends slowly loses its connection.
func TestSlowRequestIsCutOff(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://")
	var waiting []net.Conn
	for _, half := range []string{
		"POST /query HTTP/1.1\r\nHost: localhost\r\n",
		"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
	} {
		conn := require.Value(net.Dial("tcp", strings.TrimPrefix(s.URL, "http://")))(t)
		defer func() { _ = conn.Close() }()
		fmt.Fprint(conn, half)
		waiting = append(waiting, conn)
	}
	for i, conn := range waiting {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Minute)))
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("connection %d was not cut off: %v", i, err)
		}
	}
	s.Stop()
}

func TestPagesFeedsAndSitemapAreChargedToTheAddress(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://", "FRONTPAGE_RATES=cost=100/1h addresses=1")
	for _, path := range []string{"/", "/feed.atom", "/sitemap/0.xml"} {
		req := require.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil))(t)
		if res, body := s.do(http.DefaultClient, req); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" || len(body) > 1000 {
			t.Errorf("%s: got %d with %d bytes and %v, want 429", path, res.StatusCode, len(body), res.Header)
		}
	}
}

func TestStartEndsWithTheAddressToOpen(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"FRONTPAGE_SERVE=site,explorer":               "Open URL/\n",
		"FRONTPAGE_SERVE=explorer":                    "Open URL/graphiql\n",
		"FRONTPAGE_PUBLIC_URL=http://localhost:12345": "Open http://localhost:12345/\n",
		"FRONTPAGE_SERVE=off":                         "",
		"FRONTPAGE_LOG_LEVEL=info":                    "Open URL/\n",
	} {
		s := start(t, "REDIS_URL=memory://", env)
		want = strings.ReplaceAll(want, "URL", s.URL)
		s.AwaitLog(want)
		log := s.Stop()
		serving, open := strings.Index(log, "msg=serving "), strings.Index(log, "\nOpen ")
		if want != "" && open < serving || want == "" && open >= 0 {
			t.Errorf("%s: got another order or line:\n%s", env, log)
		}
	}
}

func TestCommandsSayWhereTheStoreIsAndNothingOfPowerCuts(t *testing.T) {
	t.Parallel()
	env := []string{"FRONTPAGE_DATA_DIR=" + t.TempDir()}
	s := start(t, append(env, "REDIS_URL=")...)
	if log := s.Stop(); !strings.Contains(log, "a power cut can lose the last second of writes") {
		t.Errorf("the start of the server does not say what a power cut does:\n%s", log)
	}
	if _, log, code := programtest.Run(t, env, "check"); code != 0 || !strings.Contains(log, "the store is a private ") || strings.Contains(log, "power cut") {
		t.Errorf("check: exit code %d:\n%s", code, log)
	}
}
