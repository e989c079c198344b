package program_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// maxOutageLines is how many lines an outage writes, at most, besides one a minute while it lasts.
const maxOutageLines = 5

// useUntil has clients read, vote, watch and ask for readiness until enough operations have failed, and then until each
// client has had an answer again, once restart was called.
func (s *server) useUntil(failures int, restart func()) {
	s.t.Helper()
	const clients = 8
	var failed atomic.Int64
	restarted := make(chan any)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for n := 0; ; n++ {
				if i == 0 {
					s.status("/readyz")
				}
				got := s.ask([]string{frontPage, `mutation { vote(input: {article: 1}) { changed } }`}[n%2])
				switch {
				case strings.Contains(got, `"code":"UNAVAILABLE"`):
					failed.Add(1)
				case !strings.Contains(got, `"errors"`):
					select {
					case <-restarted:
						return
					default:
					}
				}
				if failed.Load() > int64(failures) {
					select {
					case <-restarted:
					default:
						if i == 0 {
							restart()
							close(restarted)
						}
					}
				}
			}
		})
	}
	all.Wait()
}

// metric returns the value of a series.
func (s *server) metric(address, series string) float64 {
	s.t.Helper()
	res := require.Value(http.Get("http://" + address + "/metrics"))(s.t)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	_, rest, found := strings.Cut(string(text), "\n"+series+" ")
	line, _, _ := strings.Cut(rest, "\n")
	value, invalid := strconv.ParseFloat(line, 64)
	if err != nil || !found || invalid != nil {
		s.t.Fatalf("%s: no value (%v)", series, err)
	}
	return value
}

// linesOfOutage returns the warnings and errors, and that the outage is over, of the log after the start.
func linesOfOutage(log string) (lines []string) {
	_, log, _ = strings.Cut(log, "msg=serving")
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") || strings.Contains(line, "the store answers again") {
			lines = append(lines, line)
		}
	}
	return lines
}

// While the store is away, hundreds of operations fail, live updates are lost and /readyz is asked all the time. The
// log says that it began, and that it is over with the number of failures.
func TestOutageWritesFewLines(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(t *testing.T) *server{
		"of one's own Redis that is killed": func(t *testing.T) *server {
			redis := redistest.Start(t).Own()
			address := freeAddress(t)
			s := start(t, "REDIS_URL="+redis.URL(), "FRONTPAGE_ADMIN_ADDR="+address)
			s.useIt()
			s.events(`subscription { articlePosted { node { id } } }`)
			redis.Kill()
			s.useUntil(500, redis.Restart)
			failed := func(reason string) float64 {
				return s.metric(address, `frontpage_redis_errors_total{reason="`+reason+`"}`)
			}
			if refused, late := failed("connection"), failed("timeout"); refused <= late {
				t.Errorf("of the calls to a Redis that is gone %v count as connection and %v as timeout", refused, late)
			}
			return s
		},
		"of one's own Redis that hangs": func(t *testing.T) *server {
			redis := redistest.Start(t)
			s := start(t, "REDIS_URL=unix://"+redis.Socket(), "FRONTPAGE_REDIS_TIMEOUT=50ms")
			s.useIt()
			s.events(`subscription { articlePosted { node { id } } }`)
			redis.Pause()
			s.useUntil(100, redis.Resume)
			return s
		},
		"of the private Redis that keeps failing": func(t *testing.T) *server {
			s := start(t)
			s.useIt()
			kill := func() {
				out, err := exec.Command("pgrep", "-P", strconv.Itoa(s.Cmd.Process.Pid)).Output()
				if pid, errNumber := strconv.Atoi(strings.TrimSpace(string(out))); err == nil && errNumber == nil {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			broken := filepath.Join(s.Cmd.Dir, "data", "redis.log") // it cannot be opened: so the server cannot start
			require.NoError(t, os.Remove(broken))
			require.NoError(t, os.Mkdir(broken, 0o700))
			kill()
			s.useUntil(500, func() { _ = os.Remove(broken) })
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := run(t)
			s.AwaitLog("the store answers again")
			lines := linesOfOutage(s.Stop())
			text := strings.Join(lines, "")
			if len(lines) > maxOutageLines || strings.Count(text, `msg="the store does not answer"`) != 1 || strings.Count(text, `msg="the store answers again"`) != 1 {
				t.Errorf("got %d lines, want at most %d, among them one each that the store is away and back:\n%s", len(lines), maxOutageLines, text)
			}
			_, count, _ := strings.Cut(text, "failures=")
			if number, err := strconv.Atoi(strings.Fields(count + " ")[0]); err != nil || number < 1 {
				t.Errorf("the last line has no number of failures: %s", text)
			}
		})
	}
}
