//go:build unix

package store_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/store"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// failingCommands runs commands at once, each of which must fail.
func failingCommands(t *testing.T, s *store.Store, commands int) {
	t.Helper()
	var all sync.WaitGroup
	for range commands {
		all.Go(func() {
			if err := s.Client.Get(t.Context(), "key").Err(); err == nil || errors.Is(err, redis.Nil) {
				t.Error("a command succeeded without Redis")
			}
		})
	}
	all.Wait()
}

// impostor takes a server's place: it counts connections, and either closes them at once or never replies.
func impostor(t *testing.T, socket string, closes bool) (connections *atomic.Int64, end func()) {
	t.Helper()
	require.NoError(t, os.RemoveAll(socket))
	l := require.Value(net.Listen("unix", socket))(t)
	connections = new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			if closes {
				_ = conn.Close()
			} else {
				t.Cleanup(func() { _ = conn.Close() })
			}
		}
	}()
	return connections, func() { _ = l.Close() }
}

// A command connects at most twice, and waits for at most one timeout each time, so it fails fast.
func TestCommandsFailFastDuringAnOutage(t *testing.T) {
	t.Parallel()
	r := startServer(t, "--appendonly", "yes")
	s := open(t, store.Options{URL: r.url()})
	for _, closes := range []bool{true, false} {
		set(t, s, "key", "value")
		r.kill()
		connections, end := impostor(t, r.socket, closes)
		failingCommands(t, s, 100)
		end()
		if n := connections.Load(); n == 0 || n > 200 {
			t.Errorf("100 commands connected %d times, want at most twice each", n)
		}
		err := s.Client.Ping(t.Context()).Err()
		var network net.Error
		if !errors.As(err, &network) || !strings.Contains(err.Error(), r.socket) {
			t.Errorf("error = %v, want a net.Error that names the address", err)
		}
		r.start()
		wantValue(t, s, "key", "value")
	}
}

func TestCommandsTimeOutWhenRedisHangs(t *testing.T) {
	t.Parallel()
	r := startServer(t)
	s := open(t, store.Options{URL: r.url(), Timeout: 200 * time.Millisecond})
	set(t, s, "key", "value")
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGSTOP))
	failingCommands(t, s, 100)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Client.Get(ctx, "key").Err(); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a command with a deadline of 50 ms returned %v, want that it was exceeded", err)
	}
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGCONT))
	wantValue(t, s, "key", "value")
}

func TestSubscriptionSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	r := startServer(t)
	s := open(t, store.Options{URL: r.url()})
	subscription := s.Client.Subscribe(t.Context(), "news")
	defer subscription.Close()
	messages := subscription.Channel()
	publish := func(text string) {
		t.Helper()
		require.Eventually(t, "subscriber", func() bool { return s.Client.Publish(t.Context(), "news", text).Val() > 0 })
		if m := <-messages; m == nil || m.Payload != text {
			t.Fatalf("message = %v, want %q", m, text)
		}
	}
	publish("before")
	r.kill()
	r.start()
	publish("after")
}

// Not parallel: go-redis has one logger for the whole process.
func TestMessagesOfTheRedisClientAreLogged(t *testing.T) {
	var log sitetest.Log
	open(t, store.Options{URL: "memory://", Log: log.Logger(slog.LevelDebug)})
	other := redis.NewClient(&redis.Options{Addr: unused(t), DialerRetries: 1})
	defer other.Close()
	if err := other.Ping(t.Context()).Err(); err == nil {
		t.Fatal("PING succeeded on an unused port")
	}
	if text := log.String(); !strings.Contains(text, "level=DEBUG") || !strings.Contains(text, "failed to dial") {
		t.Errorf("log = %q, want the client's message at level debug", text)
	}
}

func TestMemoryWarnsAndExpiresKeys(t *testing.T) {
	t.Parallel()
	var log sitetest.Log
	s := open(t, store.Options{URL: "memory://", Log: log.Logger(slog.LevelInfo)})
	if s.Kind != store.Memory || !strings.Contains(s.String(), "all data is lost") {
		t.Errorf("Kind = %q, String() = %q, want memory and a warning", s.Kind, s)
	}
	if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "REDIS_URL") {
		t.Errorf("log = %q, want a warning that says how to keep data", text)
	}

	require.NoError(t, s.Client.Set(t.Context(), "short", 1, 2*time.Second).Err())
	set(t, s, "kept", "1")
	require.Eventually(t, "expiry", func() bool { return s.Client.Exists(t.Context(), "short").Val() == 0 })
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
