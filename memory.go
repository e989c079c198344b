package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// freeGarbage is how many bytes of garbage may pile up before the percentage is lowered below GOGC.
// It is never lowered below 100 %.
const freeGarbage = 16 << 20

// setMemory sets how much garbage may pile up between two collections: gcPercent of a small live heap, and a
// lower percentage of a large one, such as that of many open streams. Above limit, in bytes, garbage is
// collected more often.
func setMemory(gcPercent int, limit int64) {
	debug.SetMemoryLimit(limit)
	paceGC(gcPercent, debug.SetGCPercent(gcPercent))
}

// paceGC sets the percentage from the size of the live heap, now and after each collection. To run
// after the next collection, it attaches a finalizer that calls it again to an unreachable object. A cleanup would run when
// all of the heap is swept, which on a busy machine is shortly before the collection that it should pace.
func paceGC(maximum, current int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := min(maximum, max(100, int(freeGarbage*100/max(live[0].Value.Uint64(), 1)))) // #nosec G115 -- at most 100 times freeGarbage
	if percent != current {
		debug.SetGCPercent(percent)
	}
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { paceGC(maximum, percent) })
}
