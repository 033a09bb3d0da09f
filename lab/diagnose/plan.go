package diagnose

import (
	"math"
	"slices"
	"time"

	"dyno/lab/diagnose/facts"
	"dyno/lab/record"
)

// Plan is the order in which a variant is looked into: a sweep over the clients of a closed loop until the
// throughput stops rising, a run under profiles where it stopped, and an experiment whose outcome the
// verdict predicts. Just below its capacity a service that is bound by a lock shows almost nobody waiting
// for it, which is why the cause is read beyond.
type Plan struct {
	Variant string
	// Most is how many clients the load may have at most; 0: MostClients.
	Most int
	// Rate is for work that goes on after it was answered, which a closed loop would only pile up: the open
	// model at this rate, per second, instead of the sweep; 0: the sweep.
	Rate    float64
	CapRate bool          // Rate is as much as may be offered
	Length  time.Duration // measured time of a run
	// Profiled is the measured time of the run under profiles.
	Profiled time.Duration
	// Only leaves out all but the run under profiles, with so many Clients in a closed loop.
	Only    bool
	Clients int
	// Intervene lets the plan change the target: its GOGC and GOMAXPROCS.
	Intervene bool
	// Thresholds decide; nil: Defaults.
	Thresholds Thresholds
}

// MostClients is where a sweep ends that has not saturated the service: beyond it what is measured is how
// the machine switches connections. A service that waits (for a downstream, say) without any limit of its
// own needs more, and its verdict says so.
const MostClients = 512

// sweepClients is the clients of a sweep: one, for the response time without company; then doublings, two
// at a time.
var sweepClients = []int{1, 8, 32, 128, MostClients}

// leastClients is how many a service is saturated with at least: with few, one that waits for a lock looks
// like one that computes.
const leastClients = 32

// Next returns the next run, given the plan's runs so far in order; done: there is none.
func (p Plan) Next(runs []*record.Run) (step record.Step, done bool) {
	s := NewSubject(p.Variant, runs)
	base := record.Step{Variant: p.Variant, Closed: p.Rate == 0, Rate: p.Rate, Length: p.length(s)}
	if clients, more := p.sweep(s.Saturated); more && !p.Only {
		base.Role, base.Connections = record.RoleSaturate, clients
		base.Capped = p.Most > 0 && clients >= p.Most || p.CapRate
		return base, false
	}
	base.Connections = p.Clients
	if last := s.last(); last != nil {
		base.Connections = last.Step.Connections
	}
	if s.Profiled == nil && s.profilable() {
		base.Role, base.Length = record.RoleProfile, p.Profiled
		return base, false
	}
	if !p.Intervene || p.Only {
		return step, true
	}
	change := p.thresholds().prediction(s).change
	switch {
	case change == nil:
		return step, true
	case len(s.Intervened) == 0:
		base.Role, base.Change = record.RoleIntervene, change
		return base, false
	case len(s.Again) == 0:
		base.Role, base.Round = record.RoleSaturate, again
		return base, false
	}
	return step, true
}

// longest is how long a run of a plan gets for a service that takes its time.
const longest = 10 * time.Second

// length is a run's measured time: enough for ten answers in a row.
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

// again is the round of the saturated run that follows an intervention: with the one before it, what the
// intervention is compared with, so that a drift of the machine cancels.
const again = 1

func (p Plan) thresholds() Thresholds {
	if p.Thresholds == nil {
		return Defaults
	}
	return p.Thresholds
}

// sweep returns the clients of the sweep's next run; more is false when it has ended.
func (p Plan) sweep(runs []*record.Run) (clients int, more bool) {
	if p.Rate > 0 {
		return 0, len(runs) == 0
	}
	most := p.Most
	if most == 0 {
		most = MostClients
	}
	n := len(runs)
	if n == 0 {
		return 1, true
	}
	last := runs[n-1]
	if n == 1 && last.Totals.Ended == 0 && last.Step.Length < longest {
		return 1, true // it is slower than the run was long
	}
	if last.Step.Connections >= most || n >= 2 && (last.Totals.Generator.Limited || facts.Failing(last) >= p.thresholds().value(refusing)) {
		return 0, false
	}
	if n >= 3 && growth(runs) < p.thresholds().value(growing) && last.Step.Connections >= min(leastClients, most) {
		return 0, false
	}
	for _, c := range sweepClients {
		if c > last.Step.Connections {
			return min(c, most), true
		}
	}
	return most, true
}

// growth is how much the throughput rose per doubling of the clients at the sweep's last step; 0.1 is 10%.
func growth(runs []*record.Run) float64 {
	n := len(runs)
	if n < 2 {
		return math.Inf(1)
	}
	a, b := runs[n-2], runs[n-1]
	doublings := math.Log2(float64(b.Step.Connections) / float64(a.Step.Connections))
	if doublings <= 0 || facts.PerSecond(a) <= 0 {
		return 0
	}
	return math.Pow(facts.PerSecond(b)/facts.PerSecond(a), 1/doublings) - 1
}

// NewSubject sorts the runs of a variant by what they are for.
func NewSubject(variant string, runs []*record.Run) Subject {
	s := Subject{Variant: variant}
	for _, r := range runs {
		if r.Step.Variant != variant {
			continue
		}
		switch r.Step.Role {
		case record.RoleSaturate:
			if r.Step.Round == again {
				s.Again = append(s.Again, r)
			} else {
				s.Saturated = append(s.Saturated, r)
			}
		case record.RoleProfile:
			s.Profiled = r
		case record.RoleIntervene:
			s.Intervened = append(s.Intervened, r)
		default:
			s.Others = append(s.Others, r)
		}
	}
	s.Saturated = slices.DeleteFunc(s.Saturated, func(r *record.Run) bool {
		return (spoilt(r) || r.Totals.Ended == 0 && r.Totals.AchievedPerS == 0) && repeated(r, runs)
	})
	return s
}

// spoilt reports whether a run's figures are not the target's alone.
func spoilt(r *record.Run) bool { return r.Invalid != "" && !r.Totals.Generator.Limited }

// repeated reports whether a run was done again later.
func repeated(r *record.Run, runs []*record.Run) bool {
	after := runs[slices.Index(runs, r)+1:]
	return slices.ContainsFunc(after, func(o *record.Run) bool {
		return o.Step.Role == r.Step.Role && o.Step.Variant == r.Step.Variant && o.Step.Connections == r.Step.Connections && o.Step.Round == r.Step.Round
	})
}

// profilable reports whether the target can be profiled: by itself, or by the kernel.
func (s Subject) profilable() bool {
	for _, runs := range [][]*record.Run{s.Saturated, s.Others} {
		if n := len(runs); n > 0 {
			return runs[n-1].Target.Pprof || runs[n-1].Target.PID != 0
		}
	}
	return true // no run says otherwise
}

// carried are the runs of the sweep up to the one at which the cause is read: beyond it the target answered
// errors instead of more.
func (s Subject) carried() []*record.Run {
	for n := len(s.Saturated); n > 0; n-- {
		if facts.Failing(s.Saturated[n-1]) < Defaults.value(refusing) {
			return s.Saturated[:n]
		}
	}
	return s.Saturated
}

// last is the run that saturated the target: where the cause is read. Nil: there is none.
func (s Subject) last() *record.Run {
	runs := s.carried()
	if len(runs) == 0 {
		return nil
	}
	return runs[len(runs)-1]
}
