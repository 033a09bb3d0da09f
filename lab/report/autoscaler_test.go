package report_test

import (
	"strings"
	"testing"

	"dyno/lab/report/reporttest"
)

// A load at a rate under which work ages while the CPU is idle warns that an autoscaler by CPU does
// not see it; one without such a queue does not.
func TestLoadWarnsOfAnAutoscaler(t *testing.T) {
	for _, aged := range []float64{0, 30} {
		made := reporttest.Load("open")
		for _, w := range made.Runs[0].Series {
			if w.Server != nil {
				w.Server.CPU, w.Server.Gauges = 0.1, map[string]float64{"queue_oldest_age_seconds": aged}
			}
		}
		warned := strings.Contains(strings.Join(made.Report().Warnings, "\n"), "queue_oldest_age_seconds asked for")
		if warned != (aged > 0) {
			t.Errorf("at an age of %v s: warned %v", aged, warned)
		}
	}
}
