package settings

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"frontpage/must"
)

// Of equal lines ten are logged in five seconds. The first one after that says how many were left out.
func TestRateOfEqualLogLinesIsBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	log := (&Process{LogFormat: "text"}).loggerTo(&text)
	handlers := []slog.Handler{log.Handler(), log.With("part", "a").Handler(), log.WithGroup("g").Handler()}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 6_000 { // 100 lines a second for a minute
		r := slog.NewRecord(start.Add(time.Duration(i)*10*time.Millisecond), slog.LevelWarn, "store unavailable", 0)
		must.Do(t, handlers[i%3].Handle(context.Background(), r))
	}
	log.Info("another line")
	if lines := strings.Count(text.String(), "store unavailable"); lines != 12*10 {
		t.Errorf("got %d lines in 12 periods, want 120", lines)
	}
	if told := strings.Count(text.String(), "left_out=490"); told != 11 || !strings.Contains(text.String(), "another line") {
		t.Errorf("got %d lines that say how many were left out, want 11, and another line: %s", told, text.String())
	}
}
