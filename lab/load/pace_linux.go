package load

import "golang.org/x/sys/unix"

// preparePacing lets the calling thread's timers fire on time: by default the kernel may be 50 us late
// to save wake-ups.
func preparePacing() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // ns; without it offers are a little late, which the lag shows
}

// sleepUntil blocks the thread until an instant of CLOCK_MONOTONIC. Go's timers round waits below 1 ms
// up when the process is otherwise idle.
func sleepUntil(at int64) {
	ts := unix.NsecToTimespec(at)
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) // EINTR: the caller looks at the clock
}
