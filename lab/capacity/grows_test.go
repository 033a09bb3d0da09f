package capacity

import (
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
)

// trialAt is an SLO slice of a second at a rate, with a mean latency (ms) and the time (s) that the
// target's threads waited for a CPU.
func trialAt(rate, mean, delay float64, met bool) record.Slice {
	return record.Slice{Kind: record.SliceSLO, Role: record.RoleMeasure, Length: time.Second, Rate: rate, Offered: int64(rate), Served: int64(rate),
		Latency: record.Quantiles{Mean: mean}, TargetDelay: delay, TargetCPU: 1.2, Met: met}
}

func TestWhatGrowsFirst(t *testing.T) {
	for _, c := range []struct {
		name  string
		delay float64 // s, at the capacity
		peak  float64
		limit string
		want  string
	}{
		{"queueing for a CPU", 2, 3000, "", "most of it its threads' queueing for a CPU (2 ms of a request's time, after 0.1)"},
		{"waiting within", 0.2, 3000, "", "queueing for a CPU is little of it"},
		{"the generator", 0.2, 3000, "its thread was busy", "the load generator was the limit"},
		{"near the peak", 2, 1100, "", ""},
	} {
		var all []record.Slice
		for range 3 {
			near := trialAt(1000, 4, c.delay, true)
			near.Limited = c.limit
			all = append(all, trialAt(500, 1, 0.05, true), near)
		}
		res := Result{Valid: true, CapacityPerS: 1000, PeakWorkPerS: c.peak}
		got := res.grows(all, func(*record.Slice) bool { return true })
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What met the SLO was carried, so the peak is not below it.
func TestPeakIsNotBelowTheCapacity(t *testing.T) {
	res := Result{CapacityPerS: 900, PeakWorkPerS: 800, PeakWorkInterval: &[2]float64{780, 820}}
	if res.raisePeak(); res.PeakWorkPerS != 900 || *res.PeakWorkInterval != [2]float64{780, 900} {
		t.Errorf("%v %v", res.PeakWorkPerS, *res.PeakWorkInterval)
	}
}
