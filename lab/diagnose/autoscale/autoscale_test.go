package autoscale

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"dyno/lab/record"
)

// The examples with 100, 50 and 200 of a target of 100 are those of the Kubernetes documentation.
func TestDesired(t *testing.T) {
	for _, tt := range []struct {
		current        int
		metric, target float64
		want           int
	}{
		{3, 200, 100, 6},
		{4, 50, 100, 2},
		{3, 100, 100, 3},
		{3, 109, 100, 3}, // within the tolerance
		{3, 111, 100, 4},
		{3, 91, 100, 3},
		{10, 89, 100, 9},
		{1, 0, 100, 1}, // one replica at least
		{5, 900, 100, Most},
		{2, 5, 0, 2}, // no target: no change
	} {
		if got := Desired(tt.current, tt.metric, tt.target); got != tt.want {
			t.Errorf("Desired(%d, %v, %v) = %d, want %d", tt.current, tt.metric, tt.target, got, tt.want)
		}
	}
}

// every returns a reading per second with these values, each for the given number of seconds.
func every(seconds int, values ...float64) []Reading {
	var out []Reading
	for _, v := range values {
		for range seconds {
			out = append(out, Reading{time.Duration(len(out)) * time.Second, v})
		}
	}
	return out
}

func replicas(c Curve) []int {
	var out []int
	for _, p := range c.Points {
		out = append(out, p.Replicas)
	}
	return out
}

func TestReplay(t *testing.T) {
	for _, tt := range []struct {
		name     string
		readings []Reading
		want     []int
	}{
		{"a decision each 15 s and one at the end", every(35, 0.5), []int{1, 1, 1}},
		{"shorter than a period", every(5, 1.7), []int{3}},
		{"within the tolerance", every(30, 0.87), []int{1, 1}},
		{"beyond it", every(30, 0.9), []int{2, 2}},
		{"up by four in a period, then to the most", every(30, 100), []int{5, 10}},
		{"down only after 300 s", append(every(15, 2), every(330, 0.1)[15:]...), append([]int{3}, repeat(3, 20, 1)...)},
		{"nothing recorded", nil, nil},
	} {
		got := replicas(Replay("x", 0.8, tt.readings))
		if len(got) != len(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
				break
			}
		}
	}
}

// repeat returns v n times, then last.
func repeat(v, n, last int) []int {
	var out []int
	for range n {
		out = append(out, v)
	}
	return append(out, last)
}

func TestReplayIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 40).Draw(t, "values")
		c := Replay("x", rapid.Float64Range(0.001, 1e3).Draw(t, "target"), every(7, values...))
		before := 1
		for _, p := range c.Points {
			if p.Replicas < 1 || p.Replicas > Most {
				t.Fatalf("%d replicas", p.Replicas)
			}
			if p.Replicas > max(before+podsPerPeriod, 2*before) {
				t.Fatalf("from %d to %d replicas in one step", before, p.Replicas)
			}
			before = p.Replicas
		}
		if _, asked := c.First(); asked != (c.Peak() > 1) {
			t.Fatalf("first %v, peak %d", asked, c.Peak())
		}
	})
}

// A waiting service: its CPU is idle while its queue ages.
func TestCurves(t *testing.T) {
	r := &record.Run{SLO: record.SLO{Gauges: map[string]float64{"async_oldest_age_seconds": 0.5}},
		Totals: record.Totals{ThroughputPerS: 100}}
	for i := range 300 { // 30 s
		phase := record.PhaseMeasure
		if i < 10 {
			phase = record.PhaseWarmup
		}
		r.Series = append(r.Series, record.Window{Start: int64(i) * int64(record.WindowLength), Phase: phase,
			Server: &record.Server{CPU: 0.6, Gauges: map[string]float64{"async_oldest_age_seconds": float64(i) / 100, "work_depth": 150, "other": 1e9}}})
	}
	r.Series = append(r.Series, record.Window{Phase: record.PhaseMeasure})
	got := Curves(r, 2)
	if len(got) != 3 || got[0].Signal != CPU || got[1].Signal != "async_oldest_age_seconds" || got[2].Signal != "work_depth" {
		t.Fatalf("curves: %+v", got)
	}
	if got[0].Peak() != 1 {
		t.Errorf("on CPU it asked for %d replicas at 30%%", got[0].Peak())
	}
	if got[1].Target != 0.5 || got[1].Peak() < 2 {
		t.Errorf("on the queue's age: %+v", got[1])
	}
	if got[2].Target != 100 || got[2].Peak() != 2 {
		t.Errorf("on the queue's depth: %+v", got[2])
	}
}
