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
	// leastGenerations is the minimum number of process restarts: a difference between two
	// processes of the same program (such as their memory layout) is not a difference of the
	// program.
	leastGenerations = 2
	// leastBlocks is the number of blocks that a generation needs to give a sample.
	leastBlocks = 5
	// A generation lasts startShare times as long as its start, so that starts take little of the
	// time, and at least leastGeneration. Where the time is too short for leastGenerations of them,
	// shortShare times as long is enough for a comparison of two sides.
	leastGeneration = 20 * time.Second
	startShare      = 8
	shortShare      = 2
	// mostFailures is the number of failed slices in a row after which a place is no longer
	// measured.
	mostFailures = 3
	// settledEvery is the interval of blocks in which decided comparisons still take part; the
	// others get the time.
	settledEvery = 3
	// voteShare is the share of the time that SLO slices take.
	voteShare = 1.0 / 3
	// enoughVotes is the number of SLO slices that a variant needs before an experiment with
	// decided comparisons ends early, and enoughBlocks the number of its work slices: 4 batches of
	// 5.
	enoughVotes  = 16
	enoughBlocks = 20
	// enoughWidth is the interval's width, over the capacity, at which a search for it ends early.
	enoughWidth = 0.06
	// visitWork and visitVotes are the numbers of slices per turn of a variant that is started
	// for its turn.
	visitWork  = 6
	visitVotes = 4
)

// schedule says what the turns do next, and whether they have ended. It follows from the plan, the
// slices so far and the places that were given up. It reads no clock and keeps nothing from one
// block to the next, so a test of it is a table of slices.
type schedule struct {
	plan     *Plan
	scenario *scenario.Scenario
	slices   []record.Slice
	given    map[Place]string  // places that were given up, with the reason
	warm     map[Place]float64 // peak work rate during warm-up, per second

	block       int // number of the newest block
	generations int // generations with at least a batch of blocks
	work, votes map[Place]int
	spent       map[string]time.Duration // time by kind of slice
	sees        bool                     // the target's CPU time can be read
	working     [][2]Place               // pairs whose work, or what is compared at one rate, is not yet decided
	open        map[[2]Place]bool        // pairs that are not yet decided
}

