package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// ringSize is the size of a thread's ring buffer, in bytes: at 199 Hz, 22 kB of the deepest
	// stacks arrive between two readings. The ring buffers count as memory that the user locks, so
	// the limit of that bounds the number of sampled threads. The kernel requires a power of 2 of
	// pages.
	ringSize = 32 << 10
	// maxStack is the maximum number of frames of a stack.
	maxStack = 127
)

// Markers in a call chain (linux/perf_event.h).
const (
	contextKernel = ^uint64(127) // -128
	contextUser   = ^uint64(511) // -512
	contextMax    = ^uint64(4094)
)

// ring is the ring buffer with the samples of one thread.
type ring struct {
	fd   int
	mem  []byte
	data []byte
}

// errNoRoom is returned when a limit, such as that of locked memory, does not permit sampling
// another thread.
var errNoRoom = errors.New("no room to sample another thread")

func open(tid int) (*ring, error) {
	fd, err := openEvent(tid)
	if err != nil {
		return nil, err
	}
	mem, err := mapRing(fd)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &ring{fd: fd, mem: mem, data: mem[os.Getpagesize():]}, nil
}

func openEvent(tid int) (fd int, err error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: frequency, Sample_type: unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_CALLCHAIN,
		Bits:             unix.PerfBitFreq | unix.PerfBitExcludeHv | unix.PerfBitExcludeCallchainKernel,
		Sample_max_stack: maxStack,
	}
	fd, err = unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		attr.Bits |= unix.PerfBitExcludeKernel // time in the kernel is then invisible
		fd, err = unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	}
	return fd, whyNotOpened(err)
}

// whyNotOpened names the setting that forbids perf_event_open.
func whyNotOpened(err error) error {
	switch {
	case err == nil || errors.Is(err, unix.ESRCH):
		return err
	case errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE):
		return fmt.Errorf("%w: perf_event_open: %w (raise RLIMIT_NOFILE)", errNoRoom, err)
	case errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%w: perf_event_open: %w", errNoRoom, err)
	}
	return fmt.Errorf("perf_event_open: %w (it needs kernel.perf_event_paranoid at 2 or less, or CAP_PERFMON)", err)
}

// mapRing maps the ring buffer of an event: a page of metadata, and then the data.
func mapRing(fd int) ([]byte, error) {
	page := os.Getpagesize()
	mem, err := unix.Mmap(fd, 0, page+max(ringSize, page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%w: mapping its samples: %w (raise kernel.perf_event_mlock_kb or RLIMIT_MEMLOCK)", errNoRoom, err)
	}
	return mem, nil
}

func (r *ring) close() {
	unix.Munmap(r.mem)
	unix.Close(r.fd)
}

// read returns the samples that the kernel has written since the previous call.
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

// parse decodes records in the kernel's layout for PERF_SAMPLE_IP and PERF_SAMPLE_CALLCHAIN. It
// skips other types of records, and incomplete ones.
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
