package settings

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"frontpage/tests/require"
)

func TestParseDurationReadsDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"7d": 7 * day, "1d12h": 36 * time.Hour, "0d": 0, "0": 0, "90s": 90 * time.Second, "400ms": 400 * time.Millisecond,
		"168h": 7 * day, "1d0.5s": day + 500*time.Millisecond, "106751d23h": 106751*day + 23*time.Hour,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s is parsed as %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "7", "d", "d1h", "7D", "-7d", "+7d", "1.5d", "7d-1h", "7d+1h", "7d1", "7d1d", "1h7d", "7 d", "106752d", "106751d24h", "9223372036854775808d"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q is parsed as %v, want an error", text, got)
		}
	}
}

func TestFormatDurationOmitsZeroParts(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"7d": 7 * day, "1d12h": 36 * time.Hour, "1d1s": day + time.Second, "5m": 5 * time.Minute, "1h": time.Hour, "1h0m1s": time.Hour + time.Second,
		"0s": 0, "400ms": 400 * time.Millisecond, "12s": 12 * time.Second, "10m": 10 * time.Minute, "20h": 20 * time.Hour, "1m30s": 90 * time.Second,
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("%v is formatted as %s, want %s", d, got, want)
		}
	}
}

// parseDuration reverses formatDuration.
func FuzzDuration(f *testing.F) {
	for _, text := range []string{"7d", "1d12h", "90s", "1h30m", "-1s", "106751d23h47m16.854775807s", "1d", "0", "1ns", "00007d", "1d0h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDuration(text)
		if err != nil {
			return
		}
		again, err := parseDuration(formatDuration(d))
		if err != nil || again != d {
			t.Errorf("%q is %d ns, is formatted as %s, and that is parsed as %d ns (%v)", text, d, formatDuration(d), again, err)
		}
	})
}

// An accepted rate is in its range.
func FuzzRate(f *testing.F) {
	for _, text := range []string{"60/1m", "off", "1000000000/1s", "1/7d", "+1/1s", "60/1m/1h", "60 / 1m", "0x10/1m", "99999999999999999999/1m"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rate, err := parseRate(text)
		if err != nil {
			return
		}
		if off := rate.Most == 0 && rate.Window == 0; off != (text == "off") || !off && (rate.Most < 1 || rate.Most > 1_000_000_000 || rate.Window < time.Second) {
			t.Errorf("%q is accepted as %+v, which is out of range", text, rate)
		}
	})
}

// Of equal lines ten are logged in five seconds. The first one after that says how many were left out.
func TestRateOfEqualLogLinesIsBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	log := (&Process{LogFormat: "text"}).loggerTo(&text)
	handlers := []slog.Handler{log.Handler(), log.With("part", "a").Handler(), log.WithGroup("g").Handler()}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 6_000 { // 100 lines a second for a minute
		r := slog.NewRecord(start.Add(time.Duration(i)*10*time.Millisecond), slog.LevelWarn, "store unavailable", 0)
		require.NoError(t, handlers[i%3].Handle(context.Background(), r))
	}
	log.Info("another line")
	if lines := strings.Count(text.String(), "store unavailable"); lines != 12*10 {
		t.Errorf("got %d lines in 12 periods, want 120", lines)
	}
	if told := strings.Count(text.String(), "left_out=490"); told != 11 || !strings.Contains(text.String(), "another line") {
		t.Errorf("got %d lines that say how many were left out, want 11, and another line: %s", told, text.String())
	}
}
