package settings

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Of the lines with one message, equalLines are logged in each equalPeriod. Otherwise an outage, or a client that
// causes one fault in every request, could fill a disk.
const (
	equalLines  = 10
	equalPeriod = 5 * time.Second
)

// limited is a slog.Handler that leaves out lines beyond equalLines. The next line with the message says how many.
type limited struct {
	slog.Handler
	seen *seenLines
}

type seenLines struct {
	mu       sync.Mutex
	messages map[string]*seenLine
}

// seenLine counts the lines with one message.
type seenLine struct {
	began          time.Time
	lines, leftOut int
}

// Handle implements slog.Handler.
func (l limited) Handle(ctx context.Context, r slog.Record) error {
	leftOut, ok := l.seen.admit(r)
	if !ok {
		return nil
	}
	if leftOut > 0 {
		r = r.Clone()
		r.Add("left_out", leftOut)
	}
	return l.Handler.Handle(ctx, r)
}

// admit counts a line. It reports whether to log it, and how many lines were left out before.
func (s *seenLines) admit(r slog.Record) (leftOut int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[r.Message]
	if m == nil {
		m = &seenLine{began: r.Time}
		s.messages[r.Message] = m
	}
	if r.Time.Sub(m.began) >= equalPeriod {
		leftOut = m.leftOut
		*m = seenLine{began: r.Time}
	}
	if m.lines == equalLines {
		m.leftOut++
		return 0, false
	}
	m.lines++
	return leftOut, true
}

// WithAttrs implements slog.Handler.
func (l limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return limited{l.Handler.WithAttrs(attrs), l.seen}
}

// WithGroup implements slog.Handler.
func (l limited) WithGroup(name string) slog.Handler {
	return limited{l.Handler.WithGroup(name), l.seen}
}
