package program_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// freeAddress returns an address of the loopback interface on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", redistest.UnusedPort(t))
}

// proxy is HAProxy with the configuration of deploy/haproxy.cfg.
type proxy struct {
	t       *testing.T
	url     string
	servers [2]string // addresses
	control string    // a socket for commands
}

func startProxy(t *testing.T) *proxy {
	t.Helper()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program = "/usr/sbin/haproxy" // not on the PATH of every user
	}
	text := require.Value(os.ReadFile("../../deploy/haproxy.cfg"))(t)
	folder := require.Value(os.MkdirTemp("", "haproxy-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	p := &proxy{t: t, servers: [2]string{freeAddress(t), freeAddress(t)}, control: filepath.Join(folder, "control")}
	address := freeAddress(t)
	p.url = "http://" + address
	config := string(text)
	for from, to := range map[string]string{"bind :80\n": "bind " + address + "\n", "127.0.0.1:8081": p.servers[0], "127.0.0.1:8082": p.servers[1]} {
		if !strings.Contains(config, from) {
			t.Fatalf("deploy/haproxy.cfg does not contain %q", from)
		}
		config = strings.Replace(config, from, to, 1)
	}
	config = "global\n\tstats socket " + p.control + "\n" + config
	file := filepath.Join(folder, "haproxy.cfg")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	cmd := exec.CommandContext(t.Context(), program, "-db", "-f", file)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatalf("haproxy, a package of Debian, is needed: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return p
}

// up returns whether HAProxy sends requests to a server, by its number.
func (p *proxy) up(server int) bool {
	conn, err := net.Dial("unix", p.control)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprint(conn, "show stat\n")
	text, err := io.ReadAll(conn)
	if err != nil {
		return false
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if values := strings.Split(line, ","); len(values) > 37 && values[0] == "frontpage" && values[1] == string("ab"[server]) {
			return values[17] == "UP" && values[36] == "L7OK" // status, and that of the latest check
		}
	}
	return false
}

// watcher is a client that watches an article, and connects again at once when the server closes its socket.
type watcher struct {
	closed, back []time.Time
	votes        atomic.Int64 // of the article, in the latest event of this connection; -1 before the first
}

// run watches until ctx ends. It calls begun after its first connection, and reports what no client should see.
func (w *watcher) run(ctx context.Context, url string, begun func(), report func(string, ...any)) {
	for {
		w.votes.Store(-1)
		conn, _, err := websocket.Dial(ctx, url+"/query", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
		if err == nil {
			for _, message := range []string{`{"type":"connection_init"}`, `{"type":"subscribe","id":"1","payload":{"query":"subscription { articleChanged(ids: [1]) { votes } }"}}`} {
				err = errors.Join(err, conn.Write(ctx, websocket.MessageText, []byte(message)))
			}
		}
		if err == nil {
			_, _, err = conn.Read(ctx) // connection_ack
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			report("connect: %v", err)
			return
		case begun != nil:
			begun()
			begun = nil
		default:
			w.back = append(w.back, time.Now())
		}
		for err == nil {
			var message []byte
			if _, message, err = conn.Read(ctx); err == nil {
				var event struct {
					Payload struct {
						Data struct{ ArticleChanged struct{ Votes int64 } }
					}
				}
				if json.Unmarshal(message, &event) == nil {
					w.votes.Store(event.Payload.Data.ArticleChanged.Votes)
				}
			}
		}
		_ = conn.CloseNow()
		if ctx.Err() != nil {
			return
		}
		w.closed = append(w.closed, time.Now())
		if code := websocket.CloseStatus(err); code != websocket.StatusGoingAway {
			report("a socket ends with %v, want 1001", err)
		}
	}
}

// load sends 200 requests a second until ctx ends, and reports each that fails. It returns how many were answered.
func load(ctx context.Context, url string, report func(string, ...any)) int64 {
	var answered atomic.Int64
	var clients sync.WaitGroup
	for i := range 20 {
		clients.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				query := `{ articles { id votes viewerVote } }`
				if n%2 == 0 {
					query = fmt.Sprintf(`mutation { vote(input: {article: 1, direction: %s}) { userErrors { code } } }`, []string{"UP", "NONE"}[n/2%2])
				}
				body, _ := json.Marshal(map[string]string{"query": query})
				req, err := http.NewRequest(http.MethodPost, url+"/query", bytes.NewReader(body))
				if err != nil {
					report("%v", err)
					return
				}
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Authorization", "Bearer "+tokenFor(fmt.Sprintf("user%d", i)))
				res, err := client.Do(req)
				if err != nil {
					report("%v", err)
					continue
				}
				answer, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if err != nil || res.StatusCode != http.StatusOK || bytes.Contains(answer, []byte(`rrors":[{`)) {
					report("status %d, %s, %v", res.StatusCode, answer, err)
					continue
				}
				answered.Add(1)
			}
		})
	}
	clients.Wait()
	return answered.Load()
}

