package soak

import (
	"context"
	"math/rand/v2"
	"time"
)

// plan is when a process crashes.
type plan struct {
	burst bool          // right after many notices were asked for
	after time.Duration // after it was ready, or after the burst
	again bool          // and the next process while it starts
}

// startUp is within what a start takes: a crash that much after the start meets a process which is
// reading its logs, or has just begun to serve.
const startUp = 120 * time.Millisecond

// draw chooses a plan.
func draw(random *rand.Rand) plan {
	p := plan{again: random.IntN(4) == 0}
	switch kind := random.IntN(10); {
	case kind < 2: // immediately
	case kind < 4:
		p.burst = true
		p.after = time.Duration(random.Int64N(int64(50 * time.Millisecond)))
	default:
		p.after = time.Duration(random.Int64N(int64(1500 * time.Millisecond)))
	}
	return p
}

// wait returns when the process is to crash.
func (p plan) wait(ctx context.Context, r *run, on *life) error {
	if p.burst {
		select {
		case r.bursts <- struct{}{}:
		default: // one is still wanted
		}
	}
	return on.live(ctx, p.after)
}
