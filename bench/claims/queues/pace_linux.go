package main

import "golang.org/x/sys/unix"

// preparePacing lets the calling thread's timers fire on time: by default the kernel may be 50 us
// late, more than the gap between messages at 30,000/s. It returns the slack before, in ns.
func preparePacing() (before int) {
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		before = 50_000
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it messages are a little late, which the lag shows
	return before
}

func restorePacing(slack int) { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) }

// sleepUntil blocks the thread until an instant of CLOCK_MONOTONIC, in ns.
func sleepUntil(at int64) {
	ts := unix.NsecToTimespec(at)
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) // EINTR: the caller looks at the clock
}
