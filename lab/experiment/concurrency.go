package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/record"
	"dyno/lab/record/redact"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// pace is the length and number of the runs with concurrent units or sessions, at one depth.
type pace struct {
	search, warmup time.Duration // measured time and warm-up of a run of a search
	datum          time.Duration // measured time of a run whose result is a sample of the comparison
	rounds         int           // rounds of the comparison; 0: the searches are the result
}

// paces are the paces of jobs. At a few hundred units per second, a run has the 400 units that a
// p95 needs.
var paces = map[Depth]pace{
	Quick:    {search: 2 * time.Second, datum: 2 * time.Second, warmup: time.Second},
	Default:  {search: 3 * time.Second, datum: 4 * time.Second, warmup: time.Second, rounds: 6},
	Thorough: {search: 5 * time.Second, datum: 10 * time.Second, warmup: 2 * time.Second, rounds: 12},
}

// pace returns the pace of the depth; the scenario's own values replace it.
func (o *Options) pace() pace {
	p, m := paces[o.Depth], o.Scenario.Measure
	if o.Scenario.Load.Traits().Axis == workload.AxisSessions {
		p = sessionPaces[o.Depth]
	}
	if o.Depth != Quick {
		p.search, p.datum, p.rounds = cmp.Or(m.Length, p.search), cmp.Or(m.Length, p.datum), cmp.Or(m.Rounds, p.rounds)
	}
	p.rounds = cmp.Or(o.Samples, p.rounds)
	return p
}

// peaks finds the best concurrency of each variant.
func (x *executor) peaks(ctx context.Context, length time.Duration, variants []scenario.Variant) (map[string]capacity.Peak, error) {
	found := map[string]capacity.Peak{}
	for _, v := range variants {
		if x.fixed() {
			found[v.Name] = capacity.Peak{Concurrency: x.opts.Scenario.Load.Sessions.Numbers[0]}
			continue
		}
		if x.opts.Concurrency > 0 {
			found[v.Name] = capacity.Peak{Concurrency: x.opts.Concurrency}
			continue
		}
		if first := variants[0]; v.Name != first.Name && x.comparesCPU(first, v) {
			found[v.Name] = found[first.Name]
			continue
		}
		next := x.searchOf(v, length)
		err := x.runPlan(ctx, func(*record.Experiment) (record.RunSpec, bool) {
			step, done := next(x.runsOf(record.RoleSearch, v.Name, 0))
			step.Role, step.Variant = record.RoleSearch, v.Name
			return step, done
		})
		peak, ok, why := capacity.PeakOf(x.runsOf(record.RoleSearch, v.Name, 0), x.exp.SLO)
		if err == nil && !ok {
			err = fmt.Errorf("%w: %s under the SLO %s: %s; loosen it, or lower measure.start_concurrency", ErrUnfit, v.Name, x.exp.SLO, strings.Join(why, "; "))
		}
		switch {
		case err == nil:
			found[v.Name] = peak
		case x.dropsFailing() && v.Name != variants[0].Name && ctx.Err() == nil:
			x.drop(v.Name, err)
		default:
			return nil, err
		}
	}
	return found, nil
}

// comparesCPU reports whether b is measured with as many concurrent units as a: what a unit costs depends on how many
// there are, and searches of two equal programs may end far apart.
func (x *executor) comparesCPU(a, b scenario.Variant) bool {
	s := x.opts.Scenario
	return x.kind.compares && x.opts.Metric == compare.MetricCPU && s.Load.Traits().Axis == workload.AxisConcurrency && s.Parallel(a) == s.Parallel(b) && slices.Equal(s.ConcurrencyOf(a), s.ConcurrencyOf(b))
}

// drop excludes a variant that cannot be measured from a comparison of several variants.
func (x *executor) drop(variant string, err error) {
	x.dropped[variant] = true
	why := strings.Join(strings.Fields(redact.Text(err.Error())), " ") // an error that quotes the end of a log has several lines
	text := variant + " is left out: " + strings.TrimPrefix(why, ErrUnfit.Error()+": ")
	x.exp.Warnings = append(x.exp.Warnings, text)
	x.opts.Progress.Say(text)
}

// byConcurrencyOf returns a search over a variant's number of concurrent units. If a job works
// through one unit after the other, the search tries only 1.
func (x *executor) byConcurrencyOf(v scenario.Variant, length time.Duration) capacity.Concurrency {
	s := capacity.Concurrency{SLO: x.exp.SLO, Max: x.opts.Scenario.Measure.MaxConcurrency, Listed: x.opts.Scenario.ConcurrencyOf(v), Length: length}
	if !x.opts.Scenario.Parallel(v) {
		s.Max = 1
	}
	return s
}

