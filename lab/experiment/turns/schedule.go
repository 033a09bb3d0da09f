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
	// leastStarts is the least number of times that processes are started. Two processes of the
	// same program may differ (in their memory layout, for example), and that is not a difference
	// between programs.
	leastStarts = 2
	// leastRounds is the number of rounds that must follow a start for it to give a sample.
	leastRounds = 5
	// After each start, processes take turns for startShare times as long as the start took, so
	// that starts take little of the time, and for at least leastLength. If the time is too short
	// for leastStarts, shortShare times as long is enough for a comparison of two sides.
	leastLength = 20 * time.Second
	startShare  = 8
	shortShare  = 2
	// mostFailures is the number of consecutive failed slices after which an arm is no longer
	// measured.
	mostFailures = 3
	// decidedEvery is how often, in rounds, arms whose comparisons are decided still take part;
	// the other arms get the time.
	decidedEvery = 3
	// trialShare is the share of the time that is spent on SLO slices where variants are compared,
	// by work as well; searchShare is that where only a capacity is searched.
	trialShare  = 1.0 / 3
	searchShare = 0.75
	// enoughTrials is the number of SLO slices, and enoughWork that of work slices, which each
	// variant needs before an experiment with decided comparisons may end early. enoughWork is 4
	// batches of 5.
	enoughTrials = 16
	enoughWork   = 20
	// enoughWidth is the width of the capacity's interval, relative to the capacity, at which a
	// search may end early.
	enoughWidth = 0.06
	// visitWork and visitTrials are the numbers of slices in a turn of a variant that is started
	// for its turn.
	visitWork   = 6
	visitTrials = 4
)

// schedule decides what the turns do next, and whether they have ended. It depends only on the
// plan, the slices so far and the dropped arms: it reads no clock and keeps no state between
// rounds, so a test of it is a table of slices.
type schedule struct {
	plan     *Plan
	scenario *scenario.Scenario
	slices   []record.Slice
	dropped  map[Arm]string  // with the reasons
	warm     map[Arm]float64 // peak work rate during warm-up, per second

	round         int // number of the newest round
	restarts      int // starts that were followed by enough rounds for a sample
	work, trials  map[Arm]int
	spent         map[string]time.Duration // time spent so far, by kind of slice
	cpuKnown      bool                     // the target's CPU time could be read
	undecidedWork [][2]Arm                 // comparisons whose work rate, or metric at one rate, is not decided yet
	undecided     map[[2]Arm]bool          // comparisons that are not decided yet
}

// newSchedule summarizes the slices so far.
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

// took returns the time that a slice took: until the next slice of the same processes began,
// which includes the wait for its last answers.
func took(all []record.Slice, i int) time.Duration {
	if i+1 < len(all) && all[i+1].Generation == all[i].Generation {
		return time.Duration(all[i+1].Start - all[i].Start)
	}
	return all[i].Length
}

// kind returns the kind of slice of the next round: SLO slices get their share of the time, and
// all of it once the comparisons of work are decided.
func (s *schedule) kind() string {
	work, trials := s.spent[record.SliceWork], s.spent[record.SliceSLO]
	share := trialShare
	if len(s.plan.Comparisons) == 0 {
		share = searchShare
	}
	worked := s.plan.Samples == 0 && len(s.plan.Comparisons) > 0 && len(s.undecidedWork) == 0 && !slices.ContainsFunc(s.plan.Arms, s.lacksWork)
	switch {
	case s.plan.Rate > 0, s.capped():
		return record.SliceSLO
	case !s.scenario.Bounded():
		return record.SliceWork
	case worked, float64(trials) < share*float64(work+trials):
		return record.SliceSLO
	}
	return record.SliceWork
}

// visit returns the kinds of the slices in a turn of an arm that is started for its turn.
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

// capped reports whether the load has a maximum rate, which a target that works as fast as it can
// would exceed.
func (s *schedule) capped() bool { return s.scenario.Load.MaxRate > 0 }

// due returns the arms that take part in the next round, given its kind of slice. These are the
// arms that are not decided; in every decidedEvery-th round, and if all arms are decided, they
// are all arms. The control only shows the noise of work rates, so its capacity is not searched.
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

// compared reports whether some comparison of an arm is not decided yet; a control counts as its
// baseline.
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

