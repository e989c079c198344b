//go:build unix

package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/store"
	"frontpage/tests/programtest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
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

func redisPID(s *store.Store) int { return redisInfo(s, "process_id") }

// redisInfo returns a number of INFO, or 0 without it.
func redisInfo(s *store.Store, field string) int {
	for line := range strings.Lines(s.Client.Info(context.Background()).Val()) {
		if digits, ok := strings.CutPrefix(line, field+":"); ok {
			number, _ := strconv.Atoi(strings.TrimSpace(digits))
			return number
		}
	}
	return 0
}

// startParent starts another process with an open store in dir.
func startParent(t *testing.T, dir, temporary string) (parent *exec.Cmd, redisPID int, socket string) {
	t.Helper()
	parent = exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), childEnv+"="+dir, "TMPDIR="+temporary)
	parent.Stderr = os.Stderr
	out := require.Value(parent.StdoutPipe())(t)
	require.NoError(t, parent.Start())
	t.Cleanup(func() {
		parent.Process.Kill()
		parent.Wait()
	})
	if _, err := fmt.Fscan(out, &redisPID, &socket); err != nil || redisPID == 0 {
		t.Fatalf("read the output of the other process: %v", err)
	}
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
		s := require.Value(store.Open(t.Context(), o))(t)
		pid, socket := redisPID(s), s.Client.(*redis.Client).Options().Addr
		if n := s.Client.Incr(t.Context(), "opened").Val(); o.URL == "" && n != 1 || o.URL != "" && n < 2 {
			t.Errorf("%q: counter = %d, want 1 at first and more when the store is opened again", o.URL, n)
		}
		if s.Kind != store.Child || s.Address != dir || !strings.Contains(s.String(), dir) || !strings.Contains(s.String(), s.Version) {
			t.Errorf("Kind = %v, String() = %q, want a child with its version and directory", s.Kind, s)
		}
		require.NoError(t, s.Close())
		if err := s.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if alive(pid) {
			t.Errorf("%q: Redis still runs after Close", o.URL)
		}
		for _, path := range []string{socket, filepath.Join(dir, "redis.sock")} {
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("%q: the socket %s still exists: %v", o.URL, path, err)
			}
		}
	}
	if _, err := os.Stat("elsewhere"); !os.IsNotExist(err) {
		t.Errorf("DataDir was used although the URL names a directory: %v", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the data directory = %v, %v; want rwx for its owner only", info.Mode(), err)
	}
}

func TestDataDirectoryAndItsFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for _, how := range []string{"with a directory that existed", "and again, with files that existed", "and with a private directory"} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
		if how == "with a directory that existed" {
			require.NoError(t, os.Chmod(dir, 0o755))
		}
		s := require.Value(store.Open(t.Context(), store.Options{DataDir: dir}))(t)
		set(t, s, "key", how)
		require.Eventually(t, "the file is rewritten", func() bool { return s.Client.BgRewriteAOF(t.Context()).Err() == nil }) // once no other rewrite is in progress
		files := 0
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			info, gone := os.Lstat(path)
			if gone == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %s has mode %v, want no right of other users", how, path, info.Mode())
			}
			files++
			return nil
		})
		if err := errors.Join(err, s.Close()); err != nil || files < 5 {
			t.Fatalf("%s: %d files, %v", how, files, err)
		}
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if how[0] == 'w' || path != dir {
				err = os.Chmod(path, 0o755)
			}
			return err
		}))
	}
}

func TestSharedDirectoryIsNoDataDirectory(t *testing.T) {
	t.Parallel()
	dir, linked := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(dir, "letter.txt"), filepath.Join(linked, "letter.txt")} {
		require.NoError(t, errors.Join(os.WriteFile(path, nil, 0o644), os.Chmod(path, 0o644))) // the start of a child changes the umask
	}
	require.NoError(t, errors.Join(os.Chmod(dir, 0o755), os.Symlink(linked, filepath.Join(dir, "appendonlydir"))))
	text := openError(t, store.Options{DataDir: dir})
	for _, part := range []string{dir, "letter.txt", "chmod 700", "DATA_DIR"} {
		if !strings.Contains(text, part) {
			t.Errorf("error = %q, want %q in it", text, part)
		}
	}
	require.NoError(t, os.Chmod(dir, 0o700))
	set(t, open(t, store.Options{DataDir: dir}), "key", "value")
	for _, path := range []string{filepath.Join(dir, "letter.txt"), filepath.Join(linked, "letter.txt")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %v, %v, want what is not from Frontpage as it was", path, info.Mode(), err)
		}
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

