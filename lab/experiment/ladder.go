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
	"dyno/lab/workload"
)

const (
	// profiledFor is about how long a run under profiles takes, from the process's start to its
	// stop.
	profiledFor = 6 * time.Second
	// confirmLength is the length of the run that confirms a capacity, unless the scenario sets
	// one. If a target is overloaded by 2%, its queue then grows to the requests of about 150 ms.
	confirmLength = 8 * time.Second
)

// budget returns the time limit of the experiment; 0: it takes as long as its plan needs.
func (x *executor) budget() time.Duration {
	switch {
	case x.opts.Scenario.Load.Traits().Axis != workload.AxisRate || x.kind.budgets == nil:
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

// ladder measures all variants in turns, confirms the capacity of the last, and profiles each.
func (x *executor) ladder(ctx context.Context) error {
	var arms []turns.Arm
	var comparisons [][2]turns.Arm
	for i, v := range x.variants {
		p := measured(v.Name)
		arms = append(arms, p)
		if i > 0 {
			comparisons = append(comparisons, [2]turns.Arm{arms[0], p})
		}
		if i > 1 {
			comparisons = append(comparisons, [2]turns.Arm{arms[i-1], p})
		}
	}
	last := arms[len(arms)-1]
	if x.opts.Depth == Thorough {
		for _, name := range ablations(x.variants) {
			p := turns.Arm{Role: record.RoleAblation, Variant: name}
			arms, comparisons = append(arms, p), append(comparisons, [2]turns.Arm{p, last})
		}
	}
	arms = append(arms, turns.Arm{Role: record.RoleControl, Variant: x.variants[0].Name})
	after := time.Duration(len(x.variants)+1)*profiledFor + x.confirmFor() // the last is traced, too
	if err := x.takeTurns(ctx, arms, comparisons, x.until(after), 0); err != nil {
		return err
	}
	return x.afterTurns(ctx, func(ctx context.Context) error { return x.confirm(ctx, last) }, x.profileLadder)
}

// afterTurns takes the runs that follow the turns. A failure of one is only a warning, since the
// results of the turns count nevertheless.
func (x *executor) afterTurns(ctx context.Context, runs ...func(context.Context) error) error {
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

// until returns when the turns must end so that the runs after them have the time after, though
// at most half of the budget.
func (x *executor) until(after time.Duration) time.Time {
	budget := x.exp.Budget
	return x.began.Add(budget - min(after, budget/2))
}

// compare measures variants and their references in turns: their work rates and capacities, or
// all at one rate.
func (x *executor) compare(ctx context.Context) error {
	a := measured(x.variants[0].Name)
	arms, comparisons := []turns.Arm{a}, [][2]turns.Arm{}
	for i, v := range x.variants[1:] {
		p := measured(v.Name)
		arms, comparisons = append(arms, p), append(comparisons, [2]turns.Arm{measured(x.exp.Reference(i + 1)), p})
	}
	arms = append(arms, turns.Arm{Role: record.RoleControl, Variant: a.Variant})
	rate, most := x.opts.Rate, x.opts.Scenario.Load.MaxRate
	switch {
	case rate == 0 && x.opts.Metric == compare.MetricP99:
		// p99 is compared at a rate at which both sides still meet the SLO.
		const within, share = 0.7, 4
		if err := x.takeTurns(ctx, []turns.Arm{a}, nil, x.began.Add(x.exp.Budget/share), 0); err != nil {
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
		return x.takeTurns(ctx, arms, comparisons, x.until(0), rate)
	}
	if err := x.takeTurns(ctx, arms, comparisons, x.until(time.Duration(len(x.variants))*profiledFor), rate); err != nil {
		return err
	}
	return x.afterTurns(ctx, x.profileLadder)
}

// capacity measures one variant in turns of its own, and confirms the capacity.
func (x *executor) capacity(ctx context.Context) error {
	p := measured(x.variants[0].Name)
	after := x.confirmFor()
	if x.opts.Profile > 0 {
		after += profiledFor + x.opts.Profile
	}
	if err := x.takeTurns(ctx, []turns.Arm{p}, nil, x.until(after), 0); err != nil {
		return err
	}
	if err := x.confirm(ctx, p); err != nil || x.opts.Profile == 0 {
		return err
	}
	if err := x.profileAt(ctx, p.Variant, x.found(p.Variant), inFlight(x.exp.Slices, p.Variant)); ctx.Err() != nil {
		return err
	} else if err != nil {
		x.exp.Warnings = append(x.exp.Warnings, redact.Text(err.Error()))
	}
	return nil
}

// dropsFailing reports whether a variant that cannot be measured is dropped, because others are
// left to compare.
func (x *executor) dropsFailing() bool { return x.kind.compares && len(x.variants) > 2 }

func measured(variant string) turns.Arm {
	return turns.Arm{Role: record.RoleMeasure, Variant: variant}
}

// takeTurns measures the arms until every comparison is decided or the time is used up. A rate
// above 0 is that of every SLO slice.
func (x *executor) takeTurns(ctx context.Context, arms []turns.Arm, comparisons [][2]turns.Arm, ends time.Time, rate float64) error {
	dropped, err := turns.Take(ctx, turns.Plan{Arms: arms, Comparisons: comparisons, Ends: ends, Rate: rate, Samples: x.opts.Samples, Metric: x.opts.Metric,
		DropUnstarted: x.dropsFailing(), Generator: x.gen, Exp: x.exp, Token: x.opts.Token, Slice: x.opts.Progress.Slice})
	for p := range dropped {
		if p.Role == record.RoleMeasure {
			x.dropped[p.Variant] = true
		}
	}
	return err
}

// found returns a variant's capacity per second: the rate at which it safely meets the SLO or,
// without an SLO, its peak work rate; 0: none was found.
func (x *executor) found(variant string) float64 {
	result := capacity.Summarise(x.exp, variant)
	if result.CapacityPerS > 0 {
		return result.CapacityPerS
	}
	return result.PeakWorkPerS
}

// confirmFor returns the length of the run that confirms a capacity; 0: there is no such run.
func (x *executor) confirmFor() time.Duration {
	switch {
	case !x.opts.Scenario.Bounded() || x.opts.Depth == Quick:
		return 0
	case x.opts.Scenario.Measure.Hold > 0:
		return x.opts.Scenario.Measure.Hold
	}
	return confirmLength
}

// confirm runs a variant at its capacity for longer than a slice lasts, which shows a queue that
// never drains.
func (x *executor) confirm(ctx context.Context, p turns.Arm) error {
	result := capacity.Summarise(x.exp, p.Variant)
	if x.confirmFor() == 0 || !result.Valid || x.dropped[p.Variant] {
		return nil
	}
	return x.step(ctx, record.RunSpec{Role: record.RoleMeasure, Variant: p.Variant, Rate: result.CapacityPerS, Length: x.confirmFor(), Confirm: true})
}

// ablations lists the steps of a ladder that can be left out: those with undo arguments, except
// the last step, since the ladder without it is the variant before it.
func ablations(variants []scenario.Variant) []string {
	var names []string
	for _, v := range variants[:len(variants)-1] {
		if len(v.Undo) > 0 {
			names = append(names, v.Name)
		}
	}
	return names
}
