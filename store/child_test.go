//go:build unix

package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/store"
)

// childEnv names a directory. If set, the test binary opens a store there, prints the process ID and the
// socket of its Redis, and waits to be killed.
const childEnv = "STORE_TEST_DIR"

func TestMain(m *testing.M) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	s, err := store.Open(context.Background(), store.Options{DataDir: dir})
	if err == nil {
		err = s.Client.Set(context.Background(), "by", "the killed one", 0).Err()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(redisPID(s), s.Client.(*redis.Client).Options().Addr)
	select {}
}

func redisPID(s *store.Store) int {
	for line := range strings.Lines(s.Client.Info(context.Background(), "server").Val()) {
		if digits, ok := strings.CutPrefix(line, "process_id:"); ok {
			pid, _ := strconv.Atoi(strings.TrimSpace(digits))
			return pid
		}
	}
	return 0
}

// startParent starts another process with an open store in dir.
func startParent(t *testing.T, dir string) (parent *exec.Cmd, redisPID int, socket string) {
	t.Helper()
	parent = exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), childEnv+"="+dir)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		parent.Process.Kill()
		parent.Wait()
	})
	if _, err := fmt.Fscan(out, &redisPID, &socket); err != nil || redisPID == 0 {
		t.Fatalf("read the output of the other process: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(filepath.Dir(socket)) })
	return parent, redisPID, socket
}

func TestChildKeepsDataAfterClose(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), `blanks " and 'quotes' % # ?`, strings.Repeat("long", 40))
	for _, o := range []store.Options{
		{DataDir: dir},
		{URL: "spawn://", DataDir: dir},
		{URL: "spawn://" + dir, DataDir: "elsewhere"},
	} {
		s, err := store.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		pid, socket := redisPID(s), s.Client.(*redis.Client).Options().Addr
		if n := s.Client.Incr(t.Context(), "opened").Val(); o.URL == "" && n != 1 || o.URL != "" && n < 2 {
			t.Errorf("%q: counter = %d, want 1 at first and more when the store is opened again", o.URL, n)
		}
		if s.Kind != store.Child || s.Address != dir || !strings.Contains(s.String(), dir) || !strings.Contains(s.String(), s.Version) {
			t.Errorf("Kind = %v, String() = %q, want a child with its version and directory", s.Kind, s)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if alive(pid) {
			t.Errorf("%q: Redis still runs after Close", o.URL)
		}
		if _, err := os.Stat(filepath.Dir(socket)); !os.IsNotExist(err) {
			t.Errorf("%q: the socket's directory still exists: %v", o.URL, err)
		}
	}
	if _, err := os.Stat("elsewhere"); !os.IsNotExist(err) {
		t.Errorf("DataDir was used although the URL names a directory: %v", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the data directory = %v, %v; want rwx for its owner only", info.Mode(), err)
	}
}

func TestChildIsPrivateAndDurable(t *testing.T) {
	t.Parallel()
	s := open(t, store.Options{DataDir: t.TempDir()})
	for name, want := range map[string]string{
		"port": "0", "appendonly": "yes", "appendfsync": "everysec", "save": "", "maxmemory-policy": "noeviction",
		"hash-max-ziplist-value": "512", "unixsocketperm": "700",
	} {
		got, err := s.Client.ConfigGet(t.Context(), name).Result()
		if err != nil || got[name] != want {
			t.Errorf("CONFIG GET %s = %v, %v; want %q", name, got, err, want)
		}
	}
}

func TestChildIsRestartedWhenItExits(t *testing.T) {
	t.Parallel()
	var log record
	s := open(t, store.Options{DataDir: t.TempDir(), Log: log.logger(slog.LevelInfo)})
	killed := map[int]bool{}
	for i := range 3 {
		set(t, s, "key", strconv.Itoa(i))
		pid := redisPID(s)
		if pid == 0 || killed[pid] {
			t.Fatalf("process ID = %d, want that of a new process", pid)
		}
		killed[pid] = true
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "reply after the kill", func() bool {
			pid := redisPID(s)
			return pid != 0 && !killed[pid]
		})
		wantValue(t, s, "key", strconv.Itoa(i))
	}
	if n := strings.Count(log.String(), "restarting it"); n != 3 {
		t.Errorf("%d restarts in the log, want 3: %s", n, log.String())
	}
}

func TestDataDirectoryInUseIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, store.Options{DataDir: dir})
	text := openError(t, store.Options{DataDir: dir})
	for _, want := range []string{dir, "another Frontpage", "DATA_DIR", "REDIS_URL"} {
		if !strings.Contains(text, want) {
			t.Errorf("error = %q, want it to contain %q", text, want)
		}
	}
	set(t, first, "still", "served")
}

func TestChildWaitsForALockThatIsReleased(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, store.Options{DataDir: dir})
	set(t, first, "by", "the first")
	second := make(chan *store.Store)
	go func() {
		s, err := store.Open(t.Context(), store.Options{DataDir: dir})
		if err != nil {
			t.Error(err)
		}
		second <- s
	}()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if s := <-second; s != nil {
		wantValue(t, s, "by", "the first")
		s.Close()
	}
}

func TestChildEndsWhenItsParentIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent, _, socket := startParent(t, dir)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait()
	s := open(t, store.Options{DataDir: dir})
	if conn, err := net.Dial("unix", socket); err == nil {
		conn.Close()
		t.Error("the Redis of the killed process still runs next to the new one")
	}
	wantValue(t, s, "by", "the killed one")
}

func TestChildThatOutlivesItsParentKeepsTheLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent, pid, socket := startParent(t, dir)
	// Running an endless script, Redis ignores SIGTERM. This stands for systems that do not signal the child
	// when its parent dies.
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, ContextTimeoutEnabled: true, MaxRetries: -1})
	defer client.Close()
	go client.Eval(t.Context(), "while true do end", nil)
	eventually(t, "busy Redis", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		return client.Ping(ctx).Err() != nil
	})
	parent.Process.Kill()
	parent.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := store.Open(ctx, store.Options{DataDir: dir})
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("error = %v, want one that names %s and the killed process", err, dir)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantValue(t, open(t, store.Options{DataDir: dir}), "by", "the killed one")
}

func TestFailedStartReportsTheLogOfRedis(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, store.Options{DataDir: dir})
	set(t, s, "key", "value")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("append-only files = %v, %v, want one", files, err)
	}
	if err := os.WriteFile(files[0], []byte("this is not a command\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	text := openError(t, store.Options{DataDir: dir})
	if !strings.Contains(text, "Bad file format") || !strings.Contains(text, "exit status 1") {
		t.Errorf("error = %q, want the last lines of Redis' log", text)
	}
	if took := time.Since(before); took > patience/2 {
		t.Errorf("Open took %v to fail, want at most %v", took, patience/2)
	}
}

func TestChildStartsWithATruncatedAppendOnlyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, store.Options{DataDir: dir})
	set(t, s, "key", "value")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("append-only files = %v, %v, want one", files, err)
	}
	file, err := os.OpenFile(files[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("*3\r\n$3\r\nSET\r\n$3\r\nke"); err != nil {
		t.Fatal(err)
	}
	file.Close()
	wantValue(t, open(t, store.Options{DataDir: dir}), "key", "value")
}

func TestDataDirectoryMustBeADirectory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if text := openError(t, store.Options{DataDir: path}); !strings.Contains(text, path) {
		t.Errorf("error = %q, want it to contain %q", text, path)
	}
	if text := openError(t, store.Options{}); !strings.Contains(text, "DATA_DIR is not set") {
		t.Errorf("error = %q, want it to name DATA_DIR", text)
	}
}
