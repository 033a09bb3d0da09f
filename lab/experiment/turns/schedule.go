package turns

import (
	"cmp"
	"math"
	"slices"

	"dyno/lab/capacity"
	"dyno/lab/capacity/knee"
	"dyno/lab/compare"
	"dyno/lab/record"
)

// taken summarizes the slices so far for the choice of the next ones. It is computed once per
// block.
type taken struct {
	work, votes map[Place]int
	open        map[[2]Place]bool // pairs that are not yet decided
	generations int               // generations with at least a batch of blocks
	sees        bool              // the target's CPU time can be read
}

// look summarizes the slices so far.
func (t *turns) look() {
	now := taken{work: map[Place]int{}, votes: map[Place]int{}, open: map[[2]Place]bool{}}
	blocks := map[int]map[int]bool{}
	for i := range t.Exp.Slices {
		s := &t.Exp.Slices[i]
		p := Place{s.Role, s.Variant}
		if s.Kind == record.SliceWork {
			now.work[p]++
		} else {
			now.votes[p]++
		}
		if blocks[s.Generation] == nil {
			blocks[s.Generation] = map[int]bool{}
		}
		blocks[s.Generation][s.Block] = true
		now.sees = now.sees || s.TargetCPU > 0
	}
	for _, in := range blocks {
		if len(in) >= leastBlocks || t.Scenario.Exclusive {
			now.generations++
		}
	}
	t.taken = now
	for _, pair := range t.Pairs {
		if !t.settled(pair) || !t.placed(pair) {
			t.taken.open[pair] = true
		}
	}
}

// leastBlocks is the number of blocks that a generation needs to give a sample.
const leastBlocks = 5

// kind returns the next block's kind of slice: SLO slices get their share of the time, and all of
// it when no work comparison is open.
func (t *turns) kind() string {
	work, votes := t.spent[record.SliceWork], t.spent[record.SliceSLO]
	worked := t.Rounds == 0 && len(t.Pairs) > 0 && !slices.ContainsFunc(t.Places, func(p Place) bool { return t.lacksWork(p) }) &&
		!slices.ContainsFunc(t.Pairs, func(p [2]Place) bool { return !t.settled(p) })
	switch {
	case t.Rate > 0, t.capped():
		return record.SliceSLO
	case !t.Scenario.Bounded():
		return record.SliceWork
	case worked, float64(votes) < voteShare*float64(work+votes):
		return record.SliceSLO
	}
	return record.SliceWork
}

// capped reports whether the rate has a limit: a target that works as fast as it can would exceed
// it.
func (t *turns) capped() bool { return t.Scenario.Load.MaxRate > 0 }

// due reports whether a place takes part in the block. The twin shows the noise of work; it has
// no capacity of its own.
func (t *turns) due(p Place, kind string) bool {
	switch {
	case t.given[p] != "":
		return false
	case kind == record.SliceSLO:
		return p.Role != record.RoleFloor || t.Rate > 0
	case len(t.Pairs) == 0, t.block%settledEvery == 0, t.lacksWork(p):
		return true
	}
	if p.Role == record.RoleFloor {
		p.Role = record.RoleMeasure
	}
	for pair := range t.taken.open {
		if pair[0] == p || pair[1] == p {
			return true
		}
	}
	return false
}

// settled reports whether a pair is decided by its work slices, or by those at one rate.
func (t *turns) settled(pair [2]Place) bool {
	if t.given[pair[0]] != "" || t.given[pair[1]] != "" || t.capped() && t.Rate == 0 {
		return true
	}
	decided := func(metric string) bool {
		return compare.Settled(t.Exp.Slices, metric, compare.Side(pair[0]), compare.Side(pair[1]))
	}
	return decided(t.metric()) && (t.metric() != compare.MetricWork || !t.taken.sees || decided(compare.MetricCPU))
}

// metric returns the first metric of the pairs: the requested one at one equal rate, or else the
// work rate.
func (t *turns) metric() string {
	switch {
	case t.Rate > 0:
		return cmp.Or(t.Metric, compare.MetricP99)
	case t.Metric == compare.MetricCPU && t.taken.sees:
		return compare.MetricCPU
	}
	return compare.MetricWork
}

// placed reports whether a requested comparison of capacities is decided.
func (t *turns) placed(pair [2]Place) bool {
	if t.Metric != compare.MetricCapacity || t.Rate > 0 || t.given[pair[0]] != "" || t.given[pair[1]] != "" {
		return true
	}
	a, _ := capacity.VotesOf(t.Exp.Slices, pair[0].Role, pair[0].Variant)
	b, _ := capacity.VotesOf(t.Exp.Slices, pair[1].Role, pair[1].Variant)
	// Checked after every slice, one comparison in five of a variant with itself would seem
	// decided at some time.
	for n := enoughVotes; n <= min(len(a), len(b)); n = n * 3 / 2 {
		x, y := knee.Fit(a[:n], t.peak(pair[0])), knee.Fit(b[:n], t.peak(pair[1]))
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

// over reports whether the turns have ended.
func (t *turns) over() bool {
	undecided := func(p [2]Place) bool {
		return t.given[p[0]] == "" && t.given[p[1]] == "" && compare.Turns(t.Exp.Slices, t.metric(), compare.Side(p[0]), compare.Side(p[1])).Pairs < t.Rounds
	}
	switch {
	case t.late():
		return true
	case !slices.ContainsFunc(t.Places, func(p Place) bool { return p.Role != record.RoleFloor && t.given[p] == "" }):
		return true
	case t.Rounds > 0 && len(t.Pairs) > 0:
		return !slices.ContainsFunc(t.Pairs, undecided)
	case !t.running() && t.taken.generations < leastGenerations:
		return false
	case len(t.Pairs) == 0 && t.Rate == 0 && !t.located():
		return false
	}
	return len(t.taken.open) == 0 && !slices.ContainsFunc(t.Places, func(p Place) bool { return t.lacksWork(p) || t.lacksVotes(p) })
}

// lacksWork reports whether a place has fewer work slices than its figures need.
func (t *turns) lacksWork(p Place) bool {
	return t.given[p] == "" && t.Rate == 0 && !t.capped() && t.taken.work[p] < enoughBlocks
}

// lacksVotes reports the same for SLO slices.
func (t *turns) lacksVotes(p Place) bool {
	return t.given[p] == "" && t.Rate == 0 && t.Scenario.Bounded() && p.Role != record.RoleFloor && t.taken.votes[p] < enoughVotes
}

// enoughWidth is the interval's width, over the capacity, at which a search for it ends early.
const enoughWidth = 0.06

// located reports whether every variant's capacity has a narrow enough interval.
func (t *turns) located() bool {
	return !t.Scenario.Bounded() || !slices.ContainsFunc(t.Places, func(p Place) bool {
		votes, _ := capacity.VotesOf(t.Exp.Slices, p.Role, p.Variant)
		e := knee.Fit(votes, t.peak(p))
		return t.given[p] == "" && (e.SafeInterval == nil || e.SafeInterval[1]-e.SafeInterval[0] > enoughWidth*e.Safe)
	})
}
