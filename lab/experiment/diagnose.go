package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/diagnose"
	"dyno/lab/experiment/generator"
	"dyno/lab/experiment/runs"
	"dyno/lab/experiment/turns"
	"dyno/lab/record"
	"dyno/lab/record/redact"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// diagnoseLengths are the lengths of a diagnosis's runs, by depth. A diagnosis takes two minutes
// at most: about eight runs, among them the saturating ones, one under profiles and one
// intervention.
var diagnoseLengths = map[Depth]struct{ saturate, warmup time.Duration }{
	Quick:    {saturate: 800 * time.Millisecond, warmup: 400 * time.Millisecond},
	Default:  {saturate: 1500 * time.Millisecond, warmup: 500 * time.Millisecond},
	Thorough: {saturate: 4 * time.Second, warmup: time.Second},
}

// profileLength is the longest measured time of a run under profiles. The run takes two heap
// profiles with a GC cycle each, 2 s of CPU profile and 0.5 s of execution trace, one after the
// other, and then ends early. A target on a busy machine answers slowly, so there is time for the
// limits of several pages.
const profileLength = 30 * time.Second

// justAbove is the rate, as a share of the capacity, at which a target is diagnosed if its work
// continues after its answers: high enough that it is never idle, low enough not to overload it.
const justAbove = 1.05

// wellAbove is the rate, as a multiple of the peak work rate, at which a target is diagnosed whose requests are sent
// once, if they last while the profiles are taken. The peak is that of clients that wait for their answers, and a
// target may carry more from those that do not.
const wellAbove = 2

// profilesTake is about how long the profiles of profileLength take.
const profilesTake = 8 * time.Second

// locateBudget bounds the search for the capacity: a diagnosis does not need a narrow interval.
const locateBudget = 20 * time.Second

// diagnose finds the bottleneck of a variant and, if there is an SLO, its capacity. It first
// saturates the target and measures the throughput regardless of the SLO, then searches the
// capacity near that. If the target's work continues after its answers, saturating it by answers
// says nothing, and rows that are sent once do not last far above the peak: then the capacity is
// searched first.
func (x *executor) diagnose(ctx context.Context) error {
	name := x.variants[0].Name
	x.expected = runsPerSearch + runsPerDiagnosis
	if err := x.runner.DownstreamAnswers(ctx); err != nil {
		return err
	}
	plan, found := x.diagnosePlan(name, 0), 0.0
	delivers, load := x.exp.SLO.On == record.OnDelivery, x.opts.Scenario.Load
	once := load.Once && load.Traits().Axis == workload.AxisRate && x.opts.Scenario.Bounded()
	later := delivers || once
	if !later {
		err := x.runPlan(ctx, func(e *record.Experiment) (record.RunSpec, bool) {
			step, done := plan.Next(e.Runs)
			return step, done || step.Role != record.RoleSaturate || unanswered(e.Runs) != nil
		})
		if err := cmp.Or(err, unanswered(x.exp.Runs)); err != nil {
			return err
		}
	}
	if x.opts.Scenario.Bounded() {
		var err error
		if found, err = x.locating(ctx); err != nil {
			return err
		}
	}
	if later {
		if found == 0 {
			found = x.found(name)
		}
		plan = x.diagnosePlan(name, found)
		if once && !delivers {
			x.nearPeak(&plan)
		}
	}
	plan.Intervene = true
	x.expected = len(x.exp.Order) + 3
	err := x.runPlan(ctx, func(e *record.Experiment) (record.RunSpec, bool) { return plan.Next(e.Runs) })
	if errors.Is(err, runs.ErrNotChanged) && ctx.Err() == nil {
		x.exp.Warnings = append(x.exp.Warnings, "no experiment confirms the verdict: "+redact.Text(err.Error()))
	} else if err != nil {
		return err
	}
	return x.traceRun(ctx, x.variants[0], found)
}

// nearPeak has a plan send rows that are sent once at a rate at which they last.
func (x *executor) nearPeak(p *diagnose.Plan) {
	peak, most := capacity.Summarise(x.exp, p.Variant).PeakWorkPerS, x.opts.Scenario.MostRate()
	if peak == 0 {
		return
	}
	p.Rate, p.CapRate = x.gen.Lasting(wellAbove*peak, justAbove*peak, profilesTake), false
	if most > 0 && p.Rate >= most {
		p.Rate, p.CapRate = most, true
	}
}

// unanswered returns an error if the first run, with a single client, had no successful answer:
// then there is nothing to diagnose.
func unanswered(runs []*record.Run) error {
	if len(runs) == 0 {
		return nil
	}
	first := runs[len(runs)-1]
	if first.Spec.Connections > 1 || first.Totals.Failed < first.Totals.Ended || first.Totals.Ended == 0 && len(runs) == 1 {
		return nil // the same run is repeated for longer
	}
	return generator.Failing(cmp.Or(first.NoSuccess, generator.ErrNoSuccess.Error()+generator.TopError(first.Totals)))
}

// locating finds the capacity of the diagnosed variant by the axis of its load.
func (x *executor) locating(ctx context.Context) (perSecond float64, err error) {
	if x.opts.Scenario.Load.Traits().Axis != workload.AxisRate {
		return x.locatePeak(ctx)
	}
	return x.locate(ctx, x.variants[0].Name)
}

