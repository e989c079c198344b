package main

import (
	"slices"
	"testing"
	"time"
)

func TestSeedReproducesTheSchedule(t *testing.T) {
	t.Parallel()
	faults := []string{"file:kill", "file:tail", "stop", "cut", "latency", "rights"}
	first, again := schedule(7, time.Minute, faults), schedule(7, time.Minute, faults)
	if !slices.Equal(first, again) {
		t.Errorf("the schedules of one seed differ:\n%v\n%v", first, again)
	}
	if other := schedule(8, time.Minute, faults); slices.Equal(first, other) {
		t.Error("two seeds have the same schedule")
	}
	if len(first) < 30 || first[len(first)-1].ends() > time.Minute {
		t.Errorf("%d faults, the last one ends at %v; want at least 30 within a minute", len(first), first[len(first)-1].ends())
	}
	for i, e := range first {
		active := 1
		for _, other := range first[:i] {
			if other.ends() <= e.at {
				continue
			}
			active++
			if kind(other.fault) == kind(e.fault) {
				t.Errorf("%v and %v overlap", other, e)
			}
		}
		if active > atOnce {
			t.Errorf("%d faults at once at %v, want at most %d", active, e.at, atOnce)
		}
	}
}
