// Package redistest starts the redis-server on PATH, which may be a Valkey, for a test or an example.
package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/tests/require"
)

// Server is a private Redis or Valkey that listens on a unix socket, and on a port only as a part of a Cluster or
// of Sentinels.
type Server struct {
	Client *redis.Client // of the socket, configured like the client of package store
	Addr   string        // host and port, if it listens on one

	tb      testing.TB // nil if Open started the server
	folder  string
	config  string   // file of a Sentinel; empty: none
	args    []string // in addition to those of every server
	process *exec.Cmd
	paused  bool
	fresh   string // settings of a server of the pool; empty: it does not go back there
}

// Start returns an empty server until the test ends, from the pool of the process or a new one. It stores nothing on
// disk: a test that kills or pauses it calls Own first. A missing executable fails the test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := require.Value(take())(tb)
	s.tb = tb
	tb.Cleanup(s.giveBack)
	return s
}

// Own takes the server out of the pool, and turns on its append-only file: after Kill and Restart it has all
// acknowledged writes. It returns the server.
func (s *Server) Own() *Server {
	s.tb.Helper()
	ctx := context.Background()
	require.NoError(s.tb, s.Client.ConfigSet(ctx, "appendonly", "yes").Err())
	require.Eventually(s.tb, "append-only file", func() bool {
		state := s.Client.Info(ctx, "persistence").Val()
		return strings.Contains(state, "aof_enabled:1") && strings.Contains(state, "aof_rewrite_in_progress:0") &&
			strings.Contains(state, "aof_rewrite_scheduled:0")
	})
	s.fresh, s.args = "", append(s.args, appendOnly...)
	return s
}

var appendOnly = []string{"--appendonly", "yes"}

// Open runs a server until Close, with args in addition to those that every server has. It has an append-only file, so
// that after Kill and Run it has all acknowledged writes.
func Open(args ...string) (*Server, error) { return open(append(slices.Clone(appendOnly), args...)...) }

func open(args ...string) (*Server, error) {
	s, err := newServer(args...)
	if err != nil {
		return nil, err
	}
	if err := s.Run(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// newServer prepares a server for Run.
func newServer(args ...string) (*Server, error) {
	folder, err := newFolder()
	if err != nil {
		return nil, err
	}
	return at(folder, args...), nil
}

// at returns a server that has its socket in the folder.
func at(folder string, args ...string) *Server {
	s := &Server{folder: folder, args: args}
	s.Client = redis.NewClient(&redis.Options{
		Network: "unix", Addr: s.Socket(), ContextTimeoutEnabled: true, MaxRetries: 1,
		DialerRetries: 1, DialTimeout: time.Minute,
		ReadTimeout: time.Minute, WriteTimeout: time.Minute, PoolTimeout: time.Minute, PoolSize: 64,
	})
	return s
}

// Close kills the server, closes its Client and removes its files.
func (s *Server) Close() {
	s.Kill()
	_ = s.Client.Close()
	_ = os.RemoveAll(s.folder)
}

// AppendOnlyFile is the file that the server appends its writes to. To lose the latest ones, truncate it after Kill.
func (s *Server) AppendOnlyFile() string {
	files, _ := filepath.Glob(filepath.Join(s.folder, "appendonlydir", "*.incr.aof"))
	return append(files, filepath.Join(s.folder, "appendonly.aof"))[0] // the latter before Redis 7
}

// Process is the server's process, or nil after Kill.
func (s *Server) Process() *os.Process {
	if s.process == nil {
		return nil
	}
	return s.process.Process
}

// Socket is the path of the unix socket.
func (s *Server) Socket() string { return filepath.Join(s.folder, "s") }

// URL is the address in the form of REDIS_URL, with a timeout that a busy machine does not reach.
func (s *Server) URL() string { return "unix://" + s.Socket() + "?read_timeout=60s" }

// Kill kills the server without a shutdown, as a crash would.
func (s *Server) Kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
		s.process, s.paused = nil, false
	}
}

// Pause suspends the server: it keeps its connections, and does not reply before Resume.
func (s *Server) Pause() {
	s.paused = true
	_ = s.process.Process.Signal(syscall.SIGSTOP)
}

// Resume ends Pause.
func (s *Server) Resume() {
	s.paused = false
	_ = s.process.Process.Signal(syscall.SIGCONT)
}

// running is false after Kill and after Pause.
func (s *Server) running() bool { return s.process != nil && !s.paused }

// Restart is Run. A server that does not answer fails the test.
func (s *Server) Restart() {
	s.tb.Helper()
	if s.fresh != "" {
		s.tb.Fatal("the server kept nothing: call Own before")
	}
	require.NoError(s.tb, s.Run())
}

// Run starts the server after Kill, and waits until it answers.
func (s *Server) Run() error {
	args := []string{"--port", "0", "--unixsocket", s.Socket(), "--dir", s.folder, "--loglevel", "warning", "--logfile", "log"}
	if s.config != "" {
		args = append([]string{s.config, "--sentinel"}, args...)
	} else {
		args = append(args, "--save", "", "--appendfsync", "no") // a write is in the file before its reply: no fsync delays it
	}
	s.process = exec.Command("redis-server", append(args, s.args...)...)
	s.process.SysProcAttr = processAttributes()
	if err := s.process.Start(); err != nil {
		s.process = nil
		return fmt.Errorf("start redis-server: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), require.Timeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !s.answers(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
			return fmt.Errorf("redis-server does not answer; its log:\n%s", log)
		}
	}
	return nil
}

// answers uses a connection of its own, because a pool of connections does not dial for a while after
// dialing has failed.
func (s *Server) answers(ctx context.Context) bool {
	connection, err := net.Dial("unix", s.Socket())
	if err != nil {
		return false // without the log line that go-redis would write
	}
	_ = connection.Close()
	probe := redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket(), PoolSize: 1, MaxRetries: -1, DialerRetries: 1})
	defer func() { _ = probe.Close() }()
	return probe.Ping(ctx).Err() == nil
}
