// Package redistest gives each test a Redis of its own.
package redistest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a private redis-server on a unix socket, without a port.
type Server struct {
	Client *redis.Client // closed with the test; set up like the one of package store

	tb      testing.TB
	folder  string
	process *exec.Cmd
}

// Start runs redis-server until the test ends. It keeps an append-only file,
// so that Restart finds what was acknowledged. A missing executable fails the test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	// Not tb.TempDir: a unix socket's path has at most 107 bytes.
	folder, err := os.MkdirTemp("", "redistest")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, folder: folder}
	tb.Cleanup(func() {
		_ = os.RemoveAll(folder)
	})
	s.Client = redis.NewClient(&redis.Options{
		Network: "unix", Addr: s.Socket(), ContextTimeoutEnabled: true, MaxRetries: 1,
		DialerRetries: 1, DialTimeout: time.Second, ReadTimeout: 5 * time.Second, PoolSize: 64,
	})
	tb.Cleanup(func() { _ = s.Client.Close() })
	s.Restart()
	tb.Cleanup(s.Kill)
	return s
}

// Socket is the path of the unix socket.
func (s *Server) Socket() string { return filepath.Join(s.folder, "s") }

// URL is the address in the form of REDIS_URL.
func (s *Server) URL() string { return "unix://" + s.Socket() }

// Kill ends the server at once, as a crash does.
func (s *Server) Kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
		s.process = nil
	}
}

// Restart starts the server after Kill, and waits until it answers.
func (s *Server) Restart() {
	s.tb.Helper()
	s.process = exec.Command("redis-server", "--port", "0", "--unixsocket", s.Socket(), "--dir", s.folder,
		"--appendonly", "yes", "--appendfsync", "no", "--save", "", "--loglevel", "warning", "--logfile", "log")
	if err := s.process.Start(); err != nil {
		s.tb.Fatalf("start redis-server: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !s.answers(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
			s.tb.Fatalf("redis-server does not answer; its log says:\n%s", log)
		}
	}
}

// answers asks on a connection of its own: the pool of a client remembers for
// a while that dialing failed.
func (s *Server) answers(ctx context.Context) bool {
	connection, err := net.Dial("unix", s.Socket())
	if err != nil {
		return false // the client would log it
	}
	_ = connection.Close()
	probe := redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket(), PoolSize: 1, MaxRetries: -1, DialerRetries: 1})
	defer func() { _ = probe.Close() }()
	return probe.Ping(ctx).Err() == nil
}
