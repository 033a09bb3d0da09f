package store

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// Below these shares the database does work that nothing asked for: a connection made anew costs
// some milliseconds and a process there, a statement that is not in its connection's cache another
// round trip and a plan.
const (
	leastReuse  = 0.85 // of the connections handed out, that were there before
	leastCached = 0.92 // of the statements, that their connection knew
)

const (
	thriftPeriod = 10 * time.Second // over which the shares are taken
	thriftPause  = time.Minute      // between two warnings of a kind
	thriftLeast  = 200              // acquires or statements in a period; of fewer a share says little
)

// thrift watches how often connections and statements are used again, and warns.
type thrift struct {
	last          Stats
	reuse, cached share
}

// share is one of them. Its value, NaN when there was too little to say, is read by others.
type share struct {
	value atomic.Uint64
	told  time.Time
}

func newThrift(first Stats) *thrift {
	t := &thrift{last: first}
	t.reuse.set(math.NaN())
	t.cached.set(math.NaN())
	return t
}

func (s *share) set(v float64) { s.value.Store(math.Float64bits(v)) }
func (s *share) get() float64  { return math.Float64frombits(s.value.Load()) }

// Reuse returns which share of the connections handed out in the last 10 s was there before; NaN
// when there were too few to say.
func (s *Store) Reuse() float64 { return s.thrift.reuse.get() }

// Cached returns which share of the statements of the last 10 s its connection knew; NaN when there
// were too few to say.
func (s *Store) Cached() float64 { return s.thrift.cached.get() }

// look takes the shares since it looked last, and returns what there is to warn of.
func (t *thrift) look(now Stats, at time.Time) (warnings []string) {
	acquires, opened := connections(now)
	acquiredBefore, openedBefore := connections(t.last)
	if low := t.reuse.judge(acquires-acquiredBefore, opened-openedBefore, leastReuse, at); low {
		warnings = append(warnings, fmt.Sprintf("of the connections to the database %.0f%% were used again, fewer than %.0f%%: something ends them (a pooler, idle_session_timeout, a firewall), or the pools are too small",
			100*t.reuse.get(), 100*leastReuse))
	}
	if low := t.cached.judge(now.Statements-t.last.Statements, now.Prepares-t.last.Prepares, leastCached, at); low {
		warnings = append(warnings, fmt.Sprintf("of the statements %.0f%% were known to their connection, fewer than %.0f%%: the others were prepared first; look whether connections are made anew, or a pooler stands between that shares them by statement",
			100*t.cached.get(), 100*leastCached))
	}
	t.last = now
	return warnings
}

// connections sums up what all pools handed out, and what they made.
func connections(s Stats) (acquires, opened uint64) {
	for _, p := range s.Pools {
		acquires += p.Acquires
		opened += p.Opened
	}
	return acquires, opened
}

// judge reports whether to warn: the share of what was used again is too low, and that was not said
// a moment ago.
func (s *share) judge(all, anew uint64, least float64, at time.Time) bool {
	if all < thriftLeast {
		s.set(math.NaN())
		return false
	}
	s.set(max(0, 1-float64(anew)/float64(all)))
	if s.get() >= least || !s.told.IsZero() && at.Sub(s.told) < thriftPause {
		return false
	}
	s.told = at
	return true
}

// watchThrift warns until ctx ends.
func (s *Store) watchThrift(ctx context.Context) {
	tick := time.NewTicker(thriftPeriod)
	defer tick.Stop()
	for {
		select {
		case at := <-tick.C:
			for _, warning := range s.thrift.look(s.Stats(), at) {
				s.options.Log.Warn(warning)
			}
		case <-ctx.Done():
			return
		}
	}
}