// newSchedule summarizes the slices so far for the choice of the next ones.
func newSchedule(p *Plan, sc *scenario.Scenario, all []record.Slice, given map[Place]string, warm map[Place]float64) *schedule {
	s := &schedule{plan: p, scenario: sc, slices: all, given: given, warm: warm,
		work: map[Place]int{}, votes: map[Place]int{}, spent: map[string]time.Duration{}, open: map[[2]Place]bool{}}
	blocks := map[int]map[int]bool{}
	for i := range all {
		one := &all[i]
		p := Place{one.Role, one.Variant}
		if one.Kind == record.SliceWork {
			s.work[p]++
		} else {
			s.votes[p]++
		}
		if blocks[one.Generation] == nil {
			blocks[one.Generation] = map[int]bool{}
		}
		blocks[one.Generation][one.Block] = true
		s.block = max(s.block, one.Block)
		s.sees = s.sees || one.TargetCPU > 0
		s.spent[one.Kind] += took(all, i)
	}
	for _, in := range blocks {
		if len(in) >= leastBlocks || sc.Exclusive {
			s.generations++
		}
	}
	for _, pair := range p.Pairs {
		settled := s.settled(pair)
		if !settled {
			s.working = append(s.working, pair)
		}
		if !settled || !s.placed(pair) {
			s.open[pair] = true
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

// kind returns the next block's kind of slice: SLO slices get their share of the time, and all of
// it when no work comparison is open.
func (s *schedule) kind() string {
	work, votes := s.spent[record.SliceWork], s.spent[record.SliceSLO]
	worked := s.plan.Rounds == 0 && len(s.plan.Pairs) > 0 && len(s.working) == 0 && !slices.ContainsFunc(s.plan.Places, s.lacksWork)
	switch {
	case s.plan.Rate > 0, s.capped():
		return record.SliceSLO
	case !s.scenario.Bounded():
		return record.SliceWork
	case worked, float64(votes) < voteShare*float64(work+votes):
		return record.SliceSLO
	}
	return record.SliceWork
}

// visit returns the kinds of the slices of a place that is started for its turn.
func (s *schedule) visit(p Place) (kinds []string) {
	switch {
	case s.plan.Rate > 0:
		return slices.Repeat([]string{record.SliceSLO}, visitWork)
	case !s.capped():
		kinds = slices.Repeat([]string{record.SliceWork}, visitWork)
	}
	if s.scenario.Bounded() && p.Role != record.RoleControl {
		kinds = append(kinds, slices.Repeat([]string{record.SliceSLO}, visitVotes)...)
	}
	return kinds
}

// capped reports whether the rate has a limit: a target that works as fast as it can would exceed
// it.
func (s *schedule) capped() bool { return s.scenario.Load.MaxRate > 0 }

// due returns the places that take part in the next block, of a kind: those that are not decided,
// and in some blocks, or if there are no others, all. The twin shows the noise of work; it has no
// capacity of its own.
func (s *schedule) due(kind string) []Place {
	all := slices.DeleteFunc(slices.Clone(s.plan.Places), func(p Place) bool {
		return s.given[p] != "" || kind == record.SliceSLO && p.Role == record.RoleControl && s.plan.Rate == 0
	})
	if kind == record.SliceSLO || (s.block+1)%settledEvery == 0 {
		return all
	}
	some := slices.DeleteFunc(slices.Clone(all), func(p Place) bool { return !s.lacksWork(p) && !s.compared(p) })
	if len(some) == 0 {
		return all
	}
	return some
}

// compared reports whether a comparison of a place, or of the baseline that it is the twin of, is
// not yet decided.
func (s *schedule) compared(p Place) bool {
	if p.Role == record.RoleControl {
		p.Role = record.RoleMeasure
	}
	for pair := range s.open {
		if pair[0] == p || pair[1] == p {
			return true
		}
	}
	return false
}

// gone reports whether a side of a pair was given up.
func (s *schedule) gone(pair [2]Place) bool { return s.given[pair[0]] != "" || s.given[pair[1]] != "" }

// settled reports whether a pair is decided by its work slices, or by those at one rate.
func (s *schedule) settled(pair [2]Place) bool {
	if s.gone(pair) || s.capped() && s.plan.Rate == 0 {
		return true
	}
	decided := func(metric string) bool {
		return compare.Decided(s.slices, metric, compare.Arm(pair[0]), compare.Arm(pair[1]))
	}
	return decided(s.metric()) && (s.metric() != compare.MetricWork || !s.sees || decided(compare.MetricCPU))
}

// metric returns the first metric of the pairs: the requested one at one equal rate, or else the
// work rate.
func (s *schedule) metric() string {
	switch {
	case s.plan.Rate > 0:
		return cmp.Or(s.plan.Metric, compare.MetricP99)
	case s.plan.Metric == compare.MetricCPU && s.sees:
		return compare.MetricCPU
	}
	return compare.MetricWork
}

// placed reports whether a requested comparison of capacities is decided.
func (s *schedule) placed(pair [2]Place) bool {
	if s.plan.Metric != compare.MetricCapacity || s.plan.Rate > 0 || s.gone(pair) {
		return true
	}
	a, _ := capacity.VotesOf(s.slices, pair[0].Role, pair[0].Variant)
	b, _ := capacity.VotesOf(s.slices, pair[1].Role, pair[1].Variant)
	// Checked after every slice, one comparison in five of a variant with itself would seem
	// decided at some time.
	for n := enoughVotes; n <= min(len(a), len(b)); n = n * 3 / 2 {
		x, y := capacity.FitTrials(a[:n], peak(s.slices, pair[0], s.warm[pair[0]])), capacity.FitTrials(b[:n], peak(s.slices, pair[1], s.warm[pair[1]]))
		if x.Knee <= 0 || y.Knee <= 0 {
			continue
		}
		const sure = 2.6 // standard errors: 1% for each check
		if math.Abs(math.Log(y.Knee/x.Knee)) > sure*math.Hypot(x.KneeError, y.KneeError) {
			return true
		}
	}
	return false
}

// over reports whether the turns have ended before their time is used up.
func (s *schedule) over() bool {
	undecided := func(p [2]Place) bool {
		return !s.gone(p) && compare.Turns(s.slices, s.metric(), compare.Arm(p[0]), compare.Arm(p[1])).Samples < s.plan.Rounds
	}
	switch {
	case !slices.ContainsFunc(s.plan.Places, func(p Place) bool { return p.Role != record.RoleControl && s.given[p] == "" }):
		return true
	case s.plan.Rounds > 0 && len(s.plan.Pairs) > 0:
		return !slices.ContainsFunc(s.plan.Pairs, undecided)
	case !s.running() && s.generations < leastGenerations:
		return false
	case len(s.plan.Pairs) == 0 && s.plan.Rate == 0 && !s.located():
		return false
	}
	return len(s.open) == 0 && !slices.ContainsFunc(s.plan.Places, func(p Place) bool { return s.lacksWork(p) || s.lacksVotes(p) })
}

// running reports whether the target already runs, so that it cannot be restarted.
func (s *schedule) running() bool { return s.scenario.Target.URL != "" }

// lacksWork reports whether a place has fewer work slices than its figures need.
func (s *schedule) lacksWork(p Place) bool {
	return s.given[p] == "" && s.plan.Rate == 0 && !s.capped() && s.work[p] < enoughBlocks
}

// lacksVotes reports the same for SLO slices.
func (s *schedule) lacksVotes(p Place) bool {
	return s.given[p] == "" && s.plan.Rate == 0 && s.scenario.Bounded() && p.Role != record.RoleControl && s.votes[p] < enoughVotes
}

// located reports whether every variant's capacity has a narrow enough interval.
func (s *schedule) located() bool {
	return !s.scenario.Bounded() || !slices.ContainsFunc(s.plan.Places, func(p Place) bool {
		votes, _ := capacity.VotesOf(s.slices, p.Role, p.Variant)
		e := capacity.FitTrials(votes, peak(s.slices, p, s.warm[p]))
		return s.given[p] == "" && (e.SafeInterval == nil || e.SafeInterval[1]-e.SafeInterval[0] > enoughWidth*e.Safe)
	})
}

// lasts returns for how long the n-th generation takes turns, of the time that is left after its
// start: a multiple of what the start took.
func (s *schedule) lasts(n int, start, left time.Duration) time.Duration {
	length := max(leastGeneration, startShare*start)
	if half := left / 2; n < leastGenerations && s.ofTwo() && half >= shortShare*start {
		length = min(length, half)
	}
	if s.running() || left-length < length/2 {
		return left // the rest is too short for another generation
	}
	return length
}

// ofTwo reports whether two sides are compared, beside a twin of the baseline. Their blocks are
// short, and with one generation the comparison would be one of two processes, not of two programs.
// A short ladder needs the time of a second start for its blocks.
func (s *schedule) ofTwo() bool { return len(s.plan.Pairs) > 0 && len(s.plan.Places) <= 3 }

// spares reports whether a place that does not start is given up. If nothing was measured yet, that
// is an error of the scenario.
func (p *Plan) spares(at Place) bool {
	return len(p.Exp.Slices) > 0 || p.Spare && at != p.Places[0]
}

// failing returns why a place is given up after the slices so far; empty: it is not.
func failing(all []record.Slice, p Place) (why string) {
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

// nextRate returns the rate of a place's next SLO slice, given its work rate during warm-up and a
// limit (0: none); u is uniform in [0,1).
func nextRate(all []record.Slice, p Place, warm, limit, u float64) float64 {
	votes, _ := capacity.VotesOf(all, p.Role, p.Variant)
	return capacity.NextRate(votes, peak(all, p, warm), limit, u)
}

// peak returns a place's peak work rate: the median of its work slices, or the rate of its
// warm-up.
func peak(all []record.Slice, p Place, warm float64) float64 {
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
