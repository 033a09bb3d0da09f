package usage

import "golang.org/x/sys/unix"

// processClock reads the CPU clock of a process, in s. It computes the clock's ID as
// clock_getcpuclockid(3) does.
func processClock(pid int) (float64, bool) {
	const scheduler = 2 // CPUCLOCK_SCHED: the sum that the scheduler keeps, in ns
	var ts unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|scheduler), &ts) != nil {
		return 0, false
	}
	return float64(ts.Nano()) / 1e9, true
}
