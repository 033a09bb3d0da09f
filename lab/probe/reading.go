package probe

import (
	"dyno/lab/probe/usage"
	"dyno/lab/record"
)

// reading holds the figures from /proc at one boundary. As the last reading of a span, it holds the
// peak memory and the longest accept queue of the span.
type reading struct{ usage.Reading }

func (r reading) when() int64 { return r.At }

func (r reading) between(next reading, at int64) reading {
	share := float64(at-r.At) / float64(next.At-r.At)
	mid := func(a, b float64) float64 { return a + (b-a)*share }
	return reading{usage.Reading{
		At: at, RSS: next.RSS, Accept: next.Accept,
		CPU: mid(r.CPU, next.CPU), System: mid(r.System, next.System),
		Scheduling: usage.Scheduling{
			Delay:   mid(r.Delay, next.Delay),
			Thread:  mid(r.Thread, next.Thread),
			Process: mid(r.Process, next.Process),
		},
		Calls:        r.Calls.Between(next.Calls, share),
		Dependencies: mid(r.Dependencies, next.Dependencies), Self: mid(r.Self, next.Self),
		Busy: mid(r.Busy, next.Busy), Steal: mid(r.Steal, next.Steal),
		Pressure: mid(r.Pressure, next.Pressure), PressureIO: mid(r.PressureIO, next.PressureIO),
		Halts: usage.Halts{
			Waits:       mid(r.Halts.Waits, next.Halts.Waits),
			Preemptions: mid(r.Halts.Preemptions, next.Halts.Preemptions),
			Blocked:     mid(r.Halts.Blocked, next.Halts.Blocked),
		},
		Overflows: mid(r.Overflows, next.Overflows),
		Cache:     mid(r.Cache, next.Cache), TLB: mid(r.TLB, next.TLB),
	}}
}

func (r reading) followedBy(next reading) reading {
	next.RSS = max(r.RSS, next.RSS)
	if r.Accept.Length > next.Accept.Length {
		next.Accept = r.Accept
	}
	return next
}

// server fills in the figures from /proc for the window between r and next.
func (r reading) server(next reading, s *record.Server) {
	s.CPU = usage.Rate(r.CPU, next.CPU, r.At, next.At)
	s.Delay = usage.Rate(r.Delay, next.Delay, r.At, next.At)
	s.RSS = next.RSS
}
