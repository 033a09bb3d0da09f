package diagnose

import (
	"cmp"
	"math"
	"slices"
	"time"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

// Plan is the order of runs that diagnose a variant: a sweep over the clients of a closed loop
// until the throughput stops rising, a run under profiles at that load, and an experiment whose
// outcome the verdict predicts. The cause is read above the capacity: just below it, a service
// bound by a lock shows almost no goroutine waiting for that lock.
type Plan struct {
	Variant string
	// Most is the largest number of clients; 0: MostClients.
	Most int
	// Rate, per second, replaces the sweep by the open model at this rate. It is for work that
	// continues after the response, which a closed loop would only queue up; 0: the sweep.
	Rate    float64
	CapRate bool          // Rate is the highest permitted rate
	Length  time.Duration // measured time of a run
	// Profiled is the measured time of the run under profiles.
	Profiled time.Duration
	// Only leaves out all runs except the one under profiles, with Clients in a closed loop.
	Only    bool
	Clients int
	// Intervene permits changing the target's GOGC and GOMAXPROCS.
	Intervene bool
	// Thresholds of the rules; nil: Defaults.
	Thresholds rules.Thresholds
}

// MostClients ends a sweep that has not saturated the service: with more clients the machine's
// cost of switching between connections would dominate. A service that waits (for a downstream,
// for example) without a limit of its own needs more clients, and its verdict says so.
const MostClients = 512

// sweepClients are the numbers of clients of a sweep: one, for the response time without queueing,
// then 8 and two doublings per run.
var sweepClients = []int{1, 8, 32, 128, MostClients}

// leastClients is the fewest clients that count as saturating a service: with fewer, a service that
// waits for a lock looks like one that computes.
const leastClients = 32

// Next returns the next run, given the plan's runs so far in order; done: none is left.
func (p Plan) Next(runs []*record.Run) (step record.RunSpec, done bool) {
	s := NewSubject(p.Variant, runs)
	base := record.RunSpec{Variant: p.Variant, Closed: p.Rate == 0, Rate: p.Rate, Length: p.length(s)}
	if clients, more := p.sweep(s.Saturated); more && !p.Only {
		base.Role, base.Connections = record.RoleSaturate, clients
		base.Capped = p.Most > 0 && clients >= p.Most || p.CapRate
		return base, false
	}
	base.Connections = p.Clients
	if last := s.last(); last != nil {
		base.Connections = last.Spec.Connections
	}
	if s.Profiled == nil && s.profilable() {
		base.Role, base.Length = record.RoleProfile, p.Profiled
		return base, false
	}
	if !p.Intervene || p.Only {
		return step, true
	}
	change := predict(p.thresholds(), s).change
	switch {
	case change == nil:
		return step, true
	case len(s.Intervened) == 0:
		base.Role, base.Change = record.RoleIntervene, change
		return base, false
	case len(s.Repeated) == 0:
		base.Role, base.Round = record.RoleSaturate, again
		return base, false
	}
	return step, true
}

// longest is the measured time of a run for a slow service.
const longest = 10 * time.Second

// length is a run's measured time: enough for ten responses in a row.
func (p Plan) length(s Subject) time.Duration {
	const answers = 10
	if len(s.Saturated) == 0 || p.Rate > 0 {
		return p.Length
	}
	first := s.Saturated[0]
	if first.Totals.Ended == 0 {
		return longest
	}
	return max(p.Length, min(longest, time.Duration(answers*first.Totals.Service.Mean*float64(time.Millisecond))))
}

// again is the round of the saturated run that follows an intervention. The intervention is
// compared with the runs before and after it, so that a drift of the machine cancels.
const again = 1

func (p Plan) thresholds() rules.Thresholds {
	if p.Thresholds == nil {
		return rules.Defaults
	}
	return p.Thresholds
}

// sweep returns the clients of the sweep's next run; more is false when it has ended.
func (p Plan) sweep(runs []*record.Run) (clients int, more bool) {
	if p.Rate > 0 {
		return 0, len(runs) == 0
	}
	most := cmp.Or(p.Most, MostClients)
	n := len(runs)
	if n == 0 {
		return 1, true
	}
	last := runs[n-1]
	if n == 1 && last.Totals.Ended == 0 && last.Spec.Length < longest {
		return 1, true // a response takes longer than the run
	}
	if last.Spec.Connections >= most || n >= 2 && (last.Totals.Generator.Limited || facts.Failing(last) >= p.thresholds().Value(rules.ThresholdRefusing)) {
		return 0, false
	}
	if n >= 3 && growth(runs) < p.thresholds().Value(rules.ThresholdGrowth) && last.Spec.Connections >= min(leastClients, most) {
		return 0, false
	}
	for _, c := range sweepClients {
		if c > last.Spec.Connections {
			return min(c, most), true
		}
	}
	return min(4*last.Spec.Connections, most), true // beyond MostClients: sessions, each of which sends little
}

// growth is the relative rise of the throughput per doubling of the clients at the sweep's last
// step; 0.1 is 10%.
func growth(runs []*record.Run) float64 {
	n := len(runs)
	if n < 2 {
		return math.Inf(1)
	}
	a, b := runs[n-2], runs[n-1]
	doublings := math.Log2(float64(b.Spec.Connections) / float64(a.Spec.Connections))
	if doublings <= 0 || facts.PerSecond(a) <= 0 {
		return 0
	}
	return math.Pow(facts.PerSecond(b)/facts.PerSecond(a), 1/doublings) - 1
}

// NewSubject sorts the runs of a variant by purpose.
func NewSubject(variant string, runs []*record.Run) Subject {
	s := Subject{Variant: variant}
	for _, r := range runs {
		if r.Spec.Variant != variant {
			continue
		}
		switch r.Spec.Role {
		case record.RoleSaturate:
			if r.Spec.Round == again {
				s.Repeated = append(s.Repeated, r)
			} else {
				s.Saturated = append(s.Saturated, r)
			}
		case record.RoleProfile:
			s.Profiled = r
		case record.RoleIntervene:
			s.Intervened = append(s.Intervened, r)
		default:
			s.Other = append(s.Other, r)
		}
	}
	s.Saturated = slices.DeleteFunc(s.Saturated, func(r *record.Run) bool {
		return (invalidTarget(r) || r.Totals.Ended == 0 && r.Totals.ThroughputPerS == 0) && repeated(r, runs)
	})
	return s
}

// invalidTarget reports whether a run is invalid for a reason other than the load generator.
func invalidTarget(r *record.Run) bool { return r.Invalid != "" && !r.Totals.Generator.Limited }

// repeated reports whether a later run repeats r.
func repeated(r *record.Run, runs []*record.Run) bool {
	after := runs[slices.Index(runs, r)+1:]
	return slices.ContainsFunc(after, func(o *record.Run) bool {
		return o.Spec.Role == r.Spec.Role && o.Spec.Variant == r.Spec.Variant && o.Spec.Connections == r.Spec.Connections && o.Spec.Round == r.Spec.Round
	})
}

// profilable reports whether the target can be profiled, by its own endpoint or by the kernel.
func (s Subject) profilable() bool {
	for _, runs := range [][]*record.Run{s.Saturated, s.Other} {
		if n := len(runs); n > 0 {
			return runs[n-1].Target.Pprof || runs[n-1].Target.PID != 0
		}
	}
	return true // no run shows the contrary
}

// carried are the runs of the sweep up to the one from which the cause is read. In those after it,
// with more clients, the target returned errors instead of more throughput.
func (s Subject) carried() []*record.Run {
	for n := len(s.Saturated); n > 0; n-- {
		if facts.Failing(s.Saturated[n-1]) < rules.Defaults.Value(rules.ThresholdRefusing) {
			return s.Saturated[:n]
		}
	}
	return s.Saturated
}

// last is the run that saturated the target, from which the cause is read; nil: none.
func (s Subject) last() *record.Run {
	runs := s.carried()
	if len(runs) == 0 {
		return nil
	}
	return runs[len(runs)-1]
}
