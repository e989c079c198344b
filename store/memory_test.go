//go:build unix

package store_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/store"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	var log record
	s := open(t, store.Options{URL: "memory://", Log: log.logger(slog.LevelInfo)})
	if s.Kind != store.Memory || !strings.Contains(s.String(), "nothing is kept") {
		t.Errorf("the store is %q, %q", s.Kind, s)
	}
	if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "REDIS_URL") {
		t.Errorf("the log says %q, want a warning and the way out", text)
	}

	if err := s.Client.Set(t.Context(), "short", 1, 2*time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	set(t, s, "kept", "1")
	eventually(t, "expiry", func() bool { return s.Client.Exists(t.Context(), "short").Val() == 0 })
	wantValue(t, s, "kept", "1")

	now, err := s.Client.Eval(t.Context(), "return tonumber(redis.call('TIME')[1])", nil).Int64()
	if off := time.Now().Unix() - now; err != nil || off < 0 || off > 5 {
		t.Errorf("a script sees a time %d seconds behind, %v", off, err)
	}
}

func TestMemoryIsClosedToOthers(t *testing.T) {
	t.Parallel()
	s := open(t, store.Options{URL: "memory://"})
	stranger := redis.NewClient(&redis.Options{Addr: s.Client.(*redis.Client).Options().Addr})
	defer stranger.Close()
	if err := stranger.Ping(t.Context()).Err(); !redis.HasErrorPrefix(err, "NOAUTH") {
		t.Errorf("a client without the password gets %v, want NOAUTH", err)
	}
}

// Not parallel: it changes PATH.
func TestWithoutRedisOnPath(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if s := open(t, store.Options{DataDir: t.TempDir()}); s.Kind != store.Memory {
		t.Errorf("without redis-server the store is %v, want memory", s.Kind)
	}
	if text := refused(t, store.Options{URL: "spawn://", DataDir: t.TempDir()}); !strings.Contains(text, "no redis-server or valkey-server on PATH") {
		t.Errorf("a forced child: %s", text)
	}
}