// workDecided reports whether a comparison is decided by its work slices or, with a fixed rate,
// by its slices at that rate.
func (s *schedule) workDecided(pair [2]Arm) bool {
	if s.gone(pair) || s.capped() && s.plan.Rate == 0 {
		return true
	}
	decided := func(metric string) bool {
		return compare.Decided(s.slices, metric, compare.Arm(pair[0]), compare.Arm(pair[1]))
	}
	return decided(s.metric()) && (s.metric() != compare.MetricWork || !s.cpuKnown || decided(compare.MetricCPU))
}

// metric returns the metric that decides comparisons first: the requested one at a fixed rate,
// otherwise the work rate, or CPU if that was requested and is known.
func (s *schedule) metric() string {
	switch {
	case s.plan.Rate > 0:
		return cmp.Or(s.plan.Metric, compare.MetricP99)
	case s.plan.Metric == compare.MetricCPU && s.cpuKnown:
		return compare.MetricCPU
	}
	return compare.MetricWork
}

// capacityDecided reports whether the comparison of capacities is decided, if one was requested.
func (s *schedule) capacityDecided(pair [2]Arm) bool {
	if s.plan.Metric != compare.MetricCapacity || s.plan.Rate > 0 || s.gone(pair) {
		return true
	}
	a, _ := capacity.TrialsOf(s.slices, pair[0].Role, pair[0].Variant)
	b, _ := capacity.TrialsOf(s.slices, pair[1].Role, pair[1].Variant)
	// If this were checked after every slice, one A/A comparison in five would seem decided at
	// some time.
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

// over reports whether the turns may end before their time is used up.
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

// running reports whether the lab does not start the target, and so cannot restart it.
func (s *schedule) running() bool { return s.scenario.Target.URL != "" }

// lacksWork reports whether an arm has fewer work slices than its figures need.
func (s *schedule) lacksWork(p Arm) bool {
	return s.dropped[p] == "" && s.plan.Rate == 0 && !s.capped() && s.work[p] < enoughWork
}

// lacksTrials reports whether an arm has fewer SLO slices than its figures need.
func (s *schedule) lacksTrials(p Arm) bool {
	return s.dropped[p] == "" && s.plan.Rate == 0 && s.scenario.Bounded() && p.Role != record.RoleControl && s.trials[p] < enoughTrials
}

// located reports whether the interval of every variant's capacity is narrow enough.
func (s *schedule) located() bool {
	return !s.scenario.Bounded() || !slices.ContainsFunc(s.plan.Arms, func(p Arm) bool {
		trials, _ := capacity.TrialsOf(s.slices, p.Role, p.Variant)
		e := capacity.FitTrials(trials, peak(s.slices, p, s.warm[p]))
		return s.dropped[p] == "" && (e.Rate95Interval == nil || e.Rate95Interval[1]-e.Rate95Interval[0] > enoughWidth*e.Rate95)
	})
}

// lasts returns how long processes take turns after their n-th start: a multiple of the time that
// the start took, within the time that is left.
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

// ofTwo reports whether two variants are compared; the third arm is the baseline's control. With
// few arms, rounds are short, so there is time for a second start, without which two processes
// would be compared instead of two programs. A short ladder needs that time for its rounds.
func (s *schedule) ofTwo() bool { return len(s.plan.Comparisons) > 0 && len(s.plan.Arms) <= 3 }

// dropsUnstarted reports whether an arm that does not start is dropped. If nothing was measured
// before, it is normally an error of the scenario instead.
func (p *Plan) dropsUnstarted(at Arm) bool {
	return len(p.Exp.Slices) > 0 || p.DropUnstarted && at != p.Arms[0]
}

// failing returns why an arm must be dropped after the slices so far; empty: it need not.
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

// nextRate returns the rate of an arm's next SLO slice. warm is its work rate during warm-up,
// limit the maximum rate (0: none), and u a random number, uniform in [0,1).
func nextRate(all []record.Slice, p Arm, warm, limit, u float64) float64 {
	trials, _ := capacity.TrialsOf(all, p.Role, p.Variant)
	return capacity.NextRate(trials, peak(all, p, warm), limit, u)
}

// peak returns an arm's peak work rate: the median of its work slices or, if it has none, the
// rate of its warm-up.
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
