package turns

import (
	"cmp"
	"math"
	"slices"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/scenario"
)

const (
	// leastStarts is how often processes are started at least: a difference between two
	// processes of the same program (such as their memory layout) is not a difference of the
	// program.
	leastStarts = 2
	// leastRounds is the number of rounds between restarts that give a sample.
	leastRounds = 5
	// Between two restarts, processes take turns for startShare times as long as their start took,
	// so that starts take little of the time, and for leastLength at least. Where the time is too
	// short for leastStarts, shortShare times as long is enough for a comparison of two sides.
	leastLength = 20 * time.Second
	startShare  = 8
	shortShare  = 2
	// mostFailures is the number of failed slices in a row after which an arm is no longer
	// measured.
	mostFailures = 3
	// decidedEvery is the interval of rounds in which decided comparisons still take part; the
	// others get the time.
	decidedEvery = 3
	// trialShare is the share of the time that SLO slices take.
	trialShare = 1.0 / 3
	// enoughTrials is the number of SLO slices that a variant needs before an experiment with
	// decided comparisons ends early, and enoughWork the number of its work slices: 4 batches of
	// 5.
	enoughTrials = 16
	enoughWork   = 20
	// enoughWidth is the interval's width, over the capacity, at which a search for it ends early.
	enoughWidth = 0.06
	// visitWork and visitTrials are the numbers of slices per turn of a variant that is started
	// for its turn.
	visitWork   = 6
	visitTrials = 4
)

// schedule says what the turns do next, and whether they have ended. It follows from the plan, the
// slices so far and the dropped arms. It reads no clock and keeps nothing from one round to the
// next, so a test of it is a table of slices.
type schedule struct {
	plan     *Plan
	scenario *scenario.Scenario
	slices   []record.Slice
	dropped  map[Arm]string  // with the reason
	warm     map[Arm]float64 // peak work rate during warm-up, per second

	round         int // number of the newest round
	restarts      int // those followed by at least leastRounds rounds
	work, trials  map[Arm]int
	spent         map[string]time.Duration // time by kind of slice
	cpuKnown      bool                     // the target's CPU time can be read
	undecidedWork [][2]Arm                 // pairs whose work, or what is compared at one rate, is not yet decided
	undecided     map[[2]Arm]bool          // pairs that are not yet decided
}

// newSchedule summarizes the slices so far for the choice of the next ones.
func newSchedule(p *Plan, sc *scenario.Scenario, all []record.Slice, dropped map[Arm]string, warm map[Arm]float64) *schedule {
	s := &schedule{plan: p, scenario: sc, slices: all, dropped: dropped, warm: warm,
		work: map[Arm]int{}, trials: map[Arm]int{}, spent: map[string]time.Duration{}, undecided: map[[2]Arm]bool{}}
	rounds := map[int]map[int]bool{}
	for i := range all {
		one := &all[i]
		p := Arm{one.Role, one.Variant}
		if one.Kind == record.SliceWork {
			s.work[p]++
		} else {
			s.trials[p]++
		}
		if rounds[one.Generation] == nil {
			rounds[one.Generation] = map[int]bool{}
		}
		rounds[one.Generation][one.Block] = true
		s.round = max(s.round, one.Block)
		s.cpuKnown = s.cpuKnown || one.TargetCPU > 0
		s.spent[one.Kind] += took(all, i)
	}
	for _, in := range rounds {
		if len(in) >= leastRounds || sc.Exclusive {
			s.restarts++
		}
	}
	for _, pair := range p.Comparisons {
		decided := s.workDecided(pair)
		if !decided {
			s.undecidedWork = append(s.undecidedWork, pair)
		}
		if !decided || !s.capacityDecided(pair) {
			s.undecided[pair] = true
		}
	}
	return s
}

// took returns the time that a slice took: until the next one of the same processes began, so with
// the wait for its last answers.
func took(all []record.Slice, i int) time.Duration {
	if i+1 < len(all) && all[i+1].Generation == all[i].Generation {
		return time.Duration(all[i+1].Start - all[i].Start)
	}
	return all[i].Length
}

// kind returns the next round's kind of slice: SLO slices get their share of the time, and all of
// it when every comparison of work is decided.
func (s *schedule) kind() string {
	work, trials := s.spent[record.SliceWork], s.spent[record.SliceSLO]
	worked := s.plan.Samples == 0 && len(s.plan.Comparisons) > 0 && len(s.undecidedWork) == 0 && !slices.ContainsFunc(s.plan.Arms, s.lacksWork)
	switch {
	case s.plan.Rate > 0, s.capped():
		return record.SliceSLO
	case !s.scenario.Bounded():
		return record.SliceWork
	case worked, float64(trials) < trialShare*float64(work+trials):
		return record.SliceSLO
	}
	return record.SliceWork
}

