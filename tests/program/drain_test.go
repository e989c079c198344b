package program_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

func (s *server) signal() {
	s.t.Helper()
	require.NoError(s.t, s.Cmd.Process.Signal(syscall.SIGTERM))
}

// loadingRedis returns the URL of a Redis that replies to each command that it is loading its data, until loaded is
// called.
func loadingRedis(t *testing.T) (url string, loaded func()) {
	t.Helper()
	redis := redistest.Start(t)
	listener := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	var ready atomic.Bool
	serve := func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		from := bufio.NewReader(conn)
		for !ready.Load() {
			line, err := from.ReadString('\n')
			if err != nil {
				return
			}
			if strings.HasPrefix(line, "*") { // a command begins
				fmt.Fprint(conn, "-LOADING Redis is loading the dataset in memory\r\n")
			}
		}
	}
	pipe := func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		to, err := net.Dial("unix", redis.Socket())
		if err != nil {
			return
		}
		defer func() { _ = to.Close() }()
		go func() { _, _ = io.Copy(to, conn) }()
		_, _ = io.Copy(conn, to)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			switch {
			case err != nil:
				return
			case ready.Load():
				go pipe(conn)
			default:
				go serve(conn)
			}
		}
	}()
	return "redis://" + listener.Addr().String(), func() { ready.Store(true) }
}

func TestHealthIsAnsweredWhileTheStoreLoads(t *testing.T) {
	t.Parallel()
	url, loaded := loadingRedis(t)
	s := &server{programtest.Listen(t, "REDIS_URL="+url, "FRONTPAGE_CORS_ORIGINS=https://other.example"), t}
	if status, body := s.page("/healthz"); status != 200 || body != "ok\n" {
		t.Errorf("/healthz while the store loads: %d %q, want 200 ok", status, body)
	}
	if status, body := s.page("/readyz"); status != 503 || !strings.HasPrefix(body, "starting: ") {
		t.Errorf("/readyz while the store loads: %d %q, want 503 and that it is starting", status, body)
	}
	if status, body := s.page("/"); status != 503 || !strings.Contains(body, "starting") {
		t.Errorf("the site while the store loads: %d %q, want 503", status, body)
	}
	res, body := s.post(http.DefaultClient, "{ viewer { name } }", "Origin", "https://other.example", "Accept", "application/graphql-response+json")
	const want = `{"errors":[{"message":"the server is starting: try again","extensions":{"code":"UNAVAILABLE","retryAfterSeconds":1}}]}`
	if res.StatusCode != 503 || body != want || res.Header.Get("Retry-After") != "1" ||
		!strings.HasPrefix(res.Header.Get("Content-Type"), "application/graphql-response+json") || res.Header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("a query while the store loads: %d %s, header %v, want 503 %s with Retry-After", res.StatusCode, body, res.Header, want)
	}

	other := &server{programtest.Listen(t, "REDIS_URL="+url), t}
	if log := other.Stop(); !strings.Contains(log, "stopped before the store was loaded") {
		t.Errorf("SIGTERM while the store loads: the log is\n%s", log)
	}
	loaded()
	require.Eventually(s.t, "the store is loaded", func() bool { return s.status("/readyz") == 200 })
	s.useIt()
	s.Stop()
}

func TestDurationsInTheLogHaveAUnit(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://", "FRONTPAGE_LOG_FORMAT=json", "FRONTPAGE_SHUTDOWN_DELAY=1ms", "FRONTPAGE_DRAIN_TIME=90s")
	log := s.Stop()
	for _, want := range []string{`"shutdown_delay":"1ms"`, `"drain_time":"1m30s"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
}

// A terminal sends SIGHUP when it is closed, and operators do so to have a daemon read its files again.
func TestSIGHUPEndsNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	require.NoError(t, s.Cmd.Process.Signal(syscall.SIGHUP))
	s.useIt()
	if log := s.Stop(); !strings.Contains(log, "stopped") {
		t.Errorf("the log of a stop by SIGTERM after a SIGHUP: %s", log)
	}
}

func TestRequestsAreServedDuringShutdownDelay(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://", "FRONTPAGE_SHUTDOWN_DELAY=1h")
	before := s.socket("{ viewer { name } }")
	s.signal()
	require.Eventually(s.t, "/readyz is 503", func() bool { return s.status("/readyz") == 503 })
	if _, body := s.page("/readyz"); body != "stopping\n" {
		t.Errorf("/readyz: %q, want that the server is stopping", body)
	}
	res, body := s.whoAmI(http.DefaultClient, "X-User-ID", "alice")
	if body != isAlice || !res.Close {
		t.Errorf("a query: %s, connection closes: %v, want alice, and that it closes", body, res.Close)
	}
	_ = s.socket("{ viewer { name } }")
	if _, message, err := before.Read(t.Context()); err != nil || !strings.Contains(string(message), `"next"`) {
		t.Errorf("on the socket from before: %s, %v, want the answer", message, err)
	}
	if status := s.status("/healthz"); status != 200 {
		t.Errorf("/healthz: %d, want 200", status)
	}
	s.signal() // the second one ends the process
	err := s.Cmd.Wait()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("after a second signal: %v, want an end by it", err)
	}
}

// 45 sockets take more than four seconds. A request that was running before them may finish after them.
func TestSIGTERMEndsSocketsOneAfterAnotherAndLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://", "FRONTPAGE_DRAIN_TIME=1h")
	const sockets = 45
	var ends [sockets]time.Time
	var open sync.WaitGroup
	for i := range ends {
		conn := s.socket("subscription { articleChanged(ids: [1]) { votes } }")
		open.Go(func() {
			for {
				if _, _, err := conn.Read(t.Context()); err != nil {
					ends[i] = time.Now()
					if code := websocket.CloseStatus(err); code != websocket.StatusGoingAway {
						t.Errorf("socket %d ends with %v, want 1001", i, err)
					}
					return
				}
			}
		})
	}
	connection := require.Value(net.Dial("tcp", strings.TrimPrefix(s.URL, "http://")))(t)
	defer func() { _ = connection.Close() }()
	body, _ := json.Marshal(map[string]string{"query": postOne})
	// The server sends 100 once the handler reads the body, so the request is running.
	fmt.Fprintf(connection, "POST /query HTTP/1.1\r\nHost: localhost\r\nX-User-ID: alice\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	answers := bufio.NewReader(connection)
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("the response begins with %q (%v), want 100 Continue", line, err)
	}
	began := time.Now()
	s.signal()
	require.Eventually(s.t, "new connections are refused", func() bool {
		probe, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err == nil {
			_ = probe.Close()
		}
		return err != nil
	})
	open.Wait()
	late := 0
	for _, end := range ends {
		if end.Sub(began) > 2*time.Second {
			late++
		}
	}
	if late < sockets/2 {
		t.Errorf("%d of %d sockets were open for two seconds, want most of them", late, sockets)
	}
	require.Value(connection.Write(body))(t)
	if rest, err := io.ReadAll(answers); err != nil || !strings.Contains(string(rest), postedOne) {
		t.Errorf("the response to the running request is %q (%v), want %s", rest, err, postedOne)
	}
	s.Wait()
}
