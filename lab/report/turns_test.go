package report_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/reporttest"
	"dyno/lab/report/view"
)

// atOneRate is a comparison whose slices were all offered one rate: it holds no work slices.
func atOneRate() *record.Experiment {
	m := reporttest.Turns(record.KindCompare)
	m.Metric, m.Slices = compare.MetricP99, nil
	at := int64(1e12)
	for block := 1; block <= 24; block++ {
		for i, v := range []string{"plain", "baseline", "plain"} {
			s := record.Slice{Kind: record.SliceSLO, Role: record.RoleMeasure, Variant: v, Generation: 1 + (block-1)/8, Block: block, Start: at, Length: 800 * time.Millisecond,
				Rate: 900, Offered: 720, Served: 720, TargetCPU: 0.2, Allocs: 72000, AllocBytes: 720000, Met: true, Latency: record.Quantiles{P50: 4, P99: 20 + float64(block%3)}}
			if i == 1 {
				s.Latency.P99 *= 0.8
			}
			if i == 2 {
				s.Role = record.RoleControl
			}
			m.Slices = append(m.Slices, s)
			at += 1e9
		}
	}
	return m.Experiment
}

// TestComparedAtOneRate: what was asked for is what is compared and shown.
func TestComparedAtOneRate(t *testing.T) {
	r := report.Build(atOneRate())
	if c := r.Comparison; c.Metric != compare.MetricP99 || c.Verdict != compare.Faster || c.Interval == nil || c.NoiseFloor == nil {
		t.Errorf("%+v", c)
	}
	if len(r.Metrics) != 2 || r.Metrics[1].Metric != compare.MetricCPU {
		t.Errorf("also compared: %+v", r.Metrics)
	}
	for i, s := range r.Steps {
		if s.Invalid != "" || i > 0 && s.Verdict != compare.Faster || len(s.Warnings) != 0 {
			t.Errorf("%s: verdict %q, invalid %q, %q", s.Name, s.Verdict, s.Invalid, s.Warnings)
		}
	}
	if said := "baseline is faster than plain: p99 0.80x"; len(r.Answer) < len(said) || r.Answer[:len(said)] != said {
		t.Error(r.Answer)
	}
}

// TestComparisonsHaveTheirFloor: each metric has the noise floor that the control showed.
func TestComparisonsHaveTheirFloor(t *testing.T) {
	m := reporttest.Turns(record.KindCompare)
	for _, c := range view.TurnMetrics(m.Experiment, "plain", "baseline", func(string) float64 { return 2000 }) {
		if (c.NoiseFloor == nil) != (c.Metric == compare.MetricCapacity) { // the control has no SLO slices
			t.Errorf("%s: floor %v", c.Metric, c.NoiseFloor)
		}
	}
}

// TestAllocationsOfSlices: SLO slices record them; without an agent, what a run showed stays.
func TestAllocationsOfSlices(t *testing.T) {
	if s := reporttest.Turns(record.KindCapacity).Report().Steps[0]; math.Abs(float64(s.Figure(report.FigureAllocs))/(350.0/4)-1) > 0.05 || math.Abs(float64(s.Figure(report.FigureAllocBytes))/(350*30)-1) > 0.05 {
		t.Errorf("%v allocations of %v bytes a request", s.Figure(report.FigureAllocs), s.Figure(report.FigureAllocBytes))
	}
	m := reporttest.Turns(record.KindCapacity)
	for i := range m.Slices {
		m.Slices[i].Allocs, m.Slices[i].AllocBytes = -1, -1
	}
	m.AddRun(record.RoleMeasure, "plain", 1, 900)
	if s := m.Report().Steps[0]; !s.Figure(report.FigureAllocs).Known() || !s.Figure(report.FigureAllocBytes).Known() {
		t.Errorf("%v allocations of %v bytes a request", s.Figure(report.FigureAllocs), s.Figure(report.FigureAllocBytes))
	}
}

// TestOnlyTrialsAreDrawn: a slice that is no trial is neither a dot of the curve nor in the table,
// and is counted as left out.
func TestOnlyTrialsAreDrawn(t *testing.T) {
	m := reporttest.Turns(record.KindCapacity)
	for i := range m.Slices {
		m.Slices[i].Steal, m.Slices[i].Invalid = 0, ""
	}
	before := report.Build(m.Experiment)
	n := 0
	for i := range m.Slices {
		s := &m.Slices[i]
		if s.Kind != record.SliceSLO {
			continue
		}
		switch n++; {
		case n <= 2:
			s.Met, s.Inconclusive = false, "30 requests completed, a verdict needs 200"
		case n <= 4:
			s.Met, s.Limited = false, "it lagged"
		case n <= 6:
			s.Met, s.Limited = true, "it lagged"
		}
	}
	r := report.Build(m.Experiment)
	judged := 0
	for _, v := range r.Trials {
		judged += v.Judged
	}
	if dots := len(r.Curves[0].Dots); dots != len(before.Curves[0].Dots)-4 || judged != dots || r.Steps[0].Trials != judged {
		t.Errorf("%d dots of %d, %d judged, %d trials", dots, len(before.Curves[0].Dots), judged, r.Steps[0].Trials)
	}
	if before.Turns.Left != 0 || r.Turns.Left != 4 {
		t.Errorf("%d and %d left out", before.Turns.Left, r.Turns.Left)
	}
}

// TestPeaksUnderProfiles: what only the run under profiles saw is shown, but not its latency.
func TestPeaksUnderProfiles(t *testing.T) {
	m := reporttest.Turns(record.KindLadder)
	m.AddRun(record.RoleProfile, "reuse", 0, 1500)
	s := m.Report().Steps[2]
	if s.Name != "reuse" || !s.Figure("peak_rss_bytes").Known() || !s.Figure("peak_goroutines").Known() || !s.Figure("gc_pause_p99_ms").Known() {
		t.Errorf("%+v", s)
	}
	m.Slices = nil // whose p99 is another
	r := report.StepsOf(m.Experiment, m.Analysis())
	if r.Steps[2].Figure(report.FigureP99).Known() || r.Steps[2].Figure(report.FigureCPU).Known() {
		t.Errorf("%+v", r.Steps[2])
	}
}

// TestMovedByTurns: why a step moved is said whatever metric was asked for.
func TestMovedByTurns(t *testing.T) {
	for _, metric := range []string{"", compare.MetricWork} {
		m := reporttest.Turns(record.KindCompare)
		m.Metric = metric
		for _, v := range m.Variants {
			m.Diagnoses = append(m.Diagnoses, diagnose.Diagnosis{Variant: v.Name, Valid: true, Bottleneck: rules.CPU})
		}
		if r := m.Report(); r.Diagnoses[1].Moved == "" {
			t.Errorf("metric %q: %+v", metric, r.Diagnoses[1])
		}
	}
}

// TestTurnWords holds phrases that depend on the kind of experiment.
func TestTurnWords(t *testing.T) {
	m := reporttest.Turns(record.KindCompare)
	if got := m.Report().UndecidedText(); !strings.HasPrefix(got, "work rate not decided against plain: ") {
		t.Error(got)
	}
	m = reporttest.Turns(record.KindCapacity)
	m.Kind = record.KindDiagnose
	m.AddRun(record.RoleSaturate, "plain", 0, 1500)
	if got := m.Report().EvidenceText(); !strings.HasSuffix(got, "; "+format.Runs(1, 1)) {
		t.Error(got)
	}
}
