package limiter

import "time"

// backoff is the share of a limit that remains after a cut. Three quarters: TCP's half loses more
// throughput than a database that is briefly slow requires, and since one cut is made per round
// trip, four of them still reach less than a third.
const backoff = 0.75

// control adapts a limit.
type control struct {
	AIMD
	good int       // units with a good outcome since the limit last changed
	cut  time.Time // time of the last cut
}

// next returns the limit after a request has ended; inUse still includes its units.
func (c *control) next(limit, inUse int, p Permit, o Outcome) int {
	if o == Ignored {
		return limit
	}
	now := time.Now()
	switch {
	case o == Dropped || c.Target > 0 && now.Sub(p.begin) > c.Target:
		// A request that began before the last cut does not show whether that cut was enough.
		if p.begin.Before(c.cut) {
			return limit
		}
		c.good, c.cut = 0, now
		return max(c.Min, int(float64(limit)*backoff))
	case inUse*2 < limit:
		// It shows only that half of the limit was not too much.
		return limit
	}
	if c.good += p.units; c.good >= limit {
		c.good = 0
		return min(limit+1, c.Max)
	}
	return limit
}
