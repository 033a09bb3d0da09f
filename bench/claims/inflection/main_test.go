package main

import (
	"strings"
	"testing"

	"dyno/lab/record"
)

// Each condition is found alone, and the rule only where all hold at one rate.
func TestCompare(t *testing.T) {
	run := func(variant string, rate, achieved, p99, pause float64) *record.Run {
		return &record.Run{Spec: record.RunSpec{Variant: variant, Rate: rate}, Totals: record.Totals{
			ThroughputPerS: achieved, Response: record.Quantiles{P99: p99}, Server: &record.ServerTotals{GCPauseP99Ms: pause},
		}}
	}
	e := &record.Experiment{
		Variants: []record.Variant{{Name: "bends"}, {Name: "apart"}, {Name: "short"}},
		Runs: []*record.Run{
			run("bends", 300, 590, 450, 210), run("bends", 100, 100, 10, 0), run("bends", 200, 1000, 140, 0), run("bends", 400, 600, 450, 210),
			run("apart", 100, 100, 1, 0), run("apart", 200, 60, 1, 0), run("apart", 300, 100, 301, 0), run("apart", 400, 100, 1, 200),
			run("short", 100, 100, 1, 0),
		},
	}
	e.Runs[3].Invalid = "the generator was the limit"
	var b strings.Builder
	if err := compare(&b, e); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for i, want := range []string{"bends 3 300/s 300/s 300/s 300/s 300/s", "apart 4 400/s 200/s 300/s 400/s none", "the rule holds in 1 of 2 variants"} {
		if got := strings.Join(strings.Fields(lines[i+1]), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := compare(&b, &record.Experiment{Variants: e.Variants, Runs: e.Runs[8:]}); err == nil {
		t.Error("one rate was compared")
	}
}
