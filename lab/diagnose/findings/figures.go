package findings

import (
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// figures is a subject with the figures that several finders need, each read once.
type figures struct {
	Subject
	counted []*record.Run   // valid runs without an intervention
	cpu     *record.Profile // without the samples of taking profiles; nil: no profile, or too few samples
	classes map[stacks.Class]float64
	trace   *record.Trace // nil: none
	// requestTime is the goroutine-seconds that requests took while the trace ran; 0: no trace.
	requestTime float64
}

func readFigures(s Subject) *figures {
	l := &figures{Subject: s}
	for _, r := range slices.Concat(s.Saturated, s.Other) {
		if r != nil && r.Invalid == "" && r.Spec.Change == nil {
			l.counted = append(l.counted, r)
		}
	}
	if s.Profiled == nil {
		return l
	}
	if p, err := s.Profiled.Profile(record.ProfileCPU, record.ValueCPU); err == nil {
		l.cpu, l.classes = stacks.Unprofiled(p), stacks.ClassShares(p)
		if l.cpu.Total() < float64(leastSamples) {
			l.cpu = nil
		}
	}
	if t, err := stacks.Trace(s.Profiled); err == nil && t.Seconds > 0 {
		l.trace = t
		l.requestTime = requestTime(s.Profiled, t)
	}
	return l
}

// requestTime is the requests in flight times the trace's length, in goroutine-seconds. If the
// requests in flight are unknown, as in a job, it is the time of all goroutines except their
// waiting for work.
func requestTime(r *record.Run, t *record.Trace) float64 {
	if n := facts.InFlight(r); n > 0 {
		return n * t.Seconds
	}
	sum := t.Running + t.Runnable
	for _, w := range t.Waits {
		if stacks.What(w) != stacks.WaitIdle {
			sum += w.Seconds
		}
	}
	return sum
}

// requests is how many responses were sent while a profile was taken; 0: unknown.
func (l *figures) requests(p *record.Profile) float64 {
	if p.Requests > 0 {
		return p.Requests
	}
	return p.Seconds * l.Profiled.Totals.ThroughputPerS
}

// cores is how many cores were available to the target in a run.
func (l *figures) cores(r *record.Run) float64 { return facts.Available(r, facts.Procs(r, l.Profiled)) }

// steady reports whether a run's load was constant and the target kept up with it.
func steady(r *record.Run) bool {
	return r.Spec.RampTo == 0 && (r.Load.Model == "closed" || r.Totals.ThroughputPerS >= keptUp*r.Totals.OfferedPerS)
}

// cpuWithin returns the share of the CPU time in the matching stacks, and their places.
func (l *figures) cpuWithin(match func(record.Stack) bool) (share float64, where []stacks.Site) {
	if l.cpu == nil {
		return 0, nil
	}
	of := slices.DeleteFunc(slices.Clone(l.cpu.Stacks), func(s record.Stack) bool { return !match(s) })
	where = stacks.Sites(of)
	return stacks.Sum(of) / l.cpu.Total(), where
}

// cpuPerRequest converts a share of the CPU profile to us per request; 0: unknown.
func (l *figures) cpuPerRequest(share float64) float64 {
	if n := l.requests(l.cpu); n > 0 {
		return share * l.cpu.Total() / 1e3 / n
	}
	return 0
}

// waits returns the trace's matching waits, and their sum in goroutine-seconds.
func (l *figures) waits(match func(record.Wait) bool) (of []record.Wait, seconds float64) {
	if l.trace == nil {
		return nil, 0
	}
	for _, w := range l.trace.Waits {
		if match(w) {
			of = append(of, w)
			seconds += w.Seconds
		}
	}
	return of, seconds
}

// pair returns the profiles of these two kinds, taken before and after the load; false: one is
// missing.
func (l *figures) pair(kindBefore, kindAfter, value string) (before, after *record.Profile, ok bool) {
	if l.Profiled == nil {
		return nil, nil, false
	}
	before, err1 := l.Profiled.Profile(kindBefore, value)
	after, err2 := l.Profiled.Profile(kindAfter, value)
	return before, after, err1 == nil && err2 == nil
}

// file is the path of a profile, for a command.
func (l *figures) file(kind string) string {
	for _, p := range l.Profiled.Profiles {
		if p.Kind == kind && p.File != "" {
			return filepath.Join(l.Profiled.Dir, filepath.FromSlash(p.File))
		}
	}
	return filepath.Join(l.Profiled.Dir, "profiles", kind+".pb.gz")
}

// dir is the folder of the experiment.
func (l *figures) dir() string {
	switch {
	case l.Experiment != nil && l.Experiment.Dir != "":
		return l.Experiment.Dir
	case l.Profiled != nil && l.Profiled.Dir != "":
		return l.Profiled.Dir
	}
	return "DIR"
}

// list is the command that prints a function's profile line by line.
func (l *figures) list(kind, function string, flags string) string {
	return "go tool pprof " + flags + "-list '" + regexp.QuoteMeta(function) + "' " + l.file(kind)
}

func mean(of []record.Wait) time.Duration {
	seconds, n := 0.0, int64(0)
	for _, w := range of {
		seconds += w.Seconds
		n += w.Count
	}
	if n == 0 {
		return 0
	}
	return time.Duration(seconds / float64(n) * 1e9)
}

func count(of []record.Wait) float64 {
	n := int64(0)
	for _, w := range of {
		n += w.Count
	}
	return float64(n)
}
