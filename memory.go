package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// freeGarbage is how much garbage the heap may hold by GC_PERCENT alone, bytes. A larger live heap may
// grow by 100 % or GC_PERCENT, whichever is less.
const freeGarbage = 16 << 20

// setMemory sets how much garbage may pile up: gcPercent of the live heap while that is small, and less
// when it is large, so that the memory of many open streams is not multiplied by gcPercent. Above limit,
// in bytes, garbage is collected more often.
func setMemory(gcPercent int, limit int64) {
	debug.SetMemoryLimit(limit)
	paceGC(gcPercent, debug.SetGCPercent(gcPercent))
}

// paceGC sets the percentage from the size of the live heap, now and after each collection. It learns of
// a collection by a cleanup on an object that nothing refers to: the collector runs it, and it starts over
// with a new such object.
func paceGC(maximum, current int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := min(maximum, max(100, int(freeGarbage*100/max(live[0].Value.Uint64(), 1)))) // #nosec G115 -- at most 100 times freeGarbage
	if percent != current {
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new([16]byte), func(percent int) { paceGC(maximum, percent) }, percent)
}
