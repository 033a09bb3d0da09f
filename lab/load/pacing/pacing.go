// Package pacing waits until the instants of a schedule, as precisely as the machine permits,
// and keeps the garbage collector from delaying them.
//
// It is not for choosing the instants: package schedule does. It starts no goroutines.
package pacing

import (
	"context"
	"runtime"
	"time"

	"dyno/agent/monotonic"
)

// longestSleep bounds the time that a pacing thread sleeps before it checks whether the run is
// over.
const longestSleep = int64(20 * time.Millisecond)

// Thread prepares the calling goroutine for a series of Wait and returns its way to sleep. The
// thread's timer slack changes, so it is never unlocked from its goroutine and ends with it.
func Thread() (sleep func(until int64)) {
	runtime.LockOSThread()
	preparePacing()
	return sleepUntil
}

// Wait returns false if ctx is done before the instant on the monotonic clock.
func Wait(ctx context.Context, at int64, sleep func(until int64)) bool {
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
