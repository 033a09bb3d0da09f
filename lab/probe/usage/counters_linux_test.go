package usage

import (
	"encoding/binary"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Every kernel counts page faults, even in a virtual machine.
func TestCounterFollowsItsThreads(t *testing.T) {
	h := Source{Root: "/", Clock: processClock}
	c := openCounter(event{unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS}, h.tasks(os.Getpid()))
	defer c.close()
	if len(c.files) == 0 {
		t.Skip("counting is not permitted here (kernel.perf_event_paranoid, seccomp)")
	}
	c.grown()
	const pages = 1000
	b, err := unix.Mmap(-1, 0, pages*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	if err := unix.Madvise(b, unix.MADV_NOHUGEPAGE); err != nil {
		t.Skipf("a huge page may take a single fault: %v", err)
	}
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 1
	}
	if got := c.grown(); got < pages {
		t.Errorf("%v page faults seen of %d", got, pages)
	}
	files := c.files
	c.close()
	for _, fd := range files {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			t.Errorf("file %d is still open", fd)
		}
	}
}

func TestCounterThatIsNotPermitted(t *testing.T) {
	c := openCounter(event{^uint32(0), 0}, []int{os.Getpid(), 1 << 22}) // no such event, no such process
	defer c.close()
	if got := c.grown(); got != 0 || len(c.files) != 0 {
		t.Errorf("counted %v with %d files", got, len(c.files))
	}
}

func FuzzScaled(f *testing.F) {
	three := func(a, b, c uint64) []byte {
		order := binary.NativeEndian
		return order.AppendUint64(order.AppendUint64(order.AppendUint64(nil, a), b), c)
	}
	f.Add(uint64(10), uint64(4), uint64(2))
	f.Add(uint64(10), uint64(4), uint64(0))
	f.Fuzz(func(t *testing.T, count, wanted, ran uint64) {
		got := scaled(three(count, wanted, ran))
		if ran == 0 && got != 0 || ran > 0 && !(got >= float64(count)) {
			t.Errorf("%d counted in %d of %d ns is %v", count, ran, wanted, got)
		}
		if ran > 0 && wanted == 2*ran && wanted > ran && got != 2*float64(count) {
			t.Errorf("half of the time: %v of %d", got, count)
		}
	})
}
