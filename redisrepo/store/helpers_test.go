//go:build unix

package store_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/store"
	"frontpage/tests/require"
)

// names are the environment variables of the program.
var names = map[string]string{
	"URL": "REDIS_URL", "DataDir": "DATA_DIR", "Acks": "REDIS_ACKS", "CAFile": "REDIS_CA_FILE", "CertFile": "REDIS_CERT_FILE", "KeyFile": "REDIS_KEY_FILE",
}

// open opens a store and closes it when the test ends.
func open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	o.Names = names
	s := require.Value(store.Open(t.Context(), o))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// openError opens a store, expects an error and returns its text.
func openError(t *testing.T, o store.Options) string {
	t.Helper()
	o.Names = names
	s, err := store.Open(t.Context(), o)
	if err == nil {
		s.Close()
		t.Errorf("Open(%q) succeeded, want an error", o.URL)
		return ""
	}
	return err.Error()
}

func set(t *testing.T, s *store.Store, key, value string) {
	t.Helper()
	if err := s.Client.Set(t.Context(), key, value, 0).Err(); err != nil {
		t.Fatalf("SET %s: %v", key, err)
	}
}

func wantValue(t *testing.T, s *store.Store, key, want string) {
	t.Helper()
	got, err := s.Client.Get(t.Context(), key).Result()
	if err != nil || got != want {
		t.Fatalf("GET %s = %q, %v; want %q", key, got, err, want)
	}
}

// realRedis is a redis-server that was not started by the store under test.
type realRedis struct {
	t      *testing.T
	args   []string
	socket string
	cmd    *exec.Cmd
}

func startServer(t *testing.T, args ...string) *realRedis {
	t.Helper()
	return startRedis(t, "", args...)
}

// startRedis starts a server with the given lines in its configuration file.
func startRedis(t *testing.T, lines string, args ...string) *realRedis {
	t.Helper()
	dir := require.Value(os.MkdirTemp("", "store-test-"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &realRedis{t: t, socket: filepath.Join(dir, "s")}
	config := filepath.Join(dir, "config")
	lines = "port 0\nsave \"\"\ndir " + dir + "\nunixsocket " + r.socket + "\n" + lines
	require.NoError(t, os.WriteFile(config, []byte(lines), 0o600))
	r.args = append([]string{config}, args...)
	r.start()
	t.Cleanup(r.kill)
	return r
}

// serverVersion returns the name and version of the redis-server on PATH, which may be a Valkey.
func serverVersion(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("redis-server", "--version").Output()
	name, rest, ok := strings.Cut(string(out), " server v=")
	if err != nil || !ok {
		t.Fatalf("redis-server --version = %q, %v", out, err)
	}
	version, _, _ := strings.Cut(rest, " ")
	return name + " " + version
}

// appendOnlyFile returns the file in dir that a stopped server appended its writes to.
func appendOnlyFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	if old := filepath.Join(dir, "appendonly.aof"); len(files) == 0 {
		files, err = filepath.Glob(old) // before Redis 7
	}
	if err != nil || len(files) != 1 {
		t.Fatalf("append-only files = %v, %v, want one", files, err)
	}
	return files[0]
}

func (r *realRedis) url() string { return "unix://" + r.socket }

func (r *realRedis) start() {
	r.t.Helper()
	r.cmd = exec.Command("redis-server", r.args...)
	if err := r.cmd.Start(); err != nil {
		r.t.Fatalf("start redis-server: %v", err)
	}
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: r.socket})
	defer client.Close()
	require.Eventually(r.t, "reply from redis-server", func() bool {
		conn, err := net.Dial("unix", r.socket)
		if err != nil {
			return false
		}
		conn.Close()
		err = client.Ping(context.Background()).Err()
		return err == nil || redis.HasErrorPrefix(err, "NOAUTH")
	})
}

func (r *realRedis) kill() {
	r.cmd.Process.Kill()
	r.cmd.Wait()
}

// alive reports whether a process runs. The process must not be a child of this one.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
