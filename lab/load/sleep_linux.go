package load

import "golang.org/x/sys/unix"

// preparePacing makes the calling thread's timers fire on time: by default the kernel may delay
// them by 50 us to save wake-ups.
func preparePacing() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // 1 ns; if this fails, requests are a little late, which the send lag shows
}

// sleepUntil blocks the thread until an instant of CLOCK_MONOTONIC. Go's own timers may be up to
// 1 ms late when the process is otherwise idle.
func sleepUntil(at int64) {
	ts := unix.NsecToTimespec(at)
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) // after EINTR the caller checks the clock again
}
