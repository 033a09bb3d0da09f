package main

import (
	"strings"
	"testing"

	"dyno/lab/record"
)

// run1 is a run of 1000 requests whose gauges grow by this, from what the genesis took.
func run1(variant string, records, states, blocks float64) *record.Run {
	window := func(ended int64, records, states, blocks float64) record.Window {
		return record.Window{Client: record.Client{Ended: ended}, Server: &record.Server{Gauges: map[string]float64{gaugeRecords: records, gaugeStates: states, gaugeBlocks: blocks}}}
	}
	return &record.Run{Spec: record.RunSpec{Variant: variant, Rate: 1000}, Series: []record.Window{{Client: record.Client{Ended: 7}},
		window(500, 4e5, 2e6, 1e6), window(600, 4e5+records/2, 2e6+states/2, 1e6+blocks/2), {Client: record.Client{Ended: 200}},
		window(200, 4e5+records, 2e6+states, 1e6+blocks)}}
}

func TestSteps(t *testing.T) {
	unknown := &record.Run{Series: []record.Window{{}, {Server: &record.Server{}}}}
	invalid, short := run1("all", 1, 1, 1), run1("all", 0, 0, 100)
	invalid.Invalid = "others used the CPUs"
	e := &record.Experiment{Runs: []*record.Run{unknown, invalid, short, run1("all", 1000, 3000, 9000), run1("none", 2000, 4000, 0), run1("all", 1000, 5000, 9000)}}
	steps, err := stepsOf(e)
	if err != nil || len(steps) != 2 {
		t.Fatalf("%+v, %v", steps, err)
	}
	var b strings.Builder
	if err := print(&b, steps); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{"all 2 1 4.00 [3.00, 5.00] 13.0 [12.0, 14.0]", "none 1 2 2.00 [2.00, 2.00] 2.0 [2.0, 2.0]"} {
		if got := strings.Join(strings.Fields(lines[i+1]), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if _, err := stepsOf(&record.Experiment{Runs: []*record.Run{unknown, invalid, short}}); err == nil {
		t.Error("runs without gauges have an amplification")
	}
}