// maxMemory waits for the limit, which the server gets once it has loaded its data.
func maxMemory(t *testing.T, s *store.Store) (limit int64) {
	t.Helper()
	require.Eventually(t, "maxmemory", func() bool {
		limit, _ = strconv.ParseInt(s.Client.ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"], 10, 64)
		return limit > 0
	})
	return limit
}

func TestChildHasHalfOfTheMemory(t *testing.T) {
	t.Parallel()
	for memory, most := range map[uint64]int64{1 << 30: 1 << 29, 0: 1 << 50} {
		got := maxMemory(t, open(t, store.Options{DataDir: t.TempDir(), Memory: memory}))
		if memory > 0 && got != most || got > most || got < 1<<24 {
			t.Errorf("maxmemory = %d with %d bytes of memory, want half of them, or of those of the machine if that is 0", got, memory)
		}
	}
}

// A store may have more data than half of the memory, and what an operator has set ends with the server.
func TestChildWithMoreThanHalfOfTheMemoryAcceptsWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// A busy machine takes long to write 8 MB.
	full := require.Value(store.Open(t.Context(), store.Options{DataDir: dir, Timeout: time.Minute}))(t)
	set(t, full, "large", strings.Repeat("x", 8<<20))
	require.NoError(t, full.Close())
	var log sitetest.Log
	s := open(t, store.Options{DataDir: dir, Memory: 8 << 20, Log: log.Logger(slog.LevelWarn)})
	for _, how := range []string{"at the start", "after a restart"} {
		limit := maxMemory(t, s)
		set(t, s, "key", how)
		used := redisInfo(s, "used_memory")
		if part := float64(used) / float64(limit); part < 0.85 || part > 0.95 {
			t.Errorf("%s: %d of %d bytes are used, want 85 to 95 %%: the alert fires above 85", how, used, limit)
		}
		pid := redisInfo(s, "process_id")
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		require.Eventually(t, "reply after the kill", func() bool { now := redisInfo(s, "process_id"); return now != 0 && now != pid })
	}
	if !strings.Contains(log.String(), "it will refuse writes") {
		t.Errorf("log = %s, want a warning", log.String())
	}
}

func TestChildIsRestartedWhenItExits(t *testing.T) {
	t.Parallel()
	var log sitetest.Log
	s := open(t, store.Options{DataDir: t.TempDir(), Log: log.Logger(slog.LevelInfo)})
	killed := map[int]bool{}
	for i := range 3 {
		set(t, s, "key", strconv.Itoa(i))
		pid := redisPID(s)
		if pid == 0 || killed[pid] {
			t.Fatalf("process ID = %d, want that of a new process", pid)
		}
		killed[pid] = true
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		require.Eventually(t, "reply after the kill", func() bool {
			pid := redisPID(s)
			return pid != 0 && !killed[pid]
		})
		wantValue(t, s, "key", strconv.Itoa(i))
	}
	if n := strings.Count(log.String(), "restarting it"); n != 1 { // of a minute, in which there may be many
		t.Errorf("%d lines about restarts in the log, want 1: %s", n, log.String())
	}
}

// A cleaner of temporary files, or an operator, may remove the socket.
func TestChildIsRestartedWhenItsSocketIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var log sitetest.Log
	s := open(t, store.Options{DataDir: dir, Log: log.Logger(slog.LevelInfo)})
	set(t, s, "key", "value")
	first := redisPID(s)
	var clients sync.WaitGroup
	loaded, cancel := context.WithCancel(t.Context())
	for range 30 { // more than are connected, so that some need the socket
		clients.Go(func() {
			for loaded.Err() == nil {
				s.Client.Get(loaded, "key")
			}
		})
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "redis.sock")))
	require.Eventually(t, "restart", func() bool {
		pid := redisPID(s)
		return pid != 0 && pid != first
	})
	cancel()
	clients.Wait()
	wantValue(t, s, "key", "value")
	if !strings.Contains(log.String(), "its socket is gone") {
		t.Errorf("log = %s, want it to say that the socket is gone", log.String())
	}
}

func TestChildIsRestartedWhenItHangs(t *testing.T) {
	t.Parallel()
	var log sitetest.Log
	s := open(t, store.Options{DataDir: t.TempDir(), Log: log.Logger(slog.LevelInfo)})
	set(t, s, "key", "value")
	hanging := redisPID(s)
	require.NoError(t, syscall.Kill(hanging, syscall.SIGSTOP))
	require.Eventually(t, "restart", func() bool {
		pid := redisPID(s)
		return pid != 0 && pid != hanging
	})
	wantValue(t, s, "key", "value")
	if !strings.Contains(log.String(), "it does not reply") {
		t.Errorf("log = %s, want it to say that the server does not reply", log.String())
	}
}

