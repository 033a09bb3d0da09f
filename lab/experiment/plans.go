package experiment

import (
	"context"
	"fmt"
	"time"

	"dyno/lab/record"
	"dyno/lab/scenario"
)

// pace is the length and number of a depth's runs where variants take turns by whole runs.
type pace struct {
	search, warmup time.Duration // measured time and warm-up of a searching run
	datum          time.Duration // measured time of a run whose result enters the comparison
	rounds         int           // 0: the searches are the result
}

var paces = map[Depth]pace{
	Quick:    {search: 900 * time.Millisecond, warmup: 400 * time.Millisecond},
	Default:  {search: 1000 * time.Millisecond, warmup: 400 * time.Millisecond, datum: 1200 * time.Millisecond, rounds: 6},
	Thorough: {search: 3 * time.Second, warmup: time.Second, datum: 5 * time.Second, rounds: 12},
}

// pace returns the depth's pace, with the scenario's own values where it has them.
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
	if x.Scenario.Load.Kind == scenario.Jobs && len(x.runner.companions(true)) > 0 {
		shared, err := x.runner.shared(ctx, x.exp, 1)
		if err != nil {
			return err
		}
		defer shared.down()
		x.runner.outer = shared
	}
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
	return fmt.Errorf("unknown mode %q", x.exp.Kind)
}

// runsOf returns the runs of one search or slot, in order.
func (x *executor) runsOf(role, variant string, round int) []*record.Run {
	return x.exp.Select(func(r *record.Run) bool {
		return r.Step.Role == role && r.Step.Variant == variant && r.Step.Round == round
	})
}

// runsPerSearch estimates the runs of a search for a job's concurrency, for the progress line.
const runsPerSearch = 8

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
