package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
)

// pace is how long the runs of a depth are and how often they are repeated.
type pace struct {
	search, warmup time.Duration // measured time and warm-up of a searching run
	datum          time.Duration // measured time of a run whose datum enters the result
	rounds         int           // 0: the searches are the result, without intervals
	tolerance      float64       // of a search; a bracket for later rounds need not be narrow
	confirm        bool          // hold at the found rate
}

// paces are chosen so that the ladder of scenarios/notify.yaml (seven variants) takes two minutes, six and
// what it needs. A round costs a variant two or three runs.
var paces = map[Depth]pace{
	Quick:    {search: 900 * time.Millisecond, warmup: 400 * time.Millisecond, tolerance: 0.20},
	Default:  {search: 1000 * time.Millisecond, warmup: 400 * time.Millisecond, datum: 1200 * time.Millisecond, rounds: compare.MinPairs, tolerance: 0.20},
	Thorough: {search: 3 * time.Second, warmup: time.Second, datum: 5 * time.Second, rounds: 12, confirm: true},
}

// pace returns the depth's pace with what the scenario states for itself.
func (o *Options) pace() pace {
	p := paces[o.Depth]
	m := o.Scenario.Measure
	if o.Scenario.ByConcurrency() {
		p = o.jobTimes(p)
	}
	if o.Depth != Quick {
		if m.Length > 0 {
			p.search, p.datum = m.Length, m.Length
		}
		if m.Rounds > 0 {
			p.rounds = m.Rounds
		}
	}
	if m.Warmup > 0 {
		p.warmup = m.Warmup
	}
	if o.Depth == Quick && o.Scenario.Mode == record.KindSweep {
		p.warmup = min(p.warmup, quickSweepWarmup)
	}
	if o.Rounds > 0 {
		p.rounds = o.Rounds
	}
	return p
}

func (x *executor) execute(ctx context.Context) error {
	if x.Scenario.ByConcurrency() {
		switch x.exp.Kind {
		case record.KindLadder, record.KindCompare:
			return x.byConcurrency(ctx, x.variants)
		case record.KindCapacity:
			return x.byConcurrency(ctx, x.variants[:1])
		}
	}
	switch x.exp.Kind {
	case record.KindLadder:
		return x.ladder(ctx)
	case record.KindCompare:
		return x.compare(ctx)
	case record.KindCapacity:
		return x.capacity(ctx)
	case record.KindSweep:
		return x.sweep(ctx)
	case record.KindDiagnose:
		return x.diagnose(ctx)
	case record.KindLoad:
		return x.load(ctx)
	}
	return fmt.Errorf("nothing is known of mode %q", x.exp.Kind)
}

// searching returns a search for a variant's capacity.
func (x *executor) searching(p pace) capacity.Search {
	m := x.Scenario.Measure
	maxRate := m.MaxRate
	if limit := x.Scenario.Load.MaxRate; limit > 0 && (maxRate == 0 || limit < maxRate) {
		maxRate = limit
	}
	start := m.StartRate
	if start == 0 {
		start = 200 // per second: low enough for a slow service, a few doublings from a fast one
	}
	return capacity.Search{SLO: x.exp.SLO, Start: start, Max: maxRate, Length: p.search, Warmup: p.warmup, Tolerance: p.tolerance, Confirm: p.confirm}
}

// runsOf returns the runs of one search or slot, in order.
func (x *executor) runsOf(role, variant string, round int) []*record.Run {
	return x.exp.Select(func(r *record.Run) bool {
		return r.Step.Role == role && r.Step.Variant == variant && r.Step.Round == round
	})
}

// search finds a variant's capacity from nothing.
func (x *executor) search(ctx context.Context, variant string, round int, s capacity.Search) (perSecond float64, err error) {
	err = x.follow(ctx, func(*record.Experiment) (record.Step, bool) {
		step, done := s.Next(x.runsOf(record.RoleSearch, variant, round))
		step.Role, step.Variant, step.Round = record.RoleSearch, variant, round
		return step, done
	})
	if err != nil {
		return 0, err
	}
	found, ok, why := capacity.Datum(x.runsOf(record.RoleSearch, variant, round), x.exp.SLO)
	if !ok {
		return 0, noCapacity(variant, x.exp.SLO, found, why)
	}
	return found, nil
}

// noCapacity says why a search found none: the SLO was met everywhere (up to the rate found), or nowhere.
func noCapacity(variant string, slo record.SLO, found float64, why []string) error {
	mend := "loosen it, or lower measure.start_rate"
	if found > 0 {
		mend = "the capacity lies above what was offered"
	}
	return fmt.Errorf("%w: %s under the SLO %s: %s; %s", ErrUnfit, variant, slo, strings.Join(why, "; "), mend)
}

// Estimates of how many runs a search and a datum take, for the progress line.
const (
	runsPerSearch = 8
	runsPerDatum  = 2
)

// capacity repeats the search for a single variant; each repeat is a datum.
func (x *executor) capacity(ctx context.Context) error {
	p := x.pace()
	repeats := max(p.rounds, 1)
	name := x.variants[0].Name
	x.expected = runsPerSearch + (repeats-1)*runsPerDatum
	found, err := x.search(ctx, name, 0, x.searching(p))
	if err != nil || repeats == 1 {
		return err
	}
	return x.rotate(ctx, p, compare.Rotation{Variants: []string{name}, Rounds: repeats}, map[string]float64{name: found})
}

