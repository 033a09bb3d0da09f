package report

import (
	"testing"

	"dyno/lab/record"
)

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
