package backfill

import (
	"errors"
	"sync/atomic"
	"time"
)

// ErrStalled ends a run when servers are asked for Config.StallTimeout in vain.
var ErrStalled = errors.New("no right answer from any server")

// stallDetector measures for how long servers have been asked without one right answer:
// Config.StallTimeout bounds that. Time does not count while no ledger needs fetching, as when the
// Sink is the bottleneck, nor while a server's Retry-After is pending.
type stallDetector struct {
	fetches atomic.Int64 // in progress

	good   time.Time // time of the last right answer
	at     time.Time // time of the last call of pass
	asking bool      // at that time
	spent  time.Duration
}

// pass returns how much of the time since the last right answer counts. good is the time of that
// answer; asking says whether time counts from now on.
func (d *stallDetector) pass(now, good time.Time, asking bool) time.Duration {
	switch {
	case !good.Equal(d.good):
		d.good, d.spent = good, 0
	case asking && d.asking:
		d.spent += now.Sub(d.at)
	}
	d.at, d.asking = now, asking
	return d.spent
}
