//go:build unix

package watchfile_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"frontpage/redisrepo/store/watchfile"
	"frontpage/tests/require"
)

// Reading a pipe waits until something writes to it.
func TestAPipeIsNotRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, os.WriteFile(path, []byte("1"), 0o600))
		var log bytes.Buffer
		files := require.Value(watchfile.Read(slog.New(slog.NewTextHandler(&log, nil)), join, path))(t)
		for _, step := range []struct {
			change       func() error
			want, logged string
		}{
			{func() error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) }, "1", path + ": not a regular file"},
			{func() error { return errors.Join(os.Remove(path), os.WriteFile(path, []byte("2"), 0o600)) }, "2", "reloaded"},
		} {
			require.NoError(t, step.change())
			<-time.After(watchfile.Interval)
			if got := files.Latest(); got != step.want || !strings.Contains(log.String(), step.logged) {
				t.Errorf("got %q, want %q; the log has %q, want %q in it", got, step.want, log.String(), step.logged)
			}
		}
		require.NoError(t, errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)))
		if _, err := watchfile.Read(slog.New(slog.DiscardHandler), join, path); err == nil || !strings.Contains(err.Error(), ": not a regular file") {
			t.Errorf("at the start: %v, want that it is not a regular file", err)
		}
	})
}
