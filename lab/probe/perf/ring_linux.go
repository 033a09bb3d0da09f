package perf

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// pages of a thread's ring: at 199 Hz and 1 KiB a sample it fills in 1.3 s, and it is read every 100 ms.
	pages   = 64
	refresh = 100 * time.Millisecond
	// maxThreads bounds how many threads are sampled.
	maxThreads = 512
	// maxStack is the deepest stack that is kept.
	maxStack = 127
)

// Markers within a call chain (linux/perf_event.h).
const (
	contextKernel = ^uint64(127) // -128
	contextUser   = ^uint64(511) // -512
	contextMax    = ^uint64(4094)
)

// ring is the samples of one thread.
type ring struct {
	fd   int
	mem  []byte
	data []byte
}

// collect samples all threads of a process.
func collect(ctx context.Context, pid int, d time.Duration) ([]sample, error) {
	rings := map[int]*ring{}
	defer func() {
		for _, r := range rings {
			r.close()
		}
	}()
	var out []sample
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for ended := false; !ended; {
		if err := follow(pid, rings); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			ended = true
		case <-tick.C:
		}
		for _, r := range rings {
			out = append(out, r.read()...)
		}
	}
	return out, nil
}

// follow begins to sample the threads that have come about.
func follow(pid int, rings map[int]*ring) error {
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return fmt.Errorf("listing the process's threads: %w", err)
	}
	for _, t := range tasks {
		tid, err := strconv.Atoi(t.Name())
		if err != nil || rings[tid] != nil || len(rings) >= maxThreads {
			continue
		}
		r, err := open(tid)
		if errors.Is(err, unix.ESRCH) {
			continue // it has just ended
		}
		if err != nil {
			return fmt.Errorf("%w: sampling its threads: %w (kernel.perf_event_paranoid, CAP_PERFMON)", ErrUnsupported, err)
		}
		rings[tid] = r
	}
	return nil
}

func open(tid int) (*ring, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: frequency, Sample_type: unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_CALLCHAIN,
		Bits:             unix.PerfBitFreq | unix.PerfBitExcludeHv | unix.PerfBitExcludeCallchainKernel,
		Sample_max_stack: maxStack,
	}
	fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		attr.Bits |= unix.PerfBitExcludeKernel // what is spent there is then not seen
		fd, err = unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	}
	if err != nil {
		return nil, err
	}
	size := os.Getpagesize()
	mem, err := unix.Mmap(fd, 0, (1+pages)*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &ring{fd: fd, mem: mem, data: mem[size:]}, nil
}

func (r *ring) close() {
	unix.Munmap(r.mem)
	unix.Close(r.fd)
}

// read takes what the kernel has put into the ring.
func (r *ring) read() []sample {
	meta := (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.mem[0]))
	head, tail := atomic.LoadUint64(&meta.Data_head), meta.Data_tail
	b := make([]byte, head-tail)
	for i := range b {
		b[i] = r.data[(tail+uint64(i))%uint64(len(r.data))]
	}
	atomic.StoreUint64(&meta.Data_tail, head)
	return parse(b)
}

// parse reads records as the kernel lays them out for IP and CALLCHAIN. Those of other types, and what is cut
// off, are passed over.
func parse(b []byte) []sample {
	const header = 8
	order := binary.NativeEndian
	var out []sample
	for len(b) >= header {
		kind, size := order.Uint32(b), int(order.Uint16(b[6:]))
		if size < header || size > len(b) {
			break
		}
		record := b[header:size]
		b = b[size:]
		if kind != unix.PERF_RECORD_SAMPLE || len(record) < 16 {
			continue
		}
		ip, n := order.Uint64(record), order.Uint64(record[8:])
		chain := record[16:]
		if n > uint64(len(chain)/8) {
			continue
		}
		var s sample
		user := false
		for i := range n {
			switch pc := order.Uint64(chain[8*i:]); {
			case pc == contextUser:
				user = true
			case pc >= contextMax:
				user = false
			case user:
				s.stack = append(s.stack, pc)
			}
		}
		s.kernel = ip>>63 == 1
		if len(s.stack) == 0 && !s.kernel {
			s.stack = []uint64{ip}
		}
		if len(s.stack) > 0 {
			out = append(out, s)
		}
	}
	return out
}
