//go:build unix

package store_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"frontpage/redisrepo/store"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// opening is an Open that has been called.
type opening struct {
	done  chan struct{}
	store *store.Store
	err   error
}

func openSoon(ctx context.Context, o store.Options) *opening {
	opened := &opening{done: make(chan struct{})}
	go func() {
		defer close(opened.done)
		opened.store, opened.err = store.Open(ctx, o)
	}()
	return opened
}

func TestCommandUsesTheServerThatRuns(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("long", 40))} {
		server := open(t, store.Options{DataDir: dir})
		set(t, server, "by", "the server")
		for range 2 {
			command := require.Value(store.Open(t.Context(), store.Options{DataDir: dir, Command: "check"}))(t)
			wantValue(t, command, "by", "the server")
			if want := filepath.Join(dir, "redis.sock"); command.Kind != store.Child || !strings.Contains(command.String(), want) || !strings.Contains(server.String(), want) {
				t.Errorf("Kind = %v, String() = %q and %q, want a child and its socket %s", command.Kind, command, server, want)
			}
			require.NoError(t, command.Close())
			wantValue(t, server, "by", "the server") // it goes on
		}
	}
}

// Root can run commands: they leave no file that the server, another user, cannot use. Other users cannot give files away.
func TestCommandsOfRootLeaveFilesToTheOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return
	}
	const owner = 65534
	dir := filepath.Join(t.TempDir(), "data") // below one that is root's alone
	require.NoError(t, errors.Join(os.Chmod(filepath.Dir(dir), 0o700), os.Mkdir(dir, 0o700), os.Chown(dir, owner, owner)))
	s := require.Value(store.Open(t.Context(), store.Options{DataDir: dir, Command: "check"}))(t)
	set(t, s, "key", "value")
	s.Client.BgRewriteAOF(t.Context())
	path := backUp(t, s)
	require.NoError(t, s.Close())
	restored := filepath.Join(dir, "restored")
	require.NoError(t, errors.Join(os.Mkdir(restored, 0o700), os.Chown(restored, owner, owner)))
	require.NoError(t, restore(t, path, restored))
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != owner {
			t.Errorf("%s belongs to user %d, want %d", path, stat.Uid, owner)
		}
		files++
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("%d files, %v, want at least 10", files, err)
	}
}

// Two commands share a server: the first starts it, and ends it when the second has ended as well.
func TestCommandWaitsForOthersThatUseItsServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var log sitetest.Log
	first := require.Value(store.Open(t.Context(), store.Options{DataDir: dir, Command: "import", Log: log.Logger(slog.LevelInfo)}))(t)
	set(t, first, "by", "the first")
	second := require.Value(store.Open(t.Context(), store.Options{DataDir: dir, Command: "check"}))(t)
	closed := make(chan error, 1)
	go func() { closed <- first.Close() }()
	require.Eventually(t, "line about the other command", func() bool { return strings.Contains(log.String(), "waiting for another command") })
	wantValue(t, second, "by", "the first")
	require.NoError(t, second.Close())
	require.NoError(t, <-closed)
	wantValue(t, open(t, store.Options{DataDir: dir, Command: "check"}), "by", "the first")
}

// Commands that begin and end at the same time all find a server.
func TestCommandsBesideEachOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const commands = 6
	results := make(chan error, commands)
	for range commands {
		go func() {
			s, err := store.Open(t.Context(), store.Options{DataDir: dir, Command: "check"})
			if err == nil {
				err = errors.Join(s.Client.Incr(t.Context(), "commands").Err(), s.Close())
			}
			results <- err
		}()
	}
	for range commands {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	wantValue(t, open(t, store.Options{DataDir: dir}), "commands", "6")
}

func TestServerWaitsForACommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command := require.Value(store.Open(t.Context(), store.Options{DataDir: dir, Command: "import"}))(t)
	set(t, command, "by", "the command")
	var log sitetest.Log
	server := openSoon(t.Context(), store.Options{DataDir: dir, Log: log.Logger(slog.LevelInfo)})
	cancelled, cancel := context.WithCancel(t.Context())
	stopped := openSoon(cancelled, store.Options{DataDir: dir, Names: names})
	require.Eventually(t, "line that names the command", func() bool { return strings.Contains(log.String(), `used_by="frontpage import (process`) })
	cancel()
	if <-stopped.done; stopped.err == nil || !strings.Contains(stopped.err.Error(), "is in use by frontpage import (process ") || !errors.Is(stopped.err, context.Canceled) {
		t.Errorf("the server that was stopped while it waited: %v, want an error that names the command", stopped.err)
	}
	require.NoError(t, command.Close())
	if <-server.done; server.err != nil {
		t.Fatal(server.err)
	}
	defer server.store.Close()
	wantValue(t, server.store, "by", "the command")
}

// A command that is left without its server says so.
func TestCommandExplainsThatTheServerHasStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent, pid, _ := startParent(t, dir, t.TempDir())
	command := require.Value(store.Open(t.Context(), store.Options{DataDir: dir, Command: "check"}))(t)
	defer command.Close()
	failed := errors.New("the command failed")
	if err := command.Explain(failed); !errors.Is(err, failed) || err.Error() != failed.Error() {
		t.Errorf("with a server: %v, want the error as it is", err)
	}
	parent.Process.Kill()
	require.Eventually(t, "end of Redis", func() bool { return !alive(pid) })
	if err := command.Explain(failed); !errors.Is(err, failed) || !strings.Contains(err.Error(), "has stopped: run the command again") {
		t.Errorf("without a server: %v, want an error that says so", err)
	}
	next := open(t, store.Options{DataDir: dir, Command: "check"}) // starts one itself
	wantValue(t, next, "by", "the killed one")
}

// A command can use a Redis whose Frontpage was killed, on systems that do not end it.
func TestCommandUsesAServerWithoutItsParent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock := require.Value(os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600))(t)
	defer lock.Close()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	begun := time.Now()
	text := openError(t, store.Options{DataDir: dir, Command: "check"})
	if !strings.Contains(text, "redis-cli -s "+filepath.Join(dir, "redis.sock")+" shutdown") {
		t.Errorf("error = %q after %v, want one that says how to stop that Redis", text, time.Since(begun))
	}
	r := startServer(t)
	require.NoError(t, os.Symlink(r.socket, filepath.Join(dir, "redis.sock")))
	set(t, open(t, store.Options{DataDir: dir, Command: "check"}), "by", "a command")
}
