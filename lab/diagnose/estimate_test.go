package diagnose

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// A mutex with work inside uses one of two cores: without it, the CPU bounds at twice the rate.
func TestWithoutTheLock(t *testing.T) {
	e := NewSubject("v", locked()).Diagnose(rules.Defaults).WhatIf
	if e == nil || e.Model != whatif.Holder || e.Then != "the CPU" || e.AtMost != 2 || e.CPU != 0 {
		t.Errorf("%+v", e)
	}
}

// A ladder profiles its steps below their peak, so the slices of peak work show how much CPU is
// left.
func TestWithoutTheLockAtThePeak(t *testing.T) {
	runs := locked()
	s := NewSubject("v", runs[len(runs)-1:])
	s.Peak = []*record.Slice{{Length: 1e9, TargetCPU: 1.2, DependencyCPU: 0.2, GeneratorCPU: 0.2}}
	if e := s.Diagnose(rules.Defaults).WhatIf; e == nil || math.Abs(e.AtMost-2/1.2) > 1e-9 {
		t.Errorf("%+v", e)
	}
}

// Every finding has an estimate, and one without a measured cost says what is missing.
func TestEveryFindingHasAnEstimate(t *testing.T) {
	runs := locked()
	e := &record.Experiment{Kind: record.KindDiagnose, Variants: []record.Variant{{Name: "v"}}, Runs: runs}
	all := Diagnose(e)
	if len(all) != 1 || len(all[0].Findings) == 0 {
		t.Fatalf("%+v", all)
	}
	for _, f := range all[0].Findings {
		if f.WhatIf == nil || f.WhatIf.Text == "" || (f.WhatIf.AtMost == 0) != (f.WhatIf.Missing != "") {
			t.Errorf("%s: %+v", f.Kind, f.WhatIf)
		}
	}
	hot := all[0].Findings[0]
	if hot.Kind != "hot-path" && hot.Kind != "contention" {
		t.Errorf("%+v", hot)
	}
}

// A verdict about the measurement, or none, has no model.
func TestNoEstimateWithoutABound(t *testing.T) {
	runs := locked()
	for _, r := range runs {
		r.Totals.Generator.BusiestThread = 0.95
	}
	if e := NewSubject("v", runs).Diagnose(rules.Defaults).WhatIf; e == nil || e.AtMost != 0 || !strings.Contains(e.Missing, "the load generator was the limit") {
		t.Errorf("%+v", e)
	}
}

// In the recorded leader of three chain nodes, requests wait for a goroutine that waits for the
// disk. It uses half a core of two, so the CPU permits four times the throughput.
func TestEstimateOfRecordedWaits(t *testing.T) {
	text, err := os.ReadFile("testdata/chain-batched.json")
	if err != nil {
		t.Fatal(err)
	}
	trace := new(record.Trace)
	if err := json.Unmarshal(text, trace); err != nil {
		t.Fatal(err)
	}
	r := profiled(32, 800, []record.Stack{stack(1e9, "main.seal")})
	r.FixtureTrace = trace
	d := NewSubject("v", append(sweep(700, 800, 800), r)).Diagnose(rules.Defaults)
	if e := d.WhatIf; d.Bottleneck != rules.Wait || e == nil || e.Model != whatif.Little || e.AtMost != 4 || e.Then != "the CPU" {
		t.Errorf("%s %+v", d.Bottleneck, e)
	}
}
