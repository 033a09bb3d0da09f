package record

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	fit := func() *Run {
		return &Run{Load: LoadInfo{Model: "open"}, Machine: Machine{Cores: 2},
			Totals: Totals{Response: Quantiles{P99: 20}, Lag: Lag{P99: 100}, Generator: Generator{BusiestThread: 0.3}},
			System: System{Seen: true, TargetCPU: 0.8}}
	}
	for _, tt := range []struct {
		name      string
		change    func(*Run)
		invalid   string // part of the reason; empty: the run counts
		disturbed string // part of what disturbed it; empty: nothing
	}{
		{name: "quiet machine", change: func(*Run) {}},
		{name: "busy generator", change: func(r *Run) { r.Totals.Generator.BusiestThread = 0.9 }},
		{name: "busy generator that sent late", change: func(r *Run) { r.Totals.Generator.BusiestThread, r.Totals.Lag.P99 = 0.9, 8000 }, invalid: "busiest thread used 90%"},
		{name: "busy generator in a closed loop", change: func(r *Run) { r.Totals.Generator.BusiestThread, r.Load.Model = 0.9, "closed" }, invalid: "busiest thread used 90%"},
		{name: "late generator", change: func(r *Run) { r.Totals.Lag.P99 = 8000 }, disturbed: "upper bound"},
		{name: "late because the target's database took it", change: func(r *Run) { r.Totals.Lag.P99 = 8000; r.System.DependencyCPU = 0.8 }},
		{name: "late because the target took the CPU", change: func(r *Run) { r.Totals.Lag.P99 = 8000; r.System.TargetCPU = 1.6 }},
		{name: "closed model has no lag to judge", change: func(r *Run) { r.Totals.Lag.P99 = 8000; r.Load.Model = "closed" }},
		{name: "neighbours in the way", change: func(r *Run) { r.System.OthersCPU, r.System.TargetDelay = 0.5, 0.1 }, disturbed: "other processes took 25%"},
		{name: "neighbours beside", change: func(r *Run) { r.System.OthersCPU = 0.5 }},
		{name: "nothing known", change: func(r *Run) { r.System = System{OthersCPU: 2} }},
		{name: "failed already", change: func(r *Run) {
			r.Invalid = "the target died"
			r.System.OthersCPU, r.System.TargetDelay = 0.5, 0.1
		}, invalid: "the target died"},
	} {
		r := fit()
		tt.change(r)
		r.Validate()
		if tt.invalid == "" && r.Invalid != "" || !strings.Contains(r.Invalid, tt.invalid) {
			t.Errorf("%s: invalid %q, want %q", tt.name, r.Invalid, tt.invalid)
		}
		if tt.disturbed == "" && r.Disturbed != "" || !strings.Contains(r.Disturbed, tt.disturbed) {
			t.Errorf("%s: disturbed %q, want %q", tt.name, r.Disturbed, tt.disturbed)
		}
		if r.Totals.Generator.Limited != (tt.invalid != "" && tt.name != "failed already") {
			t.Errorf("%s: limited %v", tt.name, r.Totals.Generator.Limited)
		}
	}
}
