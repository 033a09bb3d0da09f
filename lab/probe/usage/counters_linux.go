package usage

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// event is something that perf_event_open(2) can count.
type event struct {
	kind   uint32 // PERF_TYPE_...
	config uint64
}

var (
	cacheMisses = event{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES}
	tlbMisses   = event{unix.PERF_TYPE_HW_CACHE, unix.PERF_COUNT_HW_CACHE_DTLB | unix.PERF_COUNT_HW_CACHE_OP_READ<<8 | unix.PERF_COUNT_HW_CACHE_RESULT_MISS<<16}
)

// maxCounted is the maximum number of threads to count in; each takes an open file per event. The
// threads and processes that they start count with them.
const maxCounted = 256

// counter counts an event outside the kernel, in threads and in the threads and processes that
// those start.
type counter struct {
	files []int
	last  float64
}

// openCounter begins to count. The count stays 0 if counting is not permitted, or if a virtual
// processor has no counters.
func openCounter(e event, tids []int) *counter {
	c := &counter{}
	for _, tid := range tids[:min(len(tids), maxCounted)] {
		attr := unix.PerfEventAttr{
			Type: e.kind, Config: e.config, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
			Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
			Bits:        unix.PerfBitInherit | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
		}
		if fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC); err == nil {
			c.files = append(c.files, fd)
		}
	}
	return c
}

// grown returns the count since the previous call.
func (c *counter) grown() float64 {
	sum, buf := 0.0, make([]byte, 24)
	for _, fd := range c.files {
		if n, err := unix.Read(fd, buf); err == nil && n == len(buf) {
			sum += scaled(buf)
		}
	}
	grown := max(0, sum-c.last) // a scaled count may fall
	c.last += grown
	return grown
}

// scaled returns a count, extrapolated from the time in which the event was counted to the time in
// which it should have been: if there are more events than hardware counters, they take turns.
func scaled(b []byte) float64 {
	order := binary.NativeEndian
	count, wanted, ran := order.Uint64(b), order.Uint64(b[8:]), order.Uint64(b[16:])
	if ran == 0 {
		return 0
	}
	return float64(count) * max(1, float64(wanted)/float64(ran))
}

func (c *counter) close() {
	for _, fd := range c.files {
		unix.Close(fd)
	}
	c.files = nil
}
