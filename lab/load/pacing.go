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

// PacingThread prepares the calling goroutine for a series of calls of WaitUntil, and returns the
// function with which it sleeps. The thread's timer slack changes, so it is never unlocked from its
// goroutine and ends with it.
func PacingThread() (sleep func(until int64)) {
	runtime.LockOSThread()
	preparePacing()
	return sleepUntil
}

// WaitUntil returns at an instant on the monotonic clock, as precisely as the machine permits. It
// returns false if ctx is done before.
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
