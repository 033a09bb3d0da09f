package report_test

import (
	"strings"
	"testing"

	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/reporttest"
)

// TestRunsForTheCauseAreNotJudged: their latency is the queue's.
func TestRunsForTheCauseAreNotJudged(t *testing.T) {
	real := report.Build(reporttest.Diagnose().Experiment)
	for _, r := range real.Runs {
		if r.Role == record.RoleProfile && (r.P99.Known() || r.P50.Known()) {
			t.Error("the latency of a run under profiles is reported")
		}
		if r.Judged && r.Role != record.RoleSearch {
			t.Errorf("%s is judged by the SLO", r.ID)
		}
	}
	for _, tr := range real.Traces {
		if _, shown := tr.Series["p99"]; shown && strings.Contains(tr.Run, record.RoleProfile) {
			t.Errorf("%s: the latency of a run under profiles is drawn", tr.Run)
		}
	}
}

func TestDiagnosisAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*report.Report)
		want   string
	}{
		{"as it is", func(*report.Report) {}, "notify carries 9,800/s at p99 <= 60 ms. A lock bounds it: at 32 requests in flight"},
		{"no capacity", func(r *report.Report) { r.Capacity = nil }, "A lock bounds it: at 32"},
		{"no words", func(r *report.Report) { r.Diagnoses[0].Text = "" }, "It is bound by a lock (mutex), also allocation and GC."},
		{"nothing", func(r *report.Report) { r.Diagnoses = nil }, "Nothing was diagnosed."},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reporttest.Diagnose().Report()
			c.change(r)
			if got := report.AnswerOf(r); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q in it", got, c.want)
			}
		})
	}
}

// TestStepsAreExplained: what was measured of a step reaches diagnose, whose words reach the page.
func TestStepsAreExplained(t *testing.T) {
	m := reporttest.Why()
	for i := range m.Diagnoses {
		m.Diagnoses[i].Moved = ""
	}
	r := m.Report()
	if got := r.Diagnoses[0].Moved; got != "" {
		t.Errorf("the baseline is explained: %s", got)
	}
	if got := r.Diagnoses[1].Moved; !strings.Contains(got, "1.26x") || !strings.Contains(got, "CPU") {
		t.Errorf("a faster step: %s", got)
	}
	if got := r.Diagnoses[2].Moved; !strings.Contains(got, "not decided") {
		t.Errorf("a step of which nothing is decided: %s", got)
	}
	c := reporttest.Compare()
	c.Diagnoses = []diagnose.Diagnosis{reporttest.Diagnosis("baseline", 3000), reporttest.Diagnosis("tuned", 4200)}
	if got := c.Report().Diagnoses[1].Moved; !strings.Contains(got, "1.40x") {
		t.Errorf("a comparison: %s", got)
	}
	c.Metric = compare.MetricP99
	if got := c.Report().Diagnoses[1].Moved; got != "" {
		t.Errorf("a ratio of latencies is no ratio of capacities: %s", got)
	}
}

// TestStagesAreOfTheTracedRun: no other run has any, and an invalid run shows none.
func TestStagesAreOfTheTracedRun(t *testing.T) {
	m := reporttest.Diagnose()
	staged := m.Report().Stages
	if len(staged) != 1 || len(staged[0].Rows) != 4 || !strings.HasPrefix(staged[0].Run, "notify, trace, ") {
		t.Errorf("%+v", staged)
	}
	for _, r := range m.Runs {
		if r.Spec.Role == record.RoleTraced {
			r.Invalid = "the machine was busy"
		}
	}
	if staged := m.Report().Stages; len(staged) != 0 {
		t.Errorf("of a run that does not count: %+v", staged)
	}
}

// TestNoCapacityWithoutASearch: a diagnosis without an SLO searches for none, and runs for the
// cause are no search.
func TestNoCapacityWithoutASearch(t *testing.T) {
	m := reporttest.New(record.KindDiagnose, "p99=60ms")
	m.SLO = record.SLO{}
	m.AddVariant("notify", "", "", 9800)
	m.AddCause("notify", "", 1)
	if r := m.Report(); r.Capacity != nil || len(r.Steps) != 0 {
		t.Errorf("capacity %+v, steps %+v", r.Capacity, r.Steps)
	}
}
