// Package programtest runs the built program for a test, as an operator runs it.
//
// A test package that uses it needs
//
//	func TestMain(m *testing.M) { os.Exit(programtest.Main(m)) }
//
// so that the built file is removed at the end.
package programtest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"frontpage/tests/require"
)

const commandTimeout = 30 * time.Minute // for a program that hangs

// Full reports whether tests run at full size, because FULL is set.
var Full = os.Getenv("FULL") != ""

// Size returns full if Full, otherwise small. A test gets smaller instead of being skipped.
func Size[T any](small, full T) T {
	if Full {
		return full
	}
	return small
}

var program = filepath.Join(os.TempDir(), fmt.Sprintf("frontpage-test-%d", os.Getpid()))

// build builds the program on its first call.
var build = sync.OnceValue(func() error {
	if err := noteSources(); err != nil {
		return err
	}
	if out, err := exec.Command("go", "build", "-o", program, "frontpage").CombinedOutput(); err != nil {
		return fmt.Errorf("build frontpage: %w\n%s", err, out)
	}
	return nil
})

// noteSources reads the folders of the module. go test caches a result until a file or folder changes
// that the test itself has opened: without this, a change of the program would not run its tests again.
func noteSources() error {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.WalkDir(filepath.Dir(string(module)), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		return err
	})
}

// Main runs the tests of a package, and removes the built file. It returns the exit code.
func Main(m *testing.M) int {
	defer func() { _ = os.Remove(program) }()
	return m.Run()
}

// Command returns the program with these arguments, not yet started. It runs in an empty folder of
// its own, with PATH and HOME, on any free port of the loopback interface, and with env, which
// overrides these. It is killed after half an hour or at the end of the test.
func Command(t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	require.NoError(t, build())
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "FRONTPAGE_ADDR=127.0.0.1:0"}, env...)
	return cmd
}

// Run runs the program to its end. It returns what was written to standard output and to
// standard error, and the exit code.
func Run(t testing.TB, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := Command(t, env, args...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}

// Server is the program serving.
type Server struct {
	URL string // such as http://127.0.0.1:12345, without a slash at the end
	Cmd *exec.Cmd

	t      testing.TB
	mu     sync.Mutex
	more   *sync.Cond // of mu: log has another line, or is complete
	log    bytes.Buffer
	logEnd chan struct{} // closed when log is complete
}

var (
	servingLine   = regexp.MustCompile(`endpoint"?[=:]"?(https?://[^\s"]+)/query`)
	listeningLine = regexp.MustCompile(`listening.* address"?[=:]"?([^\s"]+)`)
)

// Start starts the program with env and waits until it serves. It is killed at the end of the
// test unless Stop ended it before.
func Start(t testing.TB, env ...string) *Server {
	t.Helper()
	return StartCommand(t, Command(t, env))
}

// StartCommand is Start for an existing command, such as one with flags.
func StartCommand(t testing.TB, cmd *exec.Cmd) *Server {
	t.Helper()
	return await(t, cmd, servingLine)
}

// Listen starts the program with env and waits until its port is open, which is before it serves.
func Listen(t testing.TB, env ...string) *Server {
	t.Helper()
	s := await(t, Command(t, env), listeningLine)
	s.URL = "http://" + s.URL
	return s
}

// await starts the program and waits for a line in its log, which has the URL.
func await(t testing.TB, cmd *exec.Cmd, line *regexp.Regexp) *Server {
	t.Helper()
	s := &Server{Cmd: cmd, t: t, logEnd: make(chan struct{})}
	s.more = sync.NewCond(&s.mu)
	stderr := require.Value(s.Cmd.StderrPipe())(t)
	require.NoError(t, s.Cmd.Start())
	t.Cleanup(func() { _ = s.Cmd.Process.Kill() })
	serving := make(chan string, 1)
	go func() {
		defer func() {
			s.mu.Lock()
			close(s.logEnd)
			s.mu.Unlock()
			s.more.Broadcast()
		}()
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			s.mu.Lock()
			s.log.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
			s.more.Broadcast()
			if m := line.FindStringSubmatch(lines.Text()); m != nil {
				serving <- m[1]
			}
		}
	}()
	select {
	case s.URL = <-serving:
	case <-s.logEnd:
		t.Fatalf("the server ended before it served: %v\n%s", s.Cmd.Wait(), &s.log)
	}
	return s
}

// Log returns the log so far.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// AwaitLog waits until the log contains text, and returns the log so far. The test fails if the program ends before.
func (s *Server) AwaitLog(text string) string {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !strings.Contains(s.log.String(), text) {
		select {
		case <-s.logEnd:
			s.t.Fatalf("the program ended, and its log lacks %q:\n%s", text, &s.log)
		default:
		}
		s.more.Wait()
	}
	return s.log.String()
}

// Stop sends SIGTERM and returns the whole log. The test fails if the program does not end with exit code 0.
func (s *Server) Stop() string {
	s.t.Helper()
	require.NoError(s.t, s.Cmd.Process.Signal(syscall.SIGTERM))
	return s.Wait()
}

// Wait waits until the program has ended and returns the whole log. The test fails if the exit
// code is not 0.
func (s *Server) Wait() string {
	s.t.Helper()
	<-s.logEnd
	if err := s.Cmd.Wait(); err != nil {
		s.t.Errorf("the server ended with %v\n%s", err, &s.log)
	}
	return s.log.String()
}

// CPU returns the CPU time that a process of this machine has taken. It needs Linux.
func CPU(t testing.TB, pid int) (total time.Duration) {
	t.Helper()
	for _, name := range require.Value(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)))(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		var ran int64
		_, err = fmt.Sscan(string(text), &ran)
		require.NoError(t, err)
		total += time.Duration(ran)
	}
	return total
}