// locate finds a variant's approximate capacity at a rate. If there is none, it adds a warning
// instead of returning an error, since the diagnosis names the cause.
func (x *executor) locate(ctx context.Context, name string) (perSecond float64, err error) {
	p := measured(name)
	err = x.takeTurns(ctx, []turns.Arm{p}, nil, time.Now().Add(locateBudget), 0)
	if ctx.Err() != nil {
		return 0, err
	}
	result := capacity.Summarise(x.exp, name)
	if err != nil {
		result.Reason = redact.Text(err.Error())
	}
	if !result.Valid || err != nil {
		x.exp.Warnings = append(x.exp.Warnings, "no capacity was found under the SLO "+x.exp.SLO.String()+": "+result.Reason)
	}
	return result.CapacityPerS, nil
}

// runsPerDiagnosis is an estimate for the progress line.
const runsPerDiagnosis = 6

// diagnosePlan returns the plan for diagnosing a variant with the given capacity; 0: it is not
// known.
func (x *executor) diagnosePlan(variant string, found float64) diagnose.Plan {
	p := diagnose.Plan{Variant: variant, Most: x.opts.Clients, Length: diagnoseLengths[x.opts.Depth].saturate, Profiled: profileLength}
	if x.opts.Scenario.Load.Traits().Axis != workload.AxisRate {
		return x.diagnosePlanByConcurrency(p)
	}
	most := x.opts.Scenario.MostRate()
	switch {
	case x.exp.SLO.On == record.OnDelivery && found > 0:
		p.Rate = justAbove * found
	case most > 0 && (found == 0 || found > most/2 || x.opts.Scenario.Load.MaxRate > 0):
		p.Rate, p.CapRate = most, true // a closed loop cannot be held at a rate
	}
	if most > 0 && p.Rate > most {
		p.Rate, p.CapRate = most, true
	}
	return p
}

// profileLadder takes one run under profiles of each variant at its peak work rate, at which the
// turns compare the variants. The profiles give the flame graphs and explain each step.
func (x *executor) profileLadder(ctx context.Context) error {
	for _, v := range x.variants {
		if time.Since(x.began) > x.exp.Budget {
			x.exp.Warnings = append(x.exp.Warnings, "the budget was used up before "+v.Name+" could be profiled: give it more with --budget")
			return nil
		}
		at, clients := capacity.Summarise(x.exp, v.Name).PeakWorkPerS, x.gen.Base(v).Connections
		if at == 0 {
			at, clients = x.found(v.Name), inFlight(x.exp.Slices, v.Name)
		}
		if err := x.profileAt(ctx, v.Name, at, clients); err != nil {
			return err
		}
	}
	last := x.variants[len(x.variants)-1]
	if x.dropped[last.Name] || time.Since(x.began) > x.exp.Budget {
		return nil
	}
	return x.traceRun(ctx, last, x.found(last.Name))
}

// profileAt takes one run under profiles of a variant: at a rate per second or, if clients can
// saturate it, with the given number of clients. If at is 0, it does nothing.
func (x *executor) profileAt(ctx context.Context, variant string, at float64, clients int) error {
	if at == 0 || x.dropped[variant] {
		return nil
	}
	plan := x.diagnosePlan(variant, at)
	if plan.Rate == 0 {
		plan.Clients = clients
	}
	plan.Rate = min(plan.Rate, justAbove*at) // more only fills queues
	return x.profile(ctx, plan)
}

// profile takes the run under profiles of a plan, and no other run.
func (x *executor) profile(ctx context.Context, plan diagnose.Plan) error {
	plan.Only = true
	err := x.runPlan(ctx, func(e *record.Experiment) (record.RunSpec, bool) { return plan.Next(e.Runs) })
	if err != nil {
		return fmt.Errorf("profiling %s: %w", plan.Variant, err)
	}
	return nil
}

// inFlight returns twice the largest mean number of requests in flight (by Little's law) in those
// of a variant's SLO slices that met the SLO; at least 2 and at most diagnose.MostClients.
func inFlight(slices []record.Slice, variant string) int {
	most := 0.0
	for i := range slices {
		if s := &slices[i]; s.Kind == record.SliceSLO && s.Variant == variant && s.Met {
			most = max(most, s.PerS()*s.Latency.Mean/1000)
		}
	}
	return max(2, min(2*int(most+0.5), diagnose.MostClients))
}

// traced reports whether a variant's target can send its traces, by the scenario or by --otlp.
func (x *executor) traced(v scenario.Variant) bool {
	return x.opts.OTLP != "" || len(x.opts.Scenario.TargetOf(v).Traced) > 0
}

// underCapacity is the rate of a traced run as a share of the capacity. Sending traces costs the
// target something, and the run must show the latency of a target that is not overloaded.
const underCapacity = 0.7

// traceRun runs a variant once while the target sends its traces, for the latency by stage.
func (x *executor) traceRun(ctx context.Context, v scenario.Variant, found float64) error {
	if !x.traced(v) {
		return nil
	}
	step := record.RunSpec{Role: record.RoleTraced, Variant: v.Name, Rate: underCapacity * found, Length: diagnoseLengths[x.opts.Depth].saturate}
	if most := x.opts.Scenario.MostRate(); found == 0 && most > 0 {
		step.Rate = most // a closed loop cannot be held at a rate
	} else if found == 0 {
		const clients = 32
		step.Closed, step.Rate, step.Connections = true, 0, cmp.Or(x.opts.Clients, clients)
	}
	return x.step(ctx, step)
}