// visit returns the kinds of the slices of an arm that is started for its turn.
func (s *schedule) visit(p Arm) (kinds []string) {
	switch {
	case s.plan.Rate > 0:
		return slices.Repeat([]string{record.SliceSLO}, visitWork)
	case !s.capped():
		kinds = slices.Repeat([]string{record.SliceWork}, visitWork)
	}
	if s.scenario.Bounded() && p.Role != record.RoleControl {
		kinds = append(kinds, slices.Repeat([]string{record.SliceSLO}, visitTrials)...)
	}
	return kinds
}

// capped reports whether the rate has a limit: a target that works as fast as it can would exceed
// it.
func (s *schedule) capped() bool { return s.scenario.Load.MaxRate > 0 }

// due returns the arms that take part in the next round, by its kind of slice: those that are not
// decided, and in every decidedEvery-th round, or if all are decided, all. The control shows the
// noise of work rates; its capacity is not searched.
func (s *schedule) due(kind string) []Arm {
	all := slices.DeleteFunc(slices.Clone(s.plan.Arms), func(p Arm) bool {
		return s.dropped[p] != "" || kind == record.SliceSLO && p.Role == record.RoleControl && s.plan.Rate == 0
	})
	if kind == record.SliceSLO || (s.round+1)%decidedEvery == 0 {
		return all
	}
	some := slices.DeleteFunc(slices.Clone(all), func(p Arm) bool { return !s.lacksWork(p) && !s.compared(p) })
	if len(some) == 0 {
		return all
	}
	return some
}

// compared reports whether a comparison of an arm, or of the baseline that it is the control of, is
// not yet decided.
func (s *schedule) compared(p Arm) bool {
	if p.Role == record.RoleControl {
		p.Role = record.RoleMeasure
	}
	for pair := range s.undecided {
		if pair[0] == p || pair[1] == p {
			return true
		}
	}
	return false
}

// gone reports whether a side of a pair was dropped.
func (s *schedule) gone(pair [2]Arm) bool {
	return s.dropped[pair[0]] != "" || s.dropped[pair[1]] != ""
}

// workDecided reports whether a pair is decided by its work slices, or by those at one rate.
func (s *schedule) workDecided(pair [2]Arm) bool {
	if s.gone(pair) || s.capped() && s.plan.Rate == 0 {
		return true
	}
	decided := func(metric string) bool {
		return compare.Decided(s.slices, metric, compare.Arm(pair[0]), compare.Arm(pair[1]))
	}
	return decided(s.metric()) && (s.metric() != compare.MetricWork || !s.cpuKnown || decided(compare.MetricCPU))
}

// metric returns the first metric of the pairs: the requested one at one equal rate, or else the
// work rate.
func (s *schedule) metric() string {
	switch {
	case s.plan.Rate > 0:
		return cmp.Or(s.plan.Metric, compare.MetricP99)
	case s.plan.Metric == compare.MetricCPU && s.cpuKnown:
		return compare.MetricCPU
	}
	return compare.MetricWork
}

// capacityDecided reports whether a requested comparison of capacities is decided.
func (s *schedule) capacityDecided(pair [2]Arm) bool {
	if s.plan.Metric != compare.MetricCapacity || s.plan.Rate > 0 || s.gone(pair) {
		return true
	}
	a, _ := capacity.TrialsOf(s.slices, pair[0].Role, pair[0].Variant)
	b, _ := capacity.TrialsOf(s.slices, pair[1].Role, pair[1].Variant)
	// Checked after every slice, one comparison in five of a variant with itself would seem
	// decided at some time.
	for n := enoughTrials; n <= min(len(a), len(b)); n = n * 3 / 2 {
		x, y := capacity.FitTrials(a[:n], peak(s.slices, pair[0], s.warm[pair[0]])), capacity.FitTrials(b[:n], peak(s.slices, pair[1], s.warm[pair[1]]))
		if x.Rate50 <= 0 || y.Rate50 <= 0 {
			continue
		}
		const sure = 2.6 // standard errors: 1% for each check
		if math.Abs(math.Log(y.Rate50/x.Rate50)) > sure*math.Hypot(x.Rate50Error, y.Rate50Error) {
			return true
		}
	}
	return false
}

