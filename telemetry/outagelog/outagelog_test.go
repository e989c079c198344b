package outagelog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"frontpage/redisrepo/failover"
	"frontpage/telemetry/outagelog"
)

var (
	errAway     = fmt.Errorf("list: %w: connection refused", failover.ErrUnavailable)
	errReadOnly = fmt.Errorf("vote: %w: MISCONF", failover.ErrReadOnly)
	errDenied   = fmt.Errorf("%w: %w: NOPERM", failover.ErrReadOnly, failover.ErrDenied)
)

// followed is a log, the store that it follows, and what was written.
type followed struct {
	*outagelog.Log
	log *slog.Logger

	mu    sync.Mutex
	text  bytes.Buffer
	store error // of a check
}

// Write receives a line.
func (f *followed) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.Write(line)
}

// becomes sets the error of later checks.
func (f *followed) becomes(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.store = err
}

func (f *followed) serves(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.store
}

// follow calls test with a log, in time that passes at once.
func follow(t *testing.T, level slog.Level, test func(f *followed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &followed{}
		options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}
		f.Log = outagelog.New(slog.NewTextHandler(f, options))
		f.log = f.Logger()
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); f.Wait() }()
		f.Follow(ctx, f.serves)
		test(f)
	})
}

// written returns the lines since the last call.
func (f *followed) written() string {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.text.Reset()
	return f.text.String()
}

func check(t *testing.T, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("got the lines\n%s\nwant\n%s", got, want)
	}
}

func TestOutageIsLoggedWhenItBeginsEveryMinuteAndWhenItEnds(t *testing.T) {
	t.Parallel()
	follow(t, slog.LevelInfo, func(f *followed) {
		f.becomes(errAway)
		for range 1400 {
			f.log.Warn("store unavailable", "operation", "Page", "err", errAway)
			f.log.With("part", "a").WithGroup("g").Error("persisted query not read", "err", errAway)
			<-time.After(99 * time.Millisecond)
		}
		f.becomes(nil)
		<-time.After(5 * time.Second)
		check(t, f.written(), `
level=WARN msg="the store does not answer" err="list: the store does not answer: connection refused"
level=WARN msg="the store still does not answer" since=1m0s failures=1214
level=WARN msg="the store still does not answer" since=2m0s failures=2426
level=INFO msg="the store answers again" after=2m18.5s failures=2800`)
	})
}

// An outage does not end while requests fail, even if checks succeed, nor while checks fail.
func TestOutageEndsWhenNeitherRequestsNorChecksFail(t *testing.T) {
	t.Parallel()
	follow(t, slog.LevelInfo, func(f *followed) {
		for range 10 {
			f.log.Warn("store unavailable", "err", errAway)
			<-time.After(time.Second)
		}
		f.becomes(errAway)
		<-time.After(9500 * time.Millisecond)
		f.becomes(nil)
		check(t, f.written(), `level=WARN msg="the store does not answer" err="list: the store does not answer: connection refused"`)
		<-time.After(5 * time.Second)
		check(t, f.written(), `level=INFO msg="the store answers again" after=19s failures=10`)
	})
}

// A store that refuses writes is another outage than one that does not answer. One does not end the other.
func TestKindsOfOutagesAreToldApart(t *testing.T) {
	t.Parallel()
	follow(t, slog.LevelInfo, func(f *followed) {
		f.becomes(errReadOnly)
		f.log.Warn("store refuses writes", "err", errReadOnly)
		<-time.After(5500 * time.Millisecond)
		f.becomes(errAway)
		f.log.Warn("store unavailable", "err", errAway)
		<-time.After(9500 * time.Millisecond)
		f.becomes(errReadOnly)
		<-time.After(9600 * time.Millisecond)
		f.becomes(nil)
		<-time.After(10 * time.Second)
		f.becomes(errDenied)
		f.log.Error("store unavailable", "err", errDenied)
		<-time.After(5500 * time.Millisecond)
		f.becomes(nil)
		<-time.After(10 * time.Second)
		check(t, f.written(), `
level=WARN msg="the store refuses writes" err="vote: the store does not answer to writes: MISCONF"
level=WARN msg="the store does not answer" err="list: the store does not answer: connection refused"
level=INFO msg="the store answers again" after=9s failures=1
level=INFO msg="the store takes writes again" after=24s failures=1
level=ERROR msg="the store denies access: a login or a right is missing" err="the store does not answer to writes: the store does not answer: login or right missing: NOPERM"
level=INFO msg="the store allows access again" after=5s failures=1`)
	})
}

// A store that comes and goes for an hour writes about two lines a minute.
func TestStoreThatComesAndGoesWritesFewLines(t *testing.T) {
	t.Parallel()
	follow(t, slog.LevelInfo, func(f *followed) {
		for range 360 {
			f.log.Warn("store unavailable", "err", errAway)
			<-time.After(10 * time.Second)
		}
		<-time.After(2 * time.Minute)
		if lines := strings.Count(f.written(), "\n"); lines > 90 {
			t.Errorf("got %d lines in an hour, want at most 90", lines)
		}
	})
}

// A failed check begins an outage, too. Then the caller has nothing to log.
func TestFailedCheckBeginsAnOutage(t *testing.T) {
	t.Parallel()
	follow(t, slog.LevelInfo, func(f *followed) {
		if !f.Check() {
			t.Error("a store that serves is said to be away")
		}
		check(t, f.written(), "")
		f.becomes(errAway)
		if f.Check() {
			t.Error("a store that is away is said to serve")
		}
		check(t, f.written(), `level=WARN msg="the store does not answer" err="list: the store does not answer: connection refused"`)
	})
}

// Only warnings and errors that are due to the store are left out, and at level debug not even these.
func TestOtherLinesAreWritten(t *testing.T) {
	t.Parallel()
	follow(t, slog.LevelDebug, func(f *followed) {
		f.becomes(errAway)
		f.log.Info("leases are lost", "err", errAway)
		f.log.Error("resolver failed", "err", errors.New("a bug"))
		f.log.Warn("store unavailable", "path", "articles", "err", errAway)
		check(t, f.written(), `
level=INFO msg="leases are lost" err="list: the store does not answer: connection refused"
level=ERROR msg="resolver failed" err="a bug"
level=WARN msg="the store does not answer" err="list: the store does not answer: connection refused"
level=DEBUG msg="store unavailable" path=articles err="list: the store does not answer: connection refused"`)
	})
}

// Before an outage can be followed, as in a command, failures are logged as they are.
func TestWithoutFollowEveryLineIsWritten(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	log := outagelog.New(slog.NewTextHandler(&text, nil)).Logger()
	log.Warn("store unavailable", "err", errAway)
	if !strings.Contains(text.String(), "store unavailable") {
		t.Errorf("got %q, want the line", text.String())
	}
}
