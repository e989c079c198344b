//go:build unix

package store_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/must"
	"frontpage/store"
)

func TestMemoryWarnsAndExpiresKeys(t *testing.T) {
	t.Parallel()
	var log record
	s := open(t, store.Options{URL: "memory://", Log: log.logger(slog.LevelInfo)})
	if s.Kind != store.Memory || !strings.Contains(s.String(), "all data is lost") {
		t.Errorf("Kind = %q, String() = %q, want memory and a warning", s.Kind, s)
	}
	if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "REDIS_URL") {
		t.Errorf("log = %q, want a warning that says how to keep data", text)
	}

	must.Do(t, s.Client.Set(t.Context(), "short", 1, 2*time.Second).Err())
	set(t, s, "kept", "1")
	eventually(t, "expiry", func() bool { return s.Client.Exists(t.Context(), "short").Val() == 0 })
	wantValue(t, s, "kept", "1")

	now, err := s.Client.Eval(t.Context(), "return tonumber(redis.call('TIME')[1])", nil).Int64()
	if off := time.Now().Unix() - now; err != nil || off < 0 || off > 5 {
		t.Errorf("TIME in a script is %d seconds late, %v; want 0 to 5", off, err)
	}
}

func TestMemoryRequiresItsPassword(t *testing.T) {
	t.Parallel()
	s := open(t, store.Options{URL: "memory://"})
	other := redis.NewClient(&redis.Options{Addr: s.Client.(*redis.Client).Options().Addr})
	defer other.Close()
	if err := other.Ping(t.Context()).Err(); !redis.HasErrorPrefix(err, "NOAUTH") {
		t.Errorf("PING without the password: %v, want NOAUTH", err)
	}
}

// Not parallel: it changes PATH.
func TestMemoryIsUsedWithoutRedisOnPath(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if s := open(t, store.Options{DataDir: t.TempDir()}); s.Kind != store.Memory {
		t.Errorf("Kind = %v, want memory", s.Kind)
	}
	if text := openError(t, store.Options{URL: "spawn://", DataDir: t.TempDir()}); !strings.Contains(text, "no redis-server or valkey-server on PATH") {
		t.Errorf("error without redis-server = %q, want it to name what is not on PATH", text)
	}
}
