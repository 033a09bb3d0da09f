package experiment

import (
	"context"
	"fmt"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/experiment/turns"
	"dyno/lab/record"
	"dyno/lab/record/redact"
	"dyno/lab/scenario"
)

const (
	// profiledFor is the approximate time of a run under profiles, from start to stop.
	profiledFor = 5 * time.Second
	// holdLength is the time for which a capacity is held, unless the scenario sets one: a queue
	// that grows by 2% of the offers holds 150 ms of them by then.
	holdLength = 8 * time.Second
)

// budget returns the time limit of the experiment; 0: as long as its plan needs.
func (x *executor) budget() time.Duration {
	switch {
	case x.opts.Scenario.Load.Traits().Counted() || x.kind.budgets == nil:
		return 0
	case x.opts.Budget > 0:
		return x.opts.Budget
	case x.opts.Scenario.Measure.Budget > 0 && x.opts.Depth == Default:
		return x.opts.Scenario.Measure.Budget
	case len(x.variants) > 2 && x.kind.several != nil:
		return x.kind.several[x.opts.Depth]
	}
	return x.kind.budgets[x.opts.Depth]
}

// ladder measures every variant in turns, holds the last one's capacity, and takes profiles of
// each.
func (x *executor) ladder(ctx context.Context) error {
	var places []turns.Place
	var pairs [][2]turns.Place
	for i, v := range x.variants {
		p := measured(v.Name)
		places = append(places, p)
		if i > 0 {
			pairs = append(pairs, [2]turns.Place{places[0], p})
		}
		if i > 1 {
			pairs = append(pairs, [2]turns.Place{places[i-1], p})
		}
	}
	last := places[len(places)-1]
	if x.opts.Depth == Thorough {
		for _, name := range leavable(x.variants) {
			p := turns.Place{Role: record.RoleAblation, Variant: name}
			places, pairs = append(places, p), append(pairs, [2]turns.Place{p, last})
		}
	}
	places = append(places, turns.Place{Role: record.RoleControl, Variant: x.variants[0].Name})
	closing := time.Duration(len(x.variants))*profiledFor + x.holdFor()
	if err := x.takeTurns(ctx, places, pairs, x.until(closing), 0); err != nil {
		return err
	}
	return x.closing(ctx, func(ctx context.Context) error { return x.hold(ctx, last) }, x.profileLadder)
}

// closing takes the runs that follow the turns, whose results count whatever happens to these.
func (x *executor) closing(ctx context.Context, runs ...func(context.Context) error) error {
	for _, run := range runs {
		if err := run(ctx); err != nil {
			if ctx.Err() != nil {
				return err
			}
			x.exp.Warnings = append(x.exp.Warnings, redact.Text(err.Error()))
		}
	}
	return nil
}

// until returns the end of the turns that leaves time for the following runs, which take half of
// the budget at most.
func (x *executor) until(closing time.Duration) time.Time {
	budget := x.exp.Budget
	return x.began.Add(budget - min(closing, budget/2))
}

// compare measures variants in turns, each beside its reference: by their work and their
// capacities, or at one rate.
func (x *executor) compare(ctx context.Context) error {
	a := measured(x.variants[0].Name)
	places, pairs := []turns.Place{a}, [][2]turns.Place{}
	for i, v := range x.variants[1:] {
		p := measured(v.Name)
		places, pairs = append(places, p), append(pairs, [2]turns.Place{measured(x.exp.Reference(i + 1)), p})
	}
	places = append(places, turns.Place{Role: record.RoleControl, Variant: a.Variant})
	rate, most := x.opts.Rate, x.opts.Scenario.Load.MaxRate
	switch {
	case rate == 0 && x.opts.Metric == compare.MetricP99:
		// p99 is compared at a rate where both sides still meet the SLO.
		const within, share = 0.7, 4
		if err := x.takeTurns(ctx, []turns.Place{a}, nil, x.began.Add(x.exp.Budget/share), 0); err != nil {
			return err
		}
		if rate = within * capacity.Summarise(x.exp, a.Variant).CapacityPerS; rate == 0 {
			return fmt.Errorf("%w: no rate was found at which %s meets the SLO; give one with --at RATE", ErrUnfit, a.Variant)
		}
	case rate == 0 && most > 0 && x.opts.Metric != compare.MetricCapacity:
		rate = most
		x.opts.Metric, x.exp.Metric = compare.MetricCPU, compare.MetricCPU
		x.exp.Warnings = append(x.exp.Warnings, fmt.Sprintf("max_rate is set, so peak work rates are not measured: compared by CPU per request at %g/s", most))
	case rate > most && most > 0:
		return &scenario.Fault{Err: fmt.Errorf("%g/s is more than max_rate, %g/s", rate, most)}
	}
	if !x.opts.Profiled {
		return x.takeTurns(ctx, places, pairs, x.until(0), rate)
	}
	if err := x.takeTurns(ctx, places, pairs, x.until(time.Duration(len(x.variants))*profiledFor), rate); err != nil {
		return err
	}
	return x.closing(ctx, x.profileLadder)
}