// over reports whether the turns have ended before their time is used up.
func (s *schedule) over() bool {
	short := func(p [2]Arm) bool {
		return !s.gone(p) && compare.Turns(s.slices, s.metric(), compare.Arm(p[0]), compare.Arm(p[1])).Samples < s.plan.Samples
	}
	switch {
	case !slices.ContainsFunc(s.plan.Arms, func(p Arm) bool { return p.Role != record.RoleControl && s.dropped[p] == "" }):
		return true
	case s.plan.Samples > 0 && len(s.plan.Comparisons) > 0:
		return !slices.ContainsFunc(s.plan.Comparisons, short)
	case !s.running() && s.restarts < leastStarts:
		return false
	case len(s.plan.Comparisons) == 0 && s.plan.Rate == 0 && !s.located():
		return false
	}
	return len(s.undecided) == 0 && !slices.ContainsFunc(s.plan.Arms, func(p Arm) bool { return s.lacksWork(p) || s.lacksTrials(p) })
}

// running reports whether the target already runs, so that it cannot be restarted.
func (s *schedule) running() bool { return s.scenario.Target.URL != "" }

// lacksWork reports whether an arm has fewer work slices than its figures need.
func (s *schedule) lacksWork(p Arm) bool {
	return s.dropped[p] == "" && s.plan.Rate == 0 && !s.capped() && s.work[p] < enoughWork
}

// lacksTrials reports the same for SLO slices.
func (s *schedule) lacksTrials(p Arm) bool {
	return s.dropped[p] == "" && s.plan.Rate == 0 && s.scenario.Bounded() && p.Role != record.RoleControl && s.trials[p] < enoughTrials
}

// located reports whether every variant's capacity has a narrow enough interval.
func (s *schedule) located() bool {
	return !s.scenario.Bounded() || !slices.ContainsFunc(s.plan.Arms, func(p Arm) bool {
		trials, _ := capacity.TrialsOf(s.slices, p.Role, p.Variant)
		e := capacity.FitTrials(trials, peak(s.slices, p, s.warm[p]))
		return s.dropped[p] == "" && (e.Rate95Interval == nil || e.Rate95Interval[1]-e.Rate95Interval[0] > enoughWidth*e.Rate95)
	})
}

// lasts returns for how long processes take turns after their n-th start, of the time that is left
// then: a multiple of what the start took.
func (s *schedule) lasts(n int, start, left time.Duration) time.Duration {
	length := max(leastLength, startShare*start)
	if half := left / 2; n < leastStarts && s.ofTwo() && half >= shortShare*start {
		length = min(length, half)
	}
	if s.running() || left-length < length/2 {
		return left // the rest is too short for another start
	}
	return length
}

// ofTwo reports whether two variants are compared, with the baseline's control as third arm. Their
// rounds are short, and with one start the comparison would be one of two processes, not of two
// programs. A short ladder needs the time of a second start for its rounds.
func (s *schedule) ofTwo() bool { return len(s.plan.Comparisons) > 0 && len(s.plan.Arms) <= 3 }

// dropsUnstarted reports whether an arm that does not start is dropped. If nothing was measured
// yet, that is an error of the scenario.
func (p *Plan) dropsUnstarted(at Arm) bool {
	return len(p.Exp.Slices) > 0 || p.DropUnstarted && at != p.Arms[0]
}

// failing returns why an arm is dropped after the slices so far; empty: it is not.
func failing(all []record.Slice, p Arm) (why string) {
	failures := 0
	for i := range all {
		switch s := &all[i]; {
		case s.Role != p.Role || s.Variant != p.Variant:
		case s.Invalid == "":
			failures = 0
		default:
			failures, why = failures+1, s.Invalid
		}
	}
	if failures < mostFailures {
		return ""
	}
	return why
}

// nextRate returns the rate of an arm's next SLO slice, given its work rate during warm-up and a
// limit (0: none); u is uniform in [0,1).
func nextRate(all []record.Slice, p Arm, warm, limit, u float64) float64 {
	trials, _ := capacity.TrialsOf(all, p.Role, p.Variant)
	return capacity.NextRate(trials, peak(all, p, warm), limit, u)
}

// peak returns an arm's peak work rate: the median of its work slices, or the rate of its
// warm-up.
func peak(all []record.Slice, p Arm, warm float64) float64 {
	var rates []float64
	for i := range all {
		if s := &all[i]; s.Kind == record.SliceWork && s.Role == p.Role && s.Variant == p.Variant && s.Invalid == "" {
			rates = append(rates, s.PerS())
		}
	}
	if len(rates) == 0 {
		return warm
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}
