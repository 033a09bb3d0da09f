package pacing

import (
	"runtime"
	"runtime/debug"
)

// garbage bounds the memory that a run may leave uncollected, in bytes, beside what is in use when
// it begins: the requests.
const garbage = 1 << 30

// PauseGC runs the collector now and then pauses it until the returned function is called, unless
// memory runs short. A collection stops the sending threads until every other thread has reached
// a safe point, and a thread that waits for a CPU behind the target reaches it late: requests
// would be sent tens of milliseconds after their time.
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
