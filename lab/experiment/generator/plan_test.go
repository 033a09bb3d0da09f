package generator

import (
	"strings"
	"testing"
	"time"

	"dyno/lab/experiment/environment"
	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

func TestMaxRateBoundsEveryLoad(t *testing.T) {
	ramp := func() load.Schedule { return load.Ramp(10, 200, 10*time.Second) }
	for _, tt := range []struct {
		name      string
		schedule  func() load.Schedule
		perSecond float64
		most      float64
		want      string // part of the error
	}{
		{"no bound", nil, 0, 0, ""},
		{"closed", nil, 0, 100, "give a rate"},
		{"steady below", func() load.Schedule { return load.Poisson(100, time.Second, 1) }, 100, 100, ""},
		{"steady above", func() load.Schedule { return load.Constant(150, 2*time.Second) }, 150, 100, "more than max_rate"},
		{"ramp below", ramp, 0, 210, ""},
		{"ramp above", ramp, 0, 100, "more than max_rate"},
	} {
		err := withinMaxRate(&load.Plan{Schedule: tt.schedule}, tt.perSecond, tt.most)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A job receives the rising rate as arguments; for a service, the lab raises the rate.
func TestRampPlan(t *testing.T) {
	b := New(&environment.Programs{Scenario: &scenario.Scenario{}})
	r := &record.Run{Spec: record.RunSpec{Rate: 100, RampTo: 300, Length: time.Second}}
	p, err := b.Plan(r, scenario.Variant{}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	requests, next := 0, p.Schedule()
	for _, ok := next(); ok; _, ok = next() {
		requests++
	}
	if p.Warmup != 0 || requests < 199 || requests > 201 || r.Load.Schedule != "ramp 100/s to 300/s" {
		t.Errorf("warm-up %v, %d requests in %q; want the integral of the rate, 200", p.Warmup, requests, r.Load.Schedule)
	}
}

// A run's schedule describes how its requests were sent, even if the scenario's schedule is
// another.
func TestDescribesTheScheduleOfTheRun(t *testing.T) {
	for want, step := range map[string]record.RunSpec{
		"closed":             {Closed: true, Connections: 8},
		"poisson 100/s":      {Rate: 100},
		"ramp 10/s to 200/s": {Rate: 10, RampTo: 200},
	} {
		if got := describeSchedule(scenario.Load{}, step); got != want {
			t.Errorf("%+v: %q, want %q", step, got, want)
		}
	}
	jobs := scenario.Load{Kind: workload.Jobs, Job: &workload.Job{}}
	if got := describeSchedule(jobs, record.RunSpec{Closed: true, Connections: 8}); got != "8 concurrent units" {
		t.Errorf("a closed loop of jobs: %q", got)
	}
}

// Rows that are sent once bound the rate at which they last.
func TestLasting(t *testing.T) {
	b := &Generator{}
	if got := b.Lasting(200, 105, time.Second); got != 105 {
		t.Errorf("without rows: %g", got)
	}
	rows, err := corpus.ReadCSV(strings.NewReader("n\n" + strings.Repeat("1\n", 1200)))
	if err != nil {
		t.Fatal(err)
	}
	b.rows = rows
	for _, tt := range []struct{ most, least, want float64 }{{200, 105, 150}, {140, 70, 140}, {1000, 500, 500}} {
		if got := b.Lasting(tt.most, tt.least, 8*time.Second); got != tt.want {
			t.Errorf("%+v: %g", tt, got)
		}
	}
}
