package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"dyno/lab/probe/otlp"
	"dyno/lab/record"
	"dyno/lab/scenario"
)

// traced reports whether a variant's target can send its traces, by the scenario or by --otlp.
func (x *executor) traced(v scenario.Variant) bool {
	return x.OTLP != "" || len(x.Scenario.TargetOf(v).Traced) > 0
}

// underCapacity is the rate of a traced run as a share of the capacity: sending traces costs the
// target something, and the run must show latency at capacity, not in overload.
const underCapacity = 0.7

// traceRun runs a variant once while it sends its traces, for the latency by stage.
func (x *executor) traceRun(ctx context.Context, v scenario.Variant, found float64) error {
	if !x.traced(v) {
		return nil
	}
	step := record.Step{Role: record.RoleTraced, Variant: v.Name, Rate: underCapacity * found, Length: looks[x.Depth].saturate}
	if most := x.mostRate(); found == 0 && most > 0 {
		step.Rate = most // a closed loop cannot keep a rate
	} else if found == 0 {
		const clients = 32
		step.Closed, step.Rate, step.Connections = true, 0, cmp.Or(x.Clients, clients)
	}
	return x.step(ctx, step)
}

// takeTraces begins to receive traces at an address; empty: any free port.
func (s *environment) takeTraces(addr string) error {
	var err error
	if s.traces, err = otlp.Listen(cmp.Or(addr, "127.0.0.1:0")); err != nil {
		return err
	}
	s.fields["otlp"] = s.traces.URL()
	return nil
}

// lastTraces is the time that a running target has to send its gathered spans: exporters send
// every 5 s by default.
const lastTraces = 6 * time.Second

// stages enters the latency by stage into a run after the last span: a target that was started
// for the run sends its remaining spans when it stops.
func (s *environment) stages(ctx context.Context, r *record.Run) error {
	if s.target != nil {
		s.target.Stop(lastTraces)
		for _, p := range slices.Backward(s.companions) {
			p.Stop(lastTraces)
		}
	} else {
		select {
		case <-ctx.Done():
		case <-time.After(lastTraces):
		}
	}
	r.Stages = s.traces.Stages(r.Begin, r.Begin+int64(r.Length))
	if len(r.Stages) == 0 {
		r.Warnings = append(r.Warnings, "no trace arrived at "+s.traces.URL()+": does the target export OTLP over HTTP to there?")
	}
	if lost := s.traces.Losses(); lost != (otlp.Losses{}) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("not every trace was counted: %+v", lost))
	}
	return r.Rewrite()
}
