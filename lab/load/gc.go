package load

import (
	"runtime"
	"runtime/debug"
)

// garbage bounds the memory, in bytes, that a run may leave uncollected in addition to what is in
// use when it begins (mainly the requests).
const garbage = 1 << 30

// spareProcs is how much GOMAXPROCS exceeds the number of cores. A sending thread that wakes up
// at real-time priority needs one of the runtime's Ps before it can continue. If threads that
// wait for a CPU behind the target's hold all Ps, the sending thread waits with them, and its
// requests are late.
const spareProcs = 6

// SpareProcs prepares a process that sends load; the process calls it once, at its start.
func SpareProcs() { runtime.GOMAXPROCS(runtime.NumCPU() + spareProcs) }

// PauseGC runs the collector now and then pauses it until the returned function is called, unless
// memory runs short. A collection stops the sending threads until every other thread has reached
// a safe point. A thread that waits for a CPU behind the target's reaches it late, and requests
// would be sent tens of milliseconds late.
func PauseGC() (release func()) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(int64(m.HeapInuse)+garbage)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
