//go:build unix

package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/store"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func accept(context.Context, redis.UniversalClient) error { return nil }

func backUp(t *testing.T, s *store.Store) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "site.rdb")
	done, err := s.Backup(t.Context(), path)
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || done.Bytes != info.Size() || len(done.SHA256) != 64 || info.Mode().Perm() != 0o600 {
		t.Fatalf("Backup = %+v, %v; the file: %v, %v", done, err, info, statErr)
	}
	return path
}

func restore(t *testing.T, path, dir string) error {
	t.Helper()
	_, err := store.Restore(t.Context(), path, store.Options{DataDir: dir, Command: "restore", Names: names}, accept)
	return err
}

// What was acknowledged before a backup began is in it, and the file is never seen half written.
func TestBackupHasAllThatWasAcknowledgedBeforeIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := open(t, store.Options{DataDir: dir})
	for i := range 20_000 {
		server.Client.HSet(t.Context(), "filler:"+strconv.Itoa(i/100), i, strings.Repeat("x", 100))
	}
	var acknowledged atomic.Int64
	writing, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	writers.Go(func() {
		for n := int64(1); writing.Err() == nil; {
			if server.Client.SAdd(context.Background(), "written", n).Err() == nil { // else it is tried again
				acknowledged.Store(n)
				n++
			}
		}
	})
	defer writers.Wait()
	defer stop()
	command := open(t, store.Options{DataDir: dir, Command: "backup"})
	path := filepath.Join(t.TempDir(), "site.rdb")
	for round := range 4 {
		if round == 2 { // also while Redis rewrites its append-only file
			server.Client.BgRewriteAOF(t.Context())
		}
		before := acknowledged.Load()
		require.Value(command.Backup(t.Context(), path))(t)
		to := filepath.Join(t.TempDir(), "data")
		require.NoError(t, restore(t, path, to))
		restored := open(t, store.Options{DataDir: to})
		if n := restored.Client.SCard(t.Context(), "written").Val(); n < before {
			t.Errorf("the backup has %d writes, but %d were acknowledged before it", n, before)
		}
		if n := restored.Client.HLen(t.Context(), "filler:0").Val(); n != 100 {
			t.Errorf("a hash of the backup has %d fields, want 100", n)
		}
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	hidden, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(left) != 1 || len(hidden) != 0 {
		t.Errorf("files beside the backup: %q and %q, want none", left, hidden)
	}
	if _, err := os.Stat(filepath.Join(dir, "dump.rdb")); !os.IsNotExist(err) {
		t.Errorf("the snapshot of Redis is left in the data directory: %v", err)
	}
}

func TestFailedBackupLeavesTheFileAlone(t *testing.T) {
	t.Parallel()
	var log sitetest.Log
	s := open(t, store.Options{DataDir: t.TempDir(), Log: log.Logger(slog.LevelInfo)})
	set(t, s, "key", "value")
	path := backUp(t, s)
	before := require.Value(os.ReadFile(path))(t)
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := s.Backup(ended, path); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted backup: %v, want %v", err, context.Canceled)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file of the earlier backup has changed, %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("an interrupted backup leaves %q", left)
	}
	if _, err := s.Backup(t.Context(), filepath.Join(t.TempDir(), "missing", "site.rdb")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a backup to a folder that does not exist: %v", err)
	}
	folder := t.TempDir()
	if _, err := s.Backup(t.Context(), folder); err == nil || err.Error() != folder+" is not a regular file: name the file to write" {
		t.Errorf("a backup to a folder: %v", err)
	}
	remote := open(t, store.Options{URL: startServer(t).url()})
	if _, err := remote.Backup(t.Context(), path); !errors.Is(err, store.ErrNotPrivate) {
		t.Errorf("backup of a Redis of one's own: %v, want %v", err, store.ErrNotPrivate)
	}
}

func TestRestoreRefusesADirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, store.Options{DataDir: dir})
	set(t, s, "key", "value")
	path := backUp(t, s)
	if err := restore(t, path, dir); err == nil || !strings.Contains(err.Error(), "in use by another Frontpage") {
		t.Errorf("restore beside a server: %v, want an error that says so", err)
	}
	wantValue(t, s, "key", "value")
	require.NoError(t, s.Close())
	if err := restore(t, path, dir); err == nil || !strings.Contains(err.Error(), dir+" is not empty, it has appendonly") {
		t.Errorf("restore over data: %v, want an error that says so", err)
	}
	wantValue(t, open(t, store.Options{DataDir: dir}), "key", "value")
	if _, err := store.Restore(t.Context(), path, store.Options{URL: "redis://127.0.0.1:1"}, accept); !errors.Is(err, store.ErrNotPrivate) {
		t.Errorf("restore into a Redis of one's own: %v, want %v", err, store.ErrNotPrivate)
	}
}

func TestRestoreRefusesADamagedFile(t *testing.T) {
	t.Parallel()
	s := open(t, store.Options{DataDir: t.TempDir()})
	for i := range 1000 {
		set(t, s, fmt.Sprint("key", i), strings.Repeat(fmt.Sprint(i), 900)) // several reads long
	}
	whole := require.Value(os.ReadFile(backUp(t, s)))(t)
	changed := bytes.Clone(whole)
	changed[len(changed)/2]++
	for name, text := range map[string][]byte{
		"empty": nil, "text": []byte("id,title,link\n"), "header": whole[:9], "half": whole[:len(whole)/2], "cut": whole[:len(whole)-1],
		"longer": append(bytes.Clone(whole), 0), "changed": changed,
	} {
		path, dir := filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), "data")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		if err := restore(t, path, dir); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want an error that names the file", name, err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: the data directory was made: %v", name, err)
		}
	}
}

// A restore that was interrupted can be run again, and until then no server starts without the data.
func TestInterruptedRestoreIsNotTakenForData(t *testing.T) {
	t.Parallel()
	s := open(t, store.Options{DataDir: t.TempDir()})
	set(t, s, "key", "value")
	path, dir := backUp(t, s), filepath.Join(t.TempDir(), "data")
	refused := errors.New("not a site")
	_, err := store.Restore(t.Context(), path, store.Options{DataDir: dir, Command: "restore"}, func(ctx context.Context, client redis.UniversalClient) error {
		if got := client.Get(ctx, "key").Val(); got != "value" {
			t.Errorf("the check sees %q, want value", got)
		}
		return refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("restore of refused data: %v, want %v", err, refused)
	}
	for _, command := range []string{"", "check"} {
		if text := openError(t, store.Options{DataDir: dir, Command: command}); !strings.Contains(text, "a restore into "+dir+" was interrupted: run it again") {
			t.Errorf("a start after that: %s, want an error that says so", text)
		}
	}
	require.NoError(t, restore(t, path, dir))
	wantValue(t, open(t, store.Options{DataDir: dir}), "key", "value")
	if _, err := os.Stat(filepath.Join(dir, "restoring")); !os.IsNotExist(err) {
		t.Errorf("the restore leaves a folder: %v", err)
	}
}
