package diagnose

import (
	"strings"
	"testing"

	"dyno/lab/diagnose/rules"
)

func TestExplain(t *testing.T) {
	waits := &Diagnosis{Bottleneck: rules.Wait, Kind: "network", Signals: rules.Signals{rules.Utilisation: 0.5}}
	computes := &Diagnosis{Bottleneck: rules.CPU, Signals: rules.Signals{rules.Utilisation: 0.97}}
	for _, c := range []struct {
		name          string
		before, after *Diagnosis
		move          StepChange
		says          []string
	}{
		{"the bound is out of the way", waits, computes, StepChange{Ratio: 3.7, Low: 3.4, High: 4},
			[]string{"3.70x", "moved from waiting for an answer from downstream", "to the CPU"}},
		{"cheaper, but that is not the bound", waits, waits, StepChange{Ratio: 1, Low: 0.98, High: 1.02, CPU: [2]float64{189, 150}},
			[]string{"It carries as much (within 2%) although CPU per request falls from 189 to 150 us", "bottleneck of the previous step is waiting for an answer"}},
		{"cheaper, and that is the bound", computes, computes, StepChange{Ratio: 1.3, Low: 1.2, High: 1.4, CPU: [2]float64{100, 75}},
			[]string{"1.30x", "CPU per request falls from 100 to 75 us, and that is the bottleneck"}},
		{"nothing changed", computes, computes, StepChange{Ratio: 1.01, Low: 0.97, High: 1.05},
			[]string{"It is not decided whether it carries more: the step changes neither"}},
		{"worse", computes, computes, StepChange{Ratio: 0.8, Low: 0.7, High: 0.9, CPU: [2]float64{100, 130}},
			[]string{"only 0.80x", "rises from 100 to 130"}},
		{"no interval, a small change", computes, computes, StepChange{Ratio: 1.1}, []string{"It is not decided whether it carries more"}},
	} {
		got := Explain(c.before, c.after, c.move)
		for _, part := range c.says {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q does not say %q", c.name, got, part)
			}
		}
	}
	if got := Explain(nil, computes, StepChange{Ratio: 2}); got != "" {
		t.Errorf("of a step that nothing is known of: %q", got)
	}
}