// byConcurrency finds the capacity of each variant under concurrent units: the most units per
// second, and the concurrency at which they are reached. It then measures all variants at their
// best concurrency, in rounds with rotating order. If several variants are compared, each round
// also has a second run of the baseline as control.
func (x *executor) byConcurrency(ctx context.Context) error {
	p, variants := x.opts.pace(), x.variants
	if x.kind.alone {
		variants = variants[:1]
	}
	n := len(variants)
	x.expected = (n+1)*p.rounds + n
	if x.opts.Concurrency == 0 {
		x.expected += n * runsPerSearch
	}
	around := x.atPeak
	if x.opts.Scenario.Load.Traits().Axis == workload.AxisSessions {
		around = x.aroundSessions
		x.expected = n*sessionsPerSearch + (n+1)*p.rounds*sessionsPerSearch/3
		if x.fixed() {
			p.rounds = max(p.rounds, 1)
			x.exp.Metric, x.expected = x.fixedMetric(), (n+1)*p.rounds
		}
	}
	found, err := x.peaks(ctx, p.search, variants)
	if err != nil {
		return err
	}
	variants = slices.DeleteFunc(slices.Clone(variants), func(v scenario.Variant) bool { return x.dropped[v.Name] })
	if n > 1 && len(variants) == 1 {
		return fmt.Errorf("nothing is left to compare %s with: %s", variants[0].Name, strings.Join(x.exp.Warnings, "; "))
	}
	n = len(variants)
	if p.rounds > 0 {
		rotation := compare.Rotation{Rounds: p.rounds, Inner: around(p, found, variants[n-1].Name), Enough: x.enough}
		for _, v := range variants {
			rotation.Variants = append(rotation.Variants, v.Name)
		}
		if n > 1 {
			rotation.Control = variants[0].Name
		}
		if x.opts.Depth == Thorough && x.kind.steps {
			rotation.Ablations = ablations(x.variants)
			x.expected += p.rounds * len(rotation.Ablations)
		}
		if err := x.runPlan(ctx, rotation.Next); err != nil {
			return err
		}
	}
	if x.kind.steps || x.opts.Profile > 0 {
		return x.profileJobs(ctx, variants, found)
	}
	return nil
}

// enough reports whether a number of rounds ends a comparison: they give an interval, drift cancels
// in them, and the time that --budget permits is over.
func (x *executor) enough(rounds int) bool {
	return x.opts.Budget > 0 && rounds >= leastRounds && rounds%2 == 0 && time.Since(x.began) > x.opts.Budget
}

// fewer is the share of the best concurrency that a round tries after the best has missed the
// SLO.
const fewer = 0.75

// atPeak plans a slot of a rotation: a run at the variant's best concurrency and, if that misses
// the SLO, one with fewer concurrent units.
func (x *executor) atPeak(p pace, found map[string]capacity.Peak, last string) func(record.RunSpec, []*record.Run) (record.RunSpec, bool) {
	return func(slot record.RunSpec, runs []*record.Run) (record.RunSpec, bool) {
		variant := slot.Variant
		if slot.Role == record.RoleAblation {
			variant = last
		}
		n := found[variant].Concurrency
		valid := slices.DeleteFunc(slices.Clone(runs), func(r *record.Run) bool { return r.Invalid != "" })
		_, ok, _ := capacity.PeakOf(valid, x.exp.SLO)
		switch {
		case ok || len(valid) > 1 || len(valid) == 1 && n == 1:
			return record.RunSpec{}, true
		case len(valid) == 1:
			n = max(1, int(fewer*float64(n)))
		}
		slot.Closed, slot.Connections, slot.Length = true, n, p.datum
		return slot, false
	}
}

// profileJobs takes one run under profiles of each variant, at its best concurrency.
func (x *executor) profileJobs(ctx context.Context, variants []scenario.Variant, found map[string]capacity.Peak) error {
	for _, v := range variants {
		plan := x.diagnosePlan(v.Name, 0)
		plan.Clients = found[v.Name].Concurrency
		if err := x.profile(ctx, plan); err != nil {
			return err
		}
	}
	return nil
}

// locatePeak finds the approximate capacity of the diagnosed variant. If there is none, it adds a
// warning instead of returning an error, since the diagnosis names the cause.
func (x *executor) locatePeak(ctx context.Context) (perSecond float64, err error) {
	v := x.variants[0]
	found, err := x.peaks(ctx, x.opts.pace().search, x.variants[:1])
	if errors.Is(err, ErrUnfit) && ctx.Err() == nil {
		x.exp.Warnings = append(x.exp.Warnings, "no capacity was found: "+strings.TrimPrefix(err.Error(), ErrUnfit.Error()+": "))
		return 0, nil
	}
	return found[v.Name].PerS, err
}

// diagnosePlanByConcurrency adapts a diagnosis's plan to a load of concurrent units or sessions.
// It allows as many as the scenario permits, and a single unit if the job works through one after
// the other.
func (x *executor) diagnosePlanByConcurrency(p diagnose.Plan) diagnose.Plan {
	most := cmp.Or(x.opts.Scenario.Measure.MaxConcurrency, capacity.MaxConcurrency)
	if x.opts.Scenario.Load.Traits().Axis == workload.AxisSessions {
		most = cmp.Or(x.opts.Scenario.Measure.MaxConcurrency, maxSessions)
	}
	if p.Most == 0 || p.Most > most {
		p.Most = most
	}
	if x.opts.Scenario.Load.Traits().Axis == workload.AxisSessions {
		p.Length = max(p.Length, x.opts.pace().search)
		return p
	}
	if v, _ := x.opts.Scenario.Variant(p.Variant); !x.opts.Scenario.Parallel(v) { // if the variant is unknown, the zero variant has the scenario's load
		p.Most = 1
	}
	p.Length = max(p.Length, paces[x.opts.Depth].search)
	return p
}

// concurrencySteps lists the runs of a sweep over numbers of concurrent units.
func (x *executor) concurrencySteps() (steps []record.RunSpec) {
	p := x.opts.pace()
	rounds := cmp.Or(x.opts.Samples, x.opts.Scenario.Measure.Rounds, 1)
	if x.opts.Depth == Quick {
		rounds = 1
	}
	variants := slices.Clone(x.variants)
	for round := 1; round <= rounds; round++ {
		for _, v := range variants {
			for _, n := range x.opts.Scenario.ConcurrencyOf(v) {
				steps = append(steps, record.RunSpec{Role: record.RoleSweep, Variant: v.Name, Round: round, Closed: true, Connections: n, Length: p.search})
			}
		}
		slices.Reverse(variants)
	}
	return steps
}
