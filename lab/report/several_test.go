package report_test

import (
	"strings"
	"testing"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/reporttest"
)

// Several jobs are compared by their throughput and their CPU, each with its own reference.
func TestSeveralJobsBesideTheirReferences(t *testing.T) {
	m := reporttest.NewJob(record.KindCompare)
	cpu := map[string]float64{"ours": 100, "rival": 250, "ours-1": 400, "rival-1": 200}
	perS := map[string]float64{"ours": 1000, "rival": 500, "ours-1": 200, "rival-1": 300}
	m.Variants = []record.Variant{{Name: "ours"}, {Name: "rival"}, {Name: "ours-1"}, {Name: "rival-1", Reference: "ours-1"}}
	for round := 1; round <= 6; round++ {
		for _, v := range m.Variants {
			noise := 1 + 0.004*float64(round%3-1)
			r := m.AddJobRun(record.RoleMeasure, v.Name, round, 8, perS[v.Name]*noise, nil)
			r.Totals.Server.CPUMicrosPerRequest = cpu[v.Name] * noise
		}
	}
	r := report.Build(m.Experiment)
	if r.Comparison != nil || r.Outcome.Status != record.OutcomeComplete {
		t.Errorf("comparison %+v, outcome %+v", r.Comparison, r.Outcome)
	}
	for i, want := range []struct {
		beside, verdict, cpu string
		ratio, cpuRatio      float64
	}{{"", "baseline", "", 0, 0}, {"ours", compare.Slower, compare.Slower, 0.5, 2.5}, {"ours", compare.Slower, compare.Slower, 0.2, 4}, {"ours-1", compare.Faster, compare.Faster, 1.5, 0.5}} {
		s := r.Steps[i]
		if s.Reference != want.beside || s.Verdict != want.verdict || s.CPUVerdict != want.cpu || s.StepRatio.Known() {
			t.Errorf("%s: beside %q, %q, CPU %q, ratio to the step before %v", s.Name, s.Reference, s.Verdict, s.CPUVerdict, s.StepRatio)
		}
		if i > 0 && (!near(s.Ratio, want.ratio) || !near(s.CPURatio, want.cpuRatio) || s.RatioInterval == nil || s.CPUInterval == nil) {
			t.Errorf("%s: ratio %v %v, CPU %v %v", s.Name, s.Ratio, s.RatioInterval, s.CPURatio, s.CPUInterval)
		}
	}
	if said := "rival-1 beside ours-1: capacity 1.50x"; !strings.Contains(r.Answer, said) || !strings.Contains(r.Answer, "CPU per request 0.50x") {
		t.Errorf("%q, want %q in it", r.Answer, said)
	}
	var heads []string
	for _, c := range r.Columns() {
		heads = append(heads, c.Head+" "+c.Unit)
	}
	if said := strings.Join(heads, ", "); !strings.Contains(said, "beside") || !strings.Contains(said, "ratio of CPU per request") || strings.Contains(said, "previous step") {
		t.Error(said)
	}
}

// Two jobs are compared by their CPU as well.
func TestTwoJobsByTheirCPU(t *testing.T) {
	m := reporttest.NewJob(record.KindCompare)
	m.Variants = []record.Variant{{Name: "ours"}, {Name: "rival"}}
	for round := 1; round <= 6; round++ {
		m.AddJobRun(record.RoleMeasure, "ours", round, 8, 1000, nil)
		m.AddJobRun(record.RoleMeasure, "rival", round, 8, 500, nil).Totals.Server.CPUMicrosPerRequest = 3600
	}
	r := report.Build(m.Experiment)
	if r.Comparison == nil || !strings.Contains(r.Answer, "rival is slower than ours: capacity 0.50x") || !strings.Contains(r.Answer, "Also: CPU per request 2.00x") {
		t.Errorf("%+v: %s", r.Comparison, r.Answer)
	}
}

// Several services in turns have no single comparison, and no step before.
func TestSeveralServicesInTurns(t *testing.T) {
	m := reporttest.Turns(record.KindLadder)
	m.Kind = record.KindCompare
	if len(m.Variants) < 3 {
		t.Fatalf("%d variants", len(m.Variants))
	}
	r := report.Build(m.Experiment)
	if r.Comparison != nil || len(r.Metrics) != 0 || r.Turns == nil {
		t.Errorf("comparison %+v, metrics %+v", r.Comparison, r.Metrics)
	}
	for i, s := range r.Steps[1:] {
		if s.Reference != r.Steps[0].Name || s.StepRatio.Known() || !s.Ratio.Known() || !s.CPURatio.Known() {
			t.Errorf("step %d: %+v", i+1, s)
		}
		if !strings.Contains(r.Answer, s.Name+" beside "+r.Steps[0].Name+": peak work rate ") {
			t.Errorf("%s is not in %q", s.Name, r.Answer)
		}
	}
	if r.Turns.Compared == 0 {
		t.Error("no comparison is counted")
	}
}

func near(got format.Value, want float64) bool {
	return float64(got) > want*0.98 && float64(got) < want*1.02
}