func TestNothingIsLeftWhenTheParentIsKilled(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("long", 40))} {
		temporary := t.TempDir()
		parent, redis, _ := startParent(t, dir, temporary)
		for _, pid := range []int{redis, parent.Process.Pid} {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
		parent.Wait()
		s := open(t, store.Options{DataDir: dir})
		wantValue(t, s, "by", "the killed one")
		require.NoError(t, s.Close())
		for folder, want := range map[string][]string{temporary: nil, dir: {"appendonlydir", "lock", "redis.log"}} {
			entries := require.Value(os.ReadDir(folder))(t)
			var names []string
			for _, entry := range entries {
				names = append(names, strings.Replace(entry.Name(), "appendonly.aof", "appendonlydir", 1)) // before Redis 7
			}
			if !slices.Equal(names, want) {
				t.Errorf("%s has %q, want %q", folder, names, want)
			}
		}
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
	require.NoError(t, first.Close())
	if s := <-second; s != nil {
		wantValue(t, s, "by", "the first")
		s.Close()
	}
}

func TestChildThatOutlivesItsParentKeepsTheLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent, pid, socket := startParent(t, dir, t.TempDir())
	// Running an endless script, Redis ignores SIGTERM. This stands for systems that do not signal the child
	// when its parent dies.
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, ContextTimeoutEnabled: true, MaxRetries: -1})
	defer client.Close()
	go client.Eval(t.Context(), "while true do end", nil)
	require.Eventually(t, "busy Redis", func() bool {
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
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	wantValue(t, open(t, store.Options{DataDir: dir}), "by", "the killed one")
}

func TestFailedStartReportsTheLogOfRedis(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, store.Options{DataDir: dir})
	set(t, s, "key", "value")
	require.NoError(t, s.Close())
	require.NoError(t, os.WriteFile(appendOnlyFile(t, dir), []byte("this is not a command\r\n"), 0o600))
	before := time.Now()
	text := openError(t, store.Options{DataDir: dir})
	if !strings.Contains(text, "Bad file format") || !strings.Contains(text, "exit status 1") {
		t.Errorf("error = %q, want the last lines of Redis' log", text)
	}
	if took := time.Since(before); took > require.Timeout/2 {
		t.Errorf("Open took %v to fail, want at most %v", took, require.Timeout/2)
	}
}

// A file that ends anywhere in a transaction is cut before it: also at the next starts, no part of it is there, and what was written
// after it is.
func TestChildCutsOffAnIncompleteTransaction(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	s := open(t, store.Options{DataDir: from})
	both := func(s *store.Store) {
		t.Helper()
		require.NoError(t, s.Client.Eval(t.Context(), "redis.call('INCR', KEYS[1]) return redis.call('INCR', KEYS[2])", []string{"a", "b"}).Err())
	}
	set(t, s, "before", "value")
	both(s)
	require.NoError(t, s.Close())
	text := require.Value(os.ReadFile(appendOnlyFile(t, from)))(t)
	begin, end := bytes.LastIndex(text, []byte("*1\r\n$5\r\nMULTI")), len(text)
	step := programtest.Size(9, 1)
	for at := begin; at <= end; at += step {
		t.Run(fmt.Sprint("at byte ", at-begin), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.CopyFS(dir, os.DirFS(from)))
			require.NoError(t, os.Truncate(appendOnlyFile(t, dir), int64(at)))
			var log bytes.Buffer
			for start := range 3 {
				s := open(t, store.Options{DataDir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
				a, b := s.Client.Get(t.Context(), "a").Val(), s.Client.Get(t.Context(), "b").Val()
				if want := []string{"", "1", "2"}[start]; at < end && (a != want || b != want) {
					t.Errorf("start %d: a is %q, b is %q; want %q", start, a, b, want)
				}
				wantValue(t, s, "before", "value")
				both(s)
				require.NoError(t, s.Close())
			}
			if isWhole := at == begin || at == end; isWhole == strings.Contains(log.String(), "is cut off") {
				t.Errorf("the log has %s", log.String())
			}
		})
	}
}

func TestDataDirectoryMustBeADirectory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	if text := openError(t, store.Options{DataDir: path}); !strings.Contains(text, path) {
		t.Errorf("error = %q, want it to contain %q", text, path)
	}
	if text := openError(t, store.Options{}); !strings.Contains(text, "DATA_DIR is not set") {
		t.Errorf("error = %q, want it to name DATA_DIR", text)
	}
}
