package generator

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/sessions"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

const (
	// Defaults of a load's fields.
	defaultConnections = 64
	defaultTimeout     = 10 * time.Second
	defaultLength      = 10 * time.Second
	// LongestDrain bounds the wait for requests in flight at the end. Requests that take longer
	// are recorded with their age, which by then exceeds any useful objective.
	LongestDrain = 2 * time.Second
)

// Base returns the part of a plan that all loads of a variant share.
func (b *Generator) Base(v scenario.Variant) load.Plan {
	l := b.Scenario.LoadOf(v)
	p := load.Plan{Connections: cmp.Or(l.Connections, defaultConnections), Timeout: cmp.Or(l.Timeout, defaultTimeout), Units: 1}
	if l.Traits().Sends {
		p.Units = max(l.Units, 1)
	}
	return p
}

// Plan returns the load plan of a run with a warm-up, and describes the load in the run. An error
// is a fault of the scenario.
func (b *Generator) Plan(r *record.Run, v scenario.Variant, warmup time.Duration) (load.Plan, error) {
	l, p := b.Scenario.LoadOf(v), b.Base(v)
	if l.Traits().Axis == workload.AxisSessions {
		p.Connections = cmp.Or(r.Spec.Connections, p.Connections)
		return b.planSessions(p, r, l, warmup), nil
	}
	p.Length, p.Warmup = cmp.Or(r.Spec.Length, defaultLength), warmup
	if r.Spec.RampTo > 0 {
		p.Warmup = 0 // the ramp's lowest rates are its warm-up
	}
	p.Drain = drainFor(r.SLO, p.Timeout)
	if !r.Spec.Closed && l.Schedule.Kind != workload.Closed {
		b.WithThinkTimes(&p, v)
	}
	p.Connections = cmp.Or(r.Spec.Connections, p.Connections)
	seed := Seed(l.Schedule.Seed, b.Scenario.Name, r.Spec.Round)
	if err := b.schedule(&p, r.Spec, seed); err != nil {
		return p, err
	}
	steady := r.Spec.Rate
	if r.Spec.RampTo > 0 {
		steady = 0
	}
	if err := withinMaxRate(&p, steady, l.MaxRate); err != nil {
		return p, err
	}
	if l.Deliveries != "" {
		p.Deliveries = MostUnacked(max(r.Spec.Rate, r.Spec.RampTo))
	}
	r.Load = record.LoadInfo{Kind: cmp.Or(l.Kind, workload.Requests), Axis: l.Traits().Axis, Model: "open", Schedule: describeSchedule(l, r.Spec),
		Connections: p.Connections, Timeout: p.Timeout, Seed: seed}
	if p.Units > 1 {
		r.Load.Units = p.Units
	}
	if !p.Open() {
		r.Load.Model = "closed"
	}
	if !p.Open() && !r.Spec.Diagnostic() && r.Axis() != record.AxisConcurrency {
		r.Warnings = append(r.Warnings, "closed-loop: hides stalls, since a waiting connection offers nothing")
	}
	return p, nil
}

// planSessions completes the plan for a number of sessions that each send at the same rate.
func (b *Generator) planSessions(p load.Plan, r *record.Run, l scenario.Load, warmup time.Duration) load.Plan {
	p.Length, p.Warmup, p.Drain = cmp.Or(r.Spec.Length, defaultLength), warmup, drainFor(r.SLO, p.Timeout)
	p.Follow(sessions.Schedule(p.Connections, l.Sessions.PerSession, p.Warmup+p.Length+record.WindowLength))
	schedule := fmt.Sprintf("%d sessions, each %.6g/s", p.Connections, l.Sessions.PerSession)
	switch {
	case l.Sessions.PerSession == 0 && l.Driver != nil:
		schedule = fmt.Sprintf("%d sessions at their driver's pace", p.Connections)
	case l.Sessions.PerSession == 0:
		schedule = fmt.Sprintf("%d sessions that only receive", p.Connections)
	}
	r.Load = record.LoadInfo{Kind: l.Kind, Axis: l.Traits().Axis, Model: "open", Schedule: schedule, Connections: p.Connections, Timeout: p.Timeout}
	return p
}

// drainFor returns a drain of several times the SLO's bound: longer than any request that could
// still meet it.
func drainFor(slo record.SLO, timeout time.Duration) time.Duration {
	const times = 3
	bound := 0.0
	for _, ms := range slo.Latency {
		bound = max(bound, ms)
	}
	if bound == 0 {
		return min(LongestDrain, timeout)
	}
	return min(max(times*time.Duration(bound*float64(time.Millisecond)), record.WindowLength), LongestDrain, timeout)
}

// MostUnacked returns the number of requests that may wait for their delivery concurrently: those
// of 20 s, longer than any request of a run may take.
func MostUnacked(rate float64) int { return max(1<<14, int(20*rate)) }

