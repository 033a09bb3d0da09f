package usage

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The clock of a process, found by its ID, is the clock that the process itself reads.
func TestProcessClock(t *testing.T) {
	own := func() float64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
			t.Fatal(err)
		}
		return float64(ts.Nano()) / 1e9
	}
	before := own()
	got, ok := processClock(os.Getpid())
	after := own()
	if !ok || got < before || got > after {
		t.Errorf("the process used %v s, want between %v and %v", got, before, after)
	}
	if _, ok := processClock(1 << 22); ok { // beyond the largest PID
		t.Error("a process that cannot be has a clock")
	}
}

// A reading of the real /proc has the memory and CPU time of this process, and the CPU time of the
// machine.
func TestThisHost(t *testing.T) {
	s := NewSampler(Source{Root: "/", Clock: processClock}, Processes{PID: os.Getpid(), Self: os.Getpid()})
	r := s.Read(1)
	if !s.sees.Target || !s.sees.Machine || r.CPU <= 0 || r.RSS <= 0 || r.Busy <= 0 || r.Self <= 0 {
		t.Errorf("%+v, target seen %v, machine seen %v", r, s.sees.Target, s.sees.Machine)
	}
}
