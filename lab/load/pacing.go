package load

import (
	"context"
	"runtime"
	"time"

	"dyno/agent/monotonic"
)

// longestSleep bounds the time that a pacing thread sleeps before it checks whether the run is
// over.
const longestSleep = int64(20 * time.Millisecond)

// PacingThread prepares the calling goroutine for calls of WaitUntil, and returns the function
// with which it sleeps. It locks the goroutine to its thread for good, because it changes the
// thread's timer slack: the thread ends with the goroutine.
func PacingThread() (sleep func(until int64)) {
	runtime.LockOSThread()
	preparePacing()
	return sleepUntil
}

// WaitUntil returns true at an instant on the monotonic clock, as precisely as the machine
// permits. It returns false if ctx is done first.
func WaitUntil(ctx context.Context, at int64, sleep func(until int64)) bool {
	for {
		now := monotonic.Now()
		if ctx.Err() != nil {
			return false
		}
		if now >= at {
			return true
		}
		sleep(min(at, now+longestSleep))
	}
}

// Pause waits; it returns false if ctx is done first.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
