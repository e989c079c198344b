//go:build unix

package store_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/store"
)

// failingCommands runs commands at once, each of which must fail, and returns how long the slowest took.
func failingCommands(t *testing.T, s *store.Store, commands int) time.Duration {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	var slowest time.Duration
	for range commands {
		all.Go(func() {
			before := time.Now()
			err := s.Client.Get(t.Context(), "key").Err()
			took := time.Since(before)
			if err == nil || errors.Is(err, redis.Nil) {
				t.Error("a command succeeded without Redis")
			}
			mu.Lock()
			defer mu.Unlock()
			slowest = max(slowest, took)
		})
	}
	all.Wait()
	return slowest
}

func TestCommandsFailFastDuringAnOutage(t *testing.T) {
	t.Parallel()
	r := startServer(t, "--appendonly", "yes")
	s := open(t, store.Options{URL: r.url()})
	for range 3 {
		set(t, s, "key", "value")
		r.kill()
		if slowest := failingCommands(t, s, 200); slowest > time.Second {
			t.Errorf("a command took %v to fail, want at most 1 s", slowest)
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
	if err := r.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if slowest := failingCommands(t, s, 100); slowest > 2*time.Second {
		t.Errorf("a command took %v to fail, want at most 2 s", slowest)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	before := time.Now()
	if err := s.Client.Get(ctx, "key").Err(); err == nil || time.Since(before) > 150*time.Millisecond {
		t.Errorf("a command with a deadline of 50 ms took %v and returned %v, want an error within 150 ms", time.Since(before), err)
	}
	if err := r.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
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
		eventually(t, "subscriber", func() bool { return s.Client.Publish(t.Context(), "news", text).Val() > 0 })
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
	var log record
	open(t, store.Options{URL: "memory://", Log: log.logger(slog.LevelDebug)})
	other := redis.NewClient(&redis.Options{Addr: unused(t), DialerRetries: 1})
	defer other.Close()
	if err := other.Ping(t.Context()).Err(); err == nil {
		t.Fatal("PING succeeded on an unused port")
	}
	if text := log.String(); !strings.Contains(text, "level=DEBUG") || !strings.Contains(text, "failed to dial") {
		t.Errorf("log = %q, want the client's message at level debug", text)
	}
}
