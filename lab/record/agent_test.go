package record

import (
	"strings"
	"testing"
)

// An agent that was late shows by its name, although the others hide it in the total.
func TestLateAgent(t *testing.T) {
	r := &Run{Load: LoadInfo{Model: "open"}, Machine: Machine{Cores: 2}, System: System{Seen: true}}
	r.Totals = Totals{Response: Quantiles{P99: 8}, Lag: Lag{P99: 100}, Generator: Generator{Agents: []Agent{
		{Name: "a/1", Lag: Lag{P99: 90}}, {Name: "b/2", Lag: Lag{P99: 5000}}, {Name: "c/3", Lag: Lag{P99: 80}},
	}}}
	r.Validate()
	if want := "agent 2 (b/2) was woken late (p99 5.0 ms)"; !strings.Contains(r.Disturbed, want) || r.Invalid != "" {
		t.Errorf("%q, invalid %q; want %q", r.Disturbed, r.Invalid, want)
	}
	r.Totals.Generator.Agents[1].Lag.P99 = 100
	if r.Validate(); r.Disturbed != "" {
		t.Error(r.Disturbed)
	}
	r.Totals.Generator.Failed = "an agent has ended"
	if r.Validate(); r.Invalid != "an agent has ended" {
		t.Errorf("a load of which a part failed is invalid as %q", r.Invalid)
	}
}
