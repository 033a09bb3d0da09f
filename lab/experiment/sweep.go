package experiment

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// Times of a sweep's runs. A quick sweep of about thirty variants must end in a minute and a
// half. It therefore takes only every other rate, including the highest, and ramps only one
// variant for each value of the first axis.
const (
	sweepLength      = 2 * time.Second // default measured time
	quickSweepLength = 500 * time.Millisecond
	quickSweepWarmup = 200 * time.Millisecond
	quickRampLength  = 6 * time.Second // the inflection detector needs 5 s to have a reference
)

// sweep runs every variant at every rate, and then once with a rising rate. Variants that can be
// up together stay up between their runs. An invalid run is only one point of many: the others
// still count.
func (x *executor) sweep(ctx context.Context) error {
	steps := x.sweepSteps()
	// With Keep, a shared dependency would be started once for each variant that stays up, and rows that are sent
	// once would have to last for all runs.
	if t := x.opts.Scenario.Load.Traits(); t.Sends && t.Axis == workload.AxisRate && !x.opts.Scenario.Load.Once && !x.opts.Scenario.Exclusive && !x.opts.Scenario.OneAddress() && !x.opts.Scenario.Shares() {
		defer x.runner.Keep()()
	}
	x.expected = len(steps)
	var unfit error
	fit := 0
	for _, step := range steps {
		switch err := x.step(ctx, step); {
		case errors.Is(err, ErrUnfit):
			unfit = err
		case err != nil:
			return err
		default:
			fit++
		}
	}
	if fit == 0 {
		return unfit
	}
	return nil
}

// sweepSteps lists a sweep's runs in order; every other round has the variants in reverse order.
func (x *executor) sweepSteps() (steps []record.RunSpec) {
	if x.opts.Scenario.Load.Traits().Axis != workload.AxisRate {
		return x.concurrencySteps()
	}
	m := x.opts.Scenario.Measure
	rounds, length, rates := cmp.Or(x.opts.Samples, m.Rounds, 1), cmp.Or(m.Length, sweepLength), m.Rates
	if x.opts.Depth == Quick {
		rounds, length, rates = 1, min(length, quickSweepLength), everyOther(rates)
	}
	variants := slices.Clone(x.variants)
	for round := 1; round <= rounds; round++ {
		for _, rate := range rates {
			for _, v := range variants {
				steps = append(steps, record.RunSpec{Role: record.RoleSweep, Variant: v.Name, Round: round, Rate: rate * x.opts.Scenario.Scale(v), Length: length})
			}
		}
		slices.Reverse(variants)
	}
	return append(steps, x.rampSteps()...)
}

// rampSteps lists the runs under a rising rate.
func (x *executor) rampSteps() (steps []record.RunSpec) {
	ramp := x.opts.Scenario.Measure.Ramp
	if ramp == nil {
		return nil
	}
	variants, length := x.variants, ramp.Length
	if x.opts.Depth == Quick {
		variants, length = x.firstOfEach(), min(length, quickRampLength)
	}
	for _, v := range variants {
		per := x.opts.Scenario.Scale(v)
		steps = append(steps, record.RunSpec{Role: record.RoleSweep, Variant: v.Name, Round: 1, Rate: ramp.From * per, RampTo: ramp.To * per, Length: length})
	}
	return steps
}

// everyOther keeps the highest of the rates and every second one below it.
func everyOther(rates []float64) (out []float64) {
	for i, rate := range slices.Sorted(slices.Values(rates)) {
		if (len(rates)-1-i)%2 == 0 {
			out = append(out, rate)
		}
	}
	return out
}

// firstOfEach keeps the first variant for each value of the sweep's first axis.
func (x *executor) firstOfEach() (out []scenario.Variant) {
	if x.opts.Scenario.Sweep == nil {
		return x.variants
	}
	axis, seen := x.opts.Scenario.Sweep.Axes[0].Name, map[string]bool{}
	for _, v := range x.variants {
		if value := v.Values[axis]; !seen[value] {
			seen[value] = true
			out = append(out, v)
		}
	}
	return out
}
