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

// The agent also shows how long goroutines waited for locks, and how long the collector stopped them.
func TestWhatGrowsFirstWithTheAgent(t *testing.T) {
	for _, c := range []struct {
		name          string
		mutex, pause  float64 // s, at the capacity
		agent         bool
		want, wantNot string
	}{
		{"a lock", 2.5, 0, true, "most of it waiting for locks (2.5 ms of a request's time, after 0)", "CPU"},
		{"a pause", 0, 0.6, true, "most of it pauses of the garbage collector (2.4 ms of a request's time, after 0)", "CPU"},
		{"neither", 0.1, 0.01, true, "as are waiting for locks (0.1 ms, after 0) and pauses of the garbage collector (0.04 ms, after 0)", "dyno/agent"},
		{"of an earlier version", 0, 0, true, "its locks and pauses were not recorded, or took no time", "waiting for locks"},
		{"not seen", 0, 0, false, "its locks and pauses were not seen, which takes dyno/agent", "waiting for locks"},
	} {
		var all []record.Slice
		for range 3 {
			below, near := trialAt(500, 1, 0.05, true), trialAt(1000, 4, 0.2, true)
			near.MutexWait, near.GCPause = c.mutex, c.pause
			if !c.agent {
				below.Allocs, near.Allocs = -1, -1
			}
			all = append(all, below, near)
		}
		res := Result{Valid: true, CapacityPerS: 1000, PeakWorkPerS: 3000}
		got := res.grows(all, func(*record.Slice) bool { return true })
		if !strings.Contains(got, c.want) || strings.Contains(got, c.wantNot) {
			t.Errorf("%s: %q, want %q and not %q", c.name, got, c.want, c.wantNot)
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
