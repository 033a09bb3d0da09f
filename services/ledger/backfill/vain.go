package backfill

import (
	"sync/atomic"
	"time"
)

// vain is for how long servers are asked, and none answers rightly: what Config.Patience bounds. Time does not count
// while nothing is to be fetched, as when the sink is what all wait for, nor while a server has said when to ask it again.
type vain struct {
	fetches atomic.Int64 // under way

	good   time.Time // when a right answer came last
	at     time.Time // of the last pass
	asking bool      // since then
	spent  time.Duration
}

// pass says how much of the time since a right answer counts; good is when that came, and asking whether time counts now.
func (v *vain) pass(now, good time.Time, asking bool) time.Duration {
	switch {
	case !good.Equal(v.good):
		v.good, v.spent = good, 0
	case asking && v.asking:
		v.spent += now.Sub(v.at)
	}
	v.at, v.asking = now, asking
	return v.spent
}
