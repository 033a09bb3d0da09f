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

// maxCounted bounds the threads that are counted, each through an open file per event. Threads
// and processes that they start are counted with them.
const maxCounted = 256

// counter counts an event in threads, and in the threads and processes that those start, outside
// the kernel.
type counter struct {
	files []int
	last  float64
}

// openCounter begins to count. It counts nothing if that is not permitted, or if the processor is
// a virtual one without counters.
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

// scaled reads a count and scales it by the times in which it should have run and did run: the
// processor has few counters, and more events than counters share them in turns.
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
