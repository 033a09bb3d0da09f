package experiment

import (
	"cmp"
	"slices"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

const (
	// startSessions and maxSessions bound a search unless the scenario does.
	startSessions = 50
	maxSessions   = 10_000
	// A search doubles the number of sessions, and ends when a number that missed the SLO is at
	// most fine times a number that met it. Each round of a comparison searches again around the
	// number that was found, mostly in three runs: from round to round the machine changes by
	// more than the steps of the search.
	fine, quickFine       = 1.1, 1.15
	roundGrow, roundFine  = 1.3, 1.15
	roundRuns             = 5  // the most runs in a round
	sessionsPerSearch     = 12 // estimate, for the progress line
	leastRounds           = 4  // that give an interval
	sessionWarmup         = time.Second
	sessionLength         = 4 * time.Second // long enough to measure frames at 30/s to 1%
	quickSessionLength    = 2 * time.Second
	thoroughSessionLength = 10 * time.Second
)

// sessionPaces are the paces of runs with sessions. A run opens them before its warm-up.
var sessionPaces = map[Depth]pace{
	Quick:    {search: quickSessionLength, datum: quickSessionLength, warmup: sessionWarmup},
	Default:  {search: sessionLength, datum: sessionLength, warmup: sessionWarmup, rounds: leastRounds},
	Thorough: {search: thoroughSessionLength, datum: thoroughSessionLength, warmup: sessionWarmup, rounds: 2 * leastRounds},
}

// searching plans the next run of a search from the runs so far.
type searching func(runs []*record.Run) (record.RunSpec, bool)

// searchOf returns the search for a variant's best number of concurrent units or sessions.
func (x *executor) searchOf(v scenario.Variant, length time.Duration) searching {
	m := x.opts.Scenario.Measure
	if x.opts.Scenario.Load.Traits().Axis != workload.AxisSessions {
		s := x.byConcurrencyOf(v, length)
		start := max(1, m.StartConcurrency)
		s.Start = min(start, cmp.Or(s.Max, start))
		return s.Next
	}
	most := cmp.Or(m.MaxConcurrency, maxSessions)
	s := capacity.Sessions{SLO: x.exp.SLO, Start: min(cmp.Or(m.StartConcurrency, startSessions), most), Max: most, Grow: 2, Fine: fine, Repeat: true, Length: length}
	if x.opts.Depth == Quick {
		s.Fine = quickFine
	}
	return s.Next
}

// aroundSessions plans a slot of a rotation: a run at the number of sessions that was found, then
// runs with more or fewer. Together they give one sample; a miss is not repeated.
func (x *executor) aroundSessions(p pace, found map[string]capacity.Peak, last string) func(record.RunSpec, []*record.Run) (record.RunSpec, bool) {
	return func(slot record.RunSpec, runs []*record.Run) (record.RunSpec, bool) {
		variant := slot.Variant
		if slot.Role == record.RoleAblation {
			variant = last
		}
		n := found[variant].Concurrency
		if x.fixed() {
			slot.Connections, slot.Length = n, p.datum
			return slot, slices.ContainsFunc(runs, func(r *record.Run) bool { return r.Invalid == "" })
		}
		if len(runs) >= roundRuns {
			return record.RunSpec{}, true // the machine has changed since the search: take what this round has found
		}
		s := capacity.Sessions{SLO: x.exp.SLO, Start: n, Grow: roundGrow, Fine: roundFine, Length: p.datum}
		step, done := s.Next(runs)
		slot.Connections, slot.Length = step.Connections, step.Length
		return slot, done
	}
}

// fixed reports whether the scenario states the number of sessions at which variants are
// compared.
func (x *executor) fixed() bool {
	return len(x.opts.Scenario.Load.Numbers()) > 0
}

// fixedMetric returns the metric of a comparison at a fixed number of sessions: latency or, if
// sessions only receive, CPU per frame.
func (x *executor) fixedMetric() string {
	switch {
	case x.opts.Metric != "" && x.opts.Metric != compare.MetricCapacity:
		return x.opts.Metric
	case x.opts.Scenario.Load.Sessions.PerSession == 0:
		return compare.MetricCPU
	}
	return compare.MetricP99
}
