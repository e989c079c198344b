package watchfile_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"frontpage/redisrepo/store/watchfile"
	"frontpage/tests/require"
)

func join(contents [][]byte) (string, error) {
	text := string(bytes.Join(contents, []byte("+")))
	if strings.Contains(text, "broken") {
		return "", errors.New("it is broken")
	}
	return text, nil
}

func TestLatestFollowsTheFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a, b := filepath.Join(folder, "a"), filepath.Join(folder, "b")
	synctest.Test(t, func(t *testing.T) {
		write := func(path, text string) {
			t.Helper()
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		write(a, "1")
		write(b, "2")
		var log bytes.Buffer
		files := require.Value(watchfile.Read(slog.New(slog.NewTextHandler(&log, nil)), join, a, b))(t)
		for _, step := range []struct {
			change func()
			want   string
			logged string // part of the new lines; empty for none
		}{
			{func() {}, "1+2", ""},
			{func() { write(b, "3") }, "1+3", "reloaded"},
			{func() { write(a, "broken") }, "1+3", "it is broken"},
			{func() {}, "1+3", ""},
			{func() { _ = os.Remove(a) }, "1+3", "no such file"},
			{func() { write(a, "1") }, "1+3", ""},
			{func() { _ = os.Remove(a) }, "1+3", "no such file"},
			{func() { _ = os.Symlink(b, a) }, "3+3", "reloaded"},
		} {
			before := files.Latest()
			step.change()
			if got := files.Latest(); got != before {
				t.Errorf("at once: %q, want %q", got, before)
			}
			log.Reset()
			<-time.After(watchfile.Interval)
			if got := files.Latest(); got != step.want {
				t.Errorf("after %v: %q, want %q", watchfile.Interval, got, step.want)
			}
			if got := log.String(); (got == "") != (step.logged == "") || !strings.Contains(got, step.logged) {
				t.Errorf("the log has %q, want %q", got, step.logged)
			}
		}
	})
}

func TestUnusableFilesAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	if _, err := watchfile.Read(slog.New(slog.DiscardHandler), join, path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v, want that it does not exist", err)
	}
	require.NoError(t, os.WriteFile(path, []byte("broken"), 0o600))
	if _, err := watchfile.Read(slog.New(slog.DiscardHandler), join, path); err == nil || !strings.Contains(err.Error(), "it is broken") {
		t.Errorf("a broken file: %v, want that it is broken", err)
	}
}