// Two processes behind HAProxy are restarted, one after the other, under 200 requests a second and with 100 sockets. No
// request fails, and each socket is back after it was closed; the sockets of a process are not all closed at once.
func TestRollingRestartBehindAProxyLosesNoRequest(t *testing.T) {
	t.Parallel()
	const sockets = 100
	redis, p := redistest.Start(t), startProxy(t)
	env := []string{"REDIS_URL=" + redis.URL(), "FRONTPAGE_JWT_SECRET=" + testSecret, "FRONTPAGE_SHUTDOWN_DELAY=2s", "FRONTPAGE_DRAIN_TIME=3s", "FRONTPAGE_TRUSTED_PROXIES=127.0.0.1/32",
		"FRONTPAGE_RATES=votes=off cost=off", "FRONTPAGE_REDIS_TIMEOUT=2s"}
	begin := func(i int) *server {
		s := start(t, append(env, "FRONTPAGE_ADDR="+p.servers[i])...)
		require.Eventually(s.t, "HAProxy sends it requests", func() bool { return p.up(i) })
		return s
	}
	servers := []*server{begin(0), begin(1)}
	site := &server{&programtest.Server{URL: p.url}, t}
	if _, body := site.post(http.DefaultClient, postOne, "Authorization", "Bearer "+tokenFor("poster")); body != postedOne {
		t.Fatalf("post: %s", body)
	}
	report := func(format string, args ...any) { t.Errorf(format, args...) }
	loading, endLoad := context.WithCancel(t.Context())
	watching, endWatch := context.WithCancel(t.Context())
	defer endLoad()
	defer endWatch()
	var clients, begun sync.WaitGroup
	watchers := make([]watcher, sockets)
	begun.Add(sockets)
	for i := range watchers {
		clients.Go(func() { watchers[i].run(watching, p.url, begun.Done, report) })
	}
	var answered int64
	clients.Go(func() { answered = load(loading, p.url, report) })
	begun.Wait()
	for i := range servers {
		servers[i].signal()
		servers[i].Wait()
		servers[i] = begin(i)
	}
	require.Eventually(site.t, "each watcher has an event on its new connection", func() bool {
		for i := range watchers {
			if watchers[i].votes.Load() < 0 {
				return false
			}
		}
		return true
	})
	endLoad()
	require.Eventually(site.t, "each watcher has the latest votes", func() bool {
		_, body := site.post(http.DefaultClient, `{ article(id: 1) { votes } }`)
		for i := range watchers {
			if body != fmt.Sprintf(`{"data":{"article":{"votes":%d}}}`, watchers[i].votes.Load()) {
				return false
			}
		}
		return true
	})
	endWatch()
	clients.Wait()
	var closed []time.Time
	away := time.Duration(0)
	for i := range watchers {
		w := &watchers[i]
		if len(w.closed) == 0 || len(w.back) != len(w.closed) {
			t.Errorf("socket %d was closed %d times and came back %d times", i, len(w.closed), len(w.back))
			continue
		}
		closed = append(closed, w.closed...)
		for n := range w.closed {
			away = max(away, w.back[n].Sub(w.closed[n]))
		}
	}
	slices.SortFunc(closed, time.Time.Compare)
	fullest := 0 // half second
	for i := range closed {
		n := 0
		for _, other := range closed[i:] {
			if other.Sub(closed[i]) < 500*time.Millisecond {
				n++
			}
		}
		fullest = max(fullest, n)
	}
	if fullest > len(closed)/2 {
		t.Errorf("%d of %d sockets were closed within half a second, want them spread", fullest, len(closed))
	}
	t.Logf("%d requests answered; %d sockets closed, at most %d within half a second, each back within %v", answered, len(closed), fullest, away)
	for _, s := range servers {
		s.Stop()
	}
}