// capacity measures one variant in its own turns, and holds the capacity that it found.
func (x *executor) capacity(ctx context.Context) error {
	p := measured(x.variants[0].Name)
	closing := x.holdFor()
	if x.opts.Profile > 0 {
		closing += profiledFor + x.opts.Profile
	}
	if err := x.takeTurns(ctx, []turns.Place{p}, nil, x.until(closing), 0); err != nil {
		return err
	}
	if err := x.hold(ctx, p); err != nil || x.opts.Profile == 0 {
		return err
	}
	if err := x.profileAt(ctx, p.Variant, x.found(p.Variant), inFlight(x.exp.Slices, p.Variant)); ctx.Err() != nil {
		return err
	} else if err != nil {
		x.exp.Warnings = append(x.exp.Warnings, redact.Text(err.Error()))
	}
	return nil
}

// dropsFailing reports whether a variant that cannot be measured is dropped, since others are left
// to compare.
func (x *executor) dropsFailing() bool { return x.kind.compares && len(x.variants) > 2 }

// measured is the place of a variant that is measured for itself.
func measured(variant string) turns.Place {
	return turns.Place{Role: record.RoleMeasure, Variant: variant}
}

// takeTurns measures the places until every pair is decided or the time is used up; rate (above
// 0) is that of every SLO slice.
func (x *executor) takeTurns(ctx context.Context, places []turns.Place, pairs [][2]turns.Place, ends time.Time, rate float64) error {
	given, err := turns.Take(ctx, turns.Plan{Places: places, Pairs: pairs, Ends: ends, Rate: rate, Rounds: x.opts.Rounds, Metric: x.opts.Metric,
		Spare: x.dropsFailing(), Generator: x.gen, Exp: x.exp, Token: x.opts.Token, Slice: x.opts.Progress.Slice})
	for p := range given {
		if p.Role == record.RoleMeasure {
			x.lost[p.Variant] = true
		}
	}
	return err
}

// found returns a variant's capacity, per second: its safe rate, or its peak work rate if no SLO
// bounds it; 0: none.
func (x *executor) found(variant string) float64 {
	result := capacity.Summarise(x.exp, variant)
	if result.CapacityPerS > 0 {
		return result.CapacityPerS
	}
	return result.PeakWorkPerS
}

// holdFor returns the time for which the capacity is held; 0: it is not.
func (x *executor) holdFor() time.Duration {
	switch {
	case !x.opts.Scenario.Bounded() || x.opts.Depth == Quick:
		return 0
	case x.opts.Scenario.Measure.Hold > 0:
		return x.opts.Scenario.Measure.Hold
	}
	return holdLength
}

// hold drives a variant at its capacity for longer than a slice: only that shows a queue that
// never drains.
func (x *executor) hold(ctx context.Context, p turns.Place) error {
	result := capacity.Summarise(x.exp, p.Variant)
	if x.holdFor() == 0 || !result.Valid || x.lost[p.Variant] {
		return nil
	}
	return x.step(ctx, record.RunSpec{Role: record.RoleMeasure, Variant: p.Variant, Rate: result.CapacityPerS, Length: x.holdFor(), Confirm: true})
}

// leavable lists the ladder's steps that have undo arguments, except the last: the ladder without
// that one is the step before it.
func leavable(variants []scenario.Variant) []string {
	var names []string
	for _, v := range variants[:len(variants)-1] {
		if len(v.Undo) > 0 {
			names = append(names, v.Name)
		}
	}
	return names
}
