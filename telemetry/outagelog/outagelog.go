// Package outagelog logs outages of the store when they begin, once a minute while they last, and when they end,
// instead of once for each failed request.
package outagelog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"frontpage/redisrepo/failover"
)

const (
	checkEvery  = time.Second
	remindEvery = time.Minute
	// calm is how long the store must serve until an outage is over. It doubles with each outage that begins within
	// maxCalm after the last one, up to maxCalm, so that a store that comes and goes writes few lines.
	calm    = 2 * time.Second
	maxCalm = time.Minute
)

// kinds are the kinds of outages. An error belongs to the first that it matches.
var kinds = [...]struct {
	is                  error
	level               slog.Level
	begins, lasts, ends string
}{
	{failover.ErrDenied, slog.LevelError, "the store denies access: a login or a right is missing", "the store still denies access", "the store allows access again"},
	{failover.ErrReadOnly, slog.LevelWarn, "the store refuses writes", "the store still refuses writes", "the store takes writes again"},
	{failover.ErrUnavailable, slog.LevelWarn, "the store does not answer", "the store still does not answer", "the store answers again"},
}

// kindOf returns the kind of outage that an error is a sign of, or -1.
func kindOf(err error) int {
	for i, kind := range kinds {
		if errors.Is(err, kind.is) {
			return i
		}
	}
	return -1
}

// Log is a log that detects and summarizes outages. It is safe for concurrent use.
type Log struct {
	inner slog.Handler
	log   *slog.Logger // writes to inner

	mu       sync.Mutex
	ctx      context.Context             // of Follow; nil before
	check    func(context.Context) error // of Follow
	outages  [len(kinds)]outage
	watching sync.WaitGroup
}

// outage is one that goes on, or the last one of its kind.
type outage struct {
	going    bool
	began    time.Time
	last     time.Time // when the store last failed
	told     time.Time // when the last line was logged
	failures int       // lines that were left out
	ended    time.Time
	calm     time.Duration
}

// New returns a log that writes to inner.
func New(inner slog.Handler) *Log { return &Log{inner: inner, log: slog.New(inner)} }

// Logger returns the logger. Once Follow has been called, it counts warnings and errors caused by the store instead of
// writing them. At level debug it also writes them.
func (l *Log) Logger() *slog.Logger { return slog.New(handler{l.inner, l}) }

// Follow follows outages until ctx ends; it does not block. check returns an error unless the store serves. It is
// called only during an outage, and by Check.
func (l *Log) Follow(ctx context.Context, check func(context.Context) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ctx, l.check = ctx, check
}

// Wait waits until no check is under way. It is called after the context of Follow has ended.
func (l *Log) Wait() { l.watching.Wait() }

// Check checks the store, and reports whether it serves. If not, an outage begins. Call Follow before.
func (l *Log) Check() bool {
	err := l.serves()
	return kindOf(err) < 0 || !l.note(err, 0)
}

func (l *Log) serves() error {
	ctx, cancel := context.WithTimeout(l.ctx, checkEvery)
	defer cancel()
	return l.check(ctx)
}

// note notes that the store has failed, and lets the outage begin. It reports whether outages are followed.
func (l *Log) note(err error, failures int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || l.ctx.Err() != nil {
		return false
	}
	kind, now := kindOf(err), time.Now()
	o := &l.outages[kind]
	o.last = now
	o.failures += failures
	if !o.going {
		if now.Sub(o.ended) < maxCalm {
			o.calm = min(2*o.calm, maxCalm)
		} else {
			o.calm = calm
		}
		*o = outage{going: true, began: now, last: now, told: now, failures: failures, calm: o.calm}
		l.log.Log(l.ctx, kinds[kind].level, kinds[kind].begins, "err", err)
		l.watching.Go(func() { l.watch(kind) })
	}
	return true
}

// watch checks the store until an outage is over.
func (l *Log) watch(kind int) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.ctx.Done():
			return
		}
		found := kindOf(l.serves())
		if l.ctx.Err() != nil || l.over(kind, found) {
			return
		}
	}
}

// over reports whether an outage is over, after a check that has found another outage, the same one, or none: -1. It
// logs that it is over, or once a minute that it is not.
func (l *Log) over(kind, found int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	o, now := &l.outages[kind], time.Now()
	if found >= kind { // while the store does not answer at all, what it refuses is unknown
		o.last = now
	}
	o.going = now.Sub(o.last) < o.calm
	switch {
	case !o.going:
		o.ended = now
		l.log.InfoContext(l.ctx, kinds[kind].ends, "after", rounded(o.last.Sub(o.began)), "failures", o.failures)
	case now.Sub(o.told) >= remindEvery:
		o.told = now
		l.log.Log(l.ctx, kinds[kind].level, kinds[kind].lasts, "since", rounded(now.Sub(o.began)), "failures", o.failures)
	}
	return !o.going
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

// handler is a slog.Handler that leaves out lines about an outage.
type handler struct {
	slog.Handler
	log *Log
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if err := cause(r); err == nil || !h.log.note(err, 1) {
		return h.Handler.Handle(ctx, r)
	}
	if !h.Enabled(ctx, slog.LevelDebug) {
		return nil
	}
	r.Level = slog.LevelDebug
	return h.Handler.Handle(ctx, r)
}

// cause returns the error of the store that a warning or an error is about, or nil.
func cause(r slog.Record) (found error) {
	if r.Level < slog.LevelWarn {
		return nil
	}
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && kindOf(err) >= 0 {
			found = err
		}
		return found == nil
	})
	return found
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.log}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.log}
}
