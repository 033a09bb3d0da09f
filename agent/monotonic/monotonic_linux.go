package monotonic

import (
	"syscall"
	"time"
	"unsafe"
)

const clockMonotonic = 1 // CLOCK_MONOTONIC of clock_gettime(2)

// absolute returns CLOCK_MONOTONIC at the instant base was taken, in ns. It reads both clocks a
// few times and uses the tightest pair, so a preemption between the two readings does not shift
// every later value.
func absolute() int64 {
	best, at := time.Duration(1<<62), int64(0)
	for range 16 {
		var ts syscall.Timespec
		before := time.Since(base)
		if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
			return 0 // every Linux has this clock; 0 keeps Now usable within one process
		}
		after := time.Since(base)
		if width := after - before; width < best {
			best, at = width, ts.Nano()-int64(before+width/2)
		}
	}
	return at
}
