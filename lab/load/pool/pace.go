package pool

import (
	"math"

	"dyno/lab/load"
)

// pace puts every call into the backlog at its intended time.
func (r *poolRun) pace() {
	defer r.due.close()
	sleep := r.pool.sleep
	if sleep == nil {
		sleep = load.PacingThread()
	}
	schedule := r.plan.Schedule()
	for {
		at, ok := schedule()
		at += r.plan.Start
		if !ok || at >= r.plan.SendUntil() {
			r.nextArrival(math.MaxInt64)
			return
		}
		r.nextArrival(at)
		if !load.WaitUntil(r.working, at, sleep) {
			return
		}
		d, ok := r.arrive(at)
		if !ok {
			r.nextArrival(math.MaxInt64)
			return
		}
		r.due.put(d)
	}
}

func (r *poolRun) nextArrival(at int64) {
	r.mu.Lock()
	r.next = at
	r.mu.Unlock()
}
