package pool

import (
	"math"
	"runtime"
	"time"

	"dyno/agent/monotonic"
)

// pace puts every offer into the backlog at its intended time.
func (r *poolRun) pace() {
	defer r.due.close()
	sleep := r.pool.sleep
	if sleep == nil {
		runtime.LockOSThread() // never unlocked: the thread's timer slack has changed, so it ends with this goroutine
		preparePacing()
		sleep = sleepUntil
	}
	schedule := r.plan.Schedule()
	for {
		at, ok := schedule()
		at += r.plan.Start
		if !ok || at >= r.plan.OfferUntil() {
			r.nextOffer(math.MaxInt64)
			return
		}
		r.nextOffer(at)
		if !r.waitUntil(at, sleep) {
			return
		}
		d, ok := r.offer(at)
		if !ok {
			r.nextOffer(math.MaxInt64)
			return
		}
		r.due.put(d)
	}
}

func (r *poolRun) nextOffer(at int64) {
	r.mu.Lock()
	r.next = at
	r.mu.Unlock()
}

// longestSleep bounds the time that the pacing thread sleeps before it checks whether the run is
// over.
const longestSleep = int64(20 * time.Millisecond)

// waitUntil returns false if the run ends before the instant.
func (r *poolRun) waitUntil(at int64, sleep func(until int64)) bool {
	for {
		now := monotonic.Now()
		if r.working.Err() != nil {
			return false
		}
		if now >= at {
			return true
		}
		sleep(min(at, now+longestSleep))
	}
}
