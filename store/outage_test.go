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

// storm runs commands at once and returns how long the slowest took. All must fail.
func storm(t *testing.T, s *store.Store, commands int) time.Duration {
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

func TestOutage(t *testing.T) {
	t.Parallel()
	r := startServer(t, "--appendonly", "yes")
	s := open(t, store.Options{URL: r.url()})
	for range 3 {
		set(t, s, "key", "value")
		r.kill()
		if slowest := storm(t, s, 200); slowest > time.Second {
			t.Errorf("a command took %v to fail", slowest)
		}
		err := s.Client.Ping(t.Context()).Err()
		var network net.Error
		if !errors.As(err, &network) || !strings.Contains(err.Error(), r.socket) {
			t.Errorf("the error is %v, want one of the network that names the address", err)
		}
		r.start()
		wantValue(t, s, "key", "value")
	}
}

func TestHungServer(t *testing.T) {
	t.Parallel()
	r := startServer(t)
	s := open(t, store.Options{URL: r.url(), Timeout: 200 * time.Millisecond})
	set(t, s, "key", "value")
	if err := r.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if slowest := storm(t, s, 100); slowest > 2*time.Second {
		t.Errorf("a command took %v to fail", slowest)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	before := time.Now()
	if err := s.Client.Get(ctx, "key").Err(); err == nil || time.Since(before) > 150*time.Millisecond {
		t.Errorf("a command with a deadline of 50 ms took %v: %v", time.Since(before), err)
	}
	if err := r.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wantValue(t, s, "key", "value")
}

func TestSubscriptionOutlivesOutage(t *testing.T) {
	t.Parallel()
	r := startServer(t)
	s := open(t, store.Options{URL: r.url()})
	subscription := s.Client.Subscribe(t.Context(), "news")
	defer subscription.Close()
	messages := subscription.Channel()
	publish := func(text string) {
		t.Helper()
		eventually(t, "a subscriber", func() bool { return s.Client.Publish(t.Context(), "news", text).Val() > 0 })
		if m := <-messages; m == nil || m.Payload != text {
			t.Fatalf("the message is %v, want %q", m, text)
		}
	}
	publish("before")
	r.kill()
	r.start()
	publish("after")
}

// Not parallel: go-redis has one logger for the whole process.
func TestClientMessagesGoToTheLog(t *testing.T) {
	var log record
	open(t, store.Options{URL: "memory://", Log: log.logger(slog.LevelDebug)})
	other := redis.NewClient(&redis.Options{Addr: unused(t), DialerRetries: 1})
	defer other.Close()
	if err := other.Ping(t.Context()).Err(); err == nil {
		t.Fatal("there is a server")
	}
	if text := log.String(); !strings.Contains(text, "level=DEBUG") || !strings.Contains(text, "failed to dial") {
		t.Errorf("the log is %q, want the client's message", text)
	}
}
