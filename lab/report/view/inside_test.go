package view

import (
	"math"
	"testing"

	"dyno/lab/record"
	"dyno/lab/report/format"
)

func TestPauseWords(t *testing.T) {
	for step, want := range []string{"1 us", "2 us", "5 us", "10 us", "20 us", "50 us", "100 us", "200 us", "500 us", "1 ms", "2 ms", "5 ms"} {
		if got := format.Pause(pauseBound(step)); got != want {
			t.Errorf("%d: %s, want %s", step, got, want)
		}
	}
	if got := format.Pause(pauseBound(pauseStep(math.Inf(1)))); got != "10 s" {
		t.Errorf("the last bound is %s", got)
	}
}

// A stage that goes on after the answer is longer than the root, and its bar is as well.
func TestStagesAreDrawnToOneScale(t *testing.T) {
	stage := func(name string, depth int, mean float64) record.Stage {
		return record.Stage{Transaction: "POST /", Name: name, Depth: depth, Count: 1, Latency: record.Quantiles{Mean: mean}}
	}
	for _, row := range stageRows([]record.Stage{stage("POST /", 0, 1), stage("deliver", 1, 10)}) {
		if row.Whole != 10 {
			t.Errorf("%s is drawn against %v ms", row.Name, row.Whole)
		}
	}
}