// below is where the search for a step's capacity begins, as a share of the capacity of the step before:
// low enough to be met by a step that changed nothing, so that the first doubling brackets it.
const below = 0.75

// ladder brackets each variant's capacity by a search, then measures all of them in rotated rounds, the
// baseline twice for the floor.
func (x *executor) ladder(ctx context.Context) error {
	p := x.pace()
	n := len(x.variants)
	x.expected = n*runsPerSearch + n
	if p.rounds > 0 {
		x.expected += (n + 1) * p.rounds * runsPerDatum
	}
	found := map[string]float64{}
	s := x.searching(p)
	for _, v := range x.variants {
		rate, err := x.search(ctx, v.Name, 0, s)
		if err != nil {
			return err
		}
		found[v.Name] = rate
		s.Start = below * rate // the next step is rarely far from the one before
	}
	if p.rounds == 0 {
		return x.profileLadder(ctx, found)
	}
	rotation := compare.Rotation{Rounds: p.rounds, Floor: x.variants[0].Name}
	for _, v := range x.variants {
		rotation.Variants = append(rotation.Variants, v.Name)
	}
	if x.Depth == Thorough {
		rotation.Leave = x.bench.leavable()
	}
	if err := x.rotate(ctx, p, rotation, found); err != nil {
		return err
	}
	return x.profileLadder(ctx, found)
}

// expect returns the capacity that a variant is likely to show in a round: the median of what the rounds
// before it found, or else what the search did.
func (x *executor) expect(variant string, round int, searched float64) float64 {
	var data []float64
	for before := 1; before < round; before++ {
		if d, ok, _ := capacity.Datum(x.runsOf(record.RoleMeasure, variant, before), x.exp.SLO); ok {
			data = append(data, d)
		}
	}
	if len(data) == 0 {
		return searched
	}
	slices.Sort(data)
	return data[len(data)/2]
}

// rotate measures the variants' capacities in the rotation's order.
func (x *executor) rotate(ctx context.Context, p pace, r compare.Rotation, found map[string]float64) error {
	s := x.searching(p)
	s.Length = p.datum
	r.Inner = func(slot record.Step, runs []*record.Run) (record.Step, bool) {
		variant := slot.Variant
		if slot.Role == record.RoleLeave { // what lacks a step is looked for where the whole ladder's capacity is
			variant = r.Variants[len(r.Variants)-1]
		}
		s := s
		s.Bracket = capacity.Around(x.expect(variant, slot.Round, found[variant]))
		next, done := s.Next(runs)
		slot.Rate, slot.Length, slot.Hold = next.Rate, next.Length, next.Hold
		return slot, done
	}
	return x.follow(ctx, r.Next)
}

// compare measures two variants in pairs: by their capacities, or at one rate.
func (x *executor) compare(ctx context.Context) error {
	p := x.pace()
	p.rounds = max(p.rounds, 1)
	a, b := x.variants[0].Name, x.variants[len(x.variants)-1].Name
	r := compare.Rotation{Variants: []string{a, b}, Rounds: p.rounds, Floor: a}
	if x.Rate == 0 && x.Metric != "" && x.Metric != compare.MetricCapacity {
		// p99 and CPU are compared where both sides still meet the SLO.
		const within = 0.7
		x.expected = runsPerSearch + 3*p.rounds
		found, err := x.search(ctx, a, 0, x.searching(p))
		if err != nil {
			return err
		}
		x.Rate = within * found
	}
	if x.Rate > 0 {
		x.expected += 3 * p.rounds
		return x.atRate(ctx, p, r)
	}
	x.expected = 2*runsPerSearch + 3*p.rounds*runsPerDatum
	found := map[string]float64{}
	for _, name := range []string{a, b} {
		rate, err := x.search(ctx, name, 0, x.searching(p))
		if err != nil {
			return err
		}
		found[name] = rate
	}
	return x.rotate(ctx, p, r, found)
}

// atRate runs every slot of a rotation once at the one rate.
func (x *executor) atRate(ctx context.Context, p pace, r compare.Rotation) error {
	length := max(p.datum, p.search, time.Duration(capacity.MinCompletions/x.Rate*float64(time.Second)))
	r.Inner = func(slot record.Step, runs []*record.Run) (record.Step, bool) {
		for _, run := range runs {
			if run.Invalid == "" {
				return record.Step{}, true
			}
		}
		slot.Rate, slot.Length = x.Rate, length
		return slot, false
	}
	return x.follow(ctx, r.Next)
}

// load runs each variant once with each number of connections.
func (x *executor) load(ctx context.Context) error {
	m := x.Scenario.Measure
	connections := m.Connections
	if len(connections) == 0 {
		connections = []int{0}
	}
	x.expected = len(connections) * len(x.variants)
	for _, v := range x.variants {
		for _, c := range connections {
			step := record.Step{Role: record.RoleSingle, Variant: v.Name, Rate: x.Scenario.Load.Schedule.Rate, Length: m.Length, Connections: c}
			if err := x.step(ctx, step); err != nil {
				return err
			}
		}
	}
	return nil
}
