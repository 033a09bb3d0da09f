package load

import (
	"runtime"
	"runtime/debug"
)

// garbage bounds the memory that a run may leave uncollected, in bytes, in addition to what is in
// use when it begins: the requests.
const garbage = 1 << 30

// spareProcs is the number of goroutines that may run in addition to one per core. A sending
// thread at real-time priority that wakes up needs one of the runtime's slots before it can
// continue; if threads that wait for a CPU behind the target's hold all slots, it waits with
// them, and its requests are late.
const spareProcs = 6

// SpareProcs prepares a process that sends load: it is called once, at its start.
func SpareProcs() { runtime.GOMAXPROCS(runtime.NumCPU() + spareProcs) }

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