// Seed returns the seed of the arrivals in a round: the stated one, or else one that all variants
// share in a round and that differs from round to round.
func Seed(stated uint64, name string, round int) uint64 {
	if stated != 0 {
		return stated
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", name, round)
	return h.Sum64()
}

// schedule sets the plan's schedule; the step's rates are in units. Kinds of schedule that state
// their own times have no warm-up.
func (b *Generator) schedule(p *load.Plan, step record.RunSpec, seed uint64) error {
	s, units := b.Scenario.Load.Schedule, float64(p.Units)
	rate := step.Rate / units
	span := p.Warmup + p.Length
	if step.Closed {
		return nil
	}
	if step.RampTo > 0 {
		p.Follow(load.ScheduleSpec{Kind: workload.Ramp, PerSecond: rate, To: step.RampTo / units, Length: span})
		return nil
	}
	switch s.Kind {
	case workload.Closed:
	case workload.Poisson, "":
		p.Follow(load.ScheduleSpec{Kind: workload.Poisson, PerSecond: rate, Length: span, Seed: seed})
	case workload.Constant:
		p.Follow(load.ScheduleSpec{Kind: workload.Constant, PerSecond: rate, Length: span})
	case workload.Ramp:
		p.Warmup = 0
		p.Follow(load.ScheduleSpec{Kind: workload.Ramp, PerSecond: s.From / units, To: s.To / units, Length: p.Length})
	case workload.Stepwise:
		p.Warmup, p.Length = 0, 0
		var stages []workload.Stage
		for _, st := range s.Stages {
			stages = append(stages, workload.Stage{Rate: st.Rate / units, Length: st.Length})
			p.Length += st.Length
		}
		p.Follow(load.ScheduleSpec{Kind: workload.Stepwise, Stages: stages})
	case workload.File:
		return b.scheduleFile(p, s.File)
	default:
		return fmt.Errorf("unknown schedule %q", s.Kind)
	}
	if needsRate := s.Kind == workload.Poisson || s.Kind == "" || s.Kind == workload.Constant; needsRate && rate <= 0 {
		return errors.New("the schedule has no rate: set load.schedule.rate, or -r")
	}
	return nil
}

func (b *Generator) scheduleFile(p *load.Plan, file string) error {
	f, err := os.Open(b.Scenario.Resolve(file))
	if err != nil {
		return fmt.Errorf("load.schedule.file: %w", err)
	}
	defer f.Close()
	at, err := load.ReadTimes(f)
	if err != nil {
		return fmt.Errorf("load.schedule.file %s: %w", file, err)
	}
	if len(at) == 0 {
		return fmt.Errorf("load.schedule.file %s contains no times", file)
	}
	p.Warmup, p.Length = 0, time.Duration(at[len(at)-1]+1)
	p.Follow(load.ScheduleSpec{Kind: workload.File, Times: at})
	return nil
}

func describeSchedule(l scenario.Load, step record.RunSpec) string {
	s, rate := l.Schedule, step.Rate
	if step.Closed && !l.Traits().Sends {
		return fmt.Sprintf("%d concurrent units", step.Connections)
	}
	if step.Closed {
		return workload.Closed
	}
	if step.RampTo > 0 {
		s.Kind, s.From, s.To = workload.Ramp, rate, step.RampTo
	}
	switch s.Kind {
	case workload.Closed:
		return workload.Closed
	case workload.Ramp:
		return fmt.Sprintf("ramp %.6g/s to %.6g/s", s.From, s.To)
	case workload.Stepwise:
		return fmt.Sprintf("%d stages", len(s.Stages))
	case workload.File:
		return "file " + s.File
	case workload.Constant:
		return fmt.Sprintf("constant %.6g/s", rate)
	}
	return fmt.Sprintf("poisson %.6g/s", rate)
}

// withinMaxRate returns an error if a plan may send more than the scenario permits in any second.
// A search stays below the limit on its own; a load with a given rate is refused, not reduced.
func withinMaxRate(p *load.Plan, perSecond, most float64) error {
	switch {
	case most == 0:
		return nil
	case !p.Open():
		return errors.New("a closed model sends as fast as answers arrive, so max_rate cannot limit it: give a rate")
	case perSecond > 0 && perSecond <= most:
		return nil // a steady rate, apart from random variation
	}
	var second []int64 // the requests in the second that ends now
	s := p.Schedule()
	for at, ok := s(); ok; at, ok = s() {
		second = append(second, at)
		for at-second[0] >= int64(time.Second) {
			second = second[1:]
		}
		if float64(len(second)*max(p.Units, 1)) > most {
			return fmt.Errorf("the schedule sends more than max_rate, %g per second, at %s", most, time.Duration(at).Round(time.Millisecond))
		}
	}
	return nil
}
