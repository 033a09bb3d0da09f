package compare

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// drawn returns n logarithms of a normal distribution.
func drawn(r *rand.Rand, n int, mean, deviation float64) (logs []float64) {
	for range n {
		logs = append(logs, mean+deviation*r.NormFloat64())
	}
	return logs
}

func TestSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		mean   float64
		better int
		want   string
	}{{0.1, -1, Slower}, {0.1, 1, Faster}, {-0.1, -1, Faster}, {0.1, 0, Changed}, {0, -1, Equal}} {
		s := Samples{Metric: "ns/op", Better: tt.better, Logs: drawn(r, 20, tt.mean, 0.01)}
		if c := s.Compare(1); c.Verdict != tt.want || !s.Decided(1) || c.Samples != 20 {
			t.Errorf("%+v: %+v, decided %v", tt, c, s.Decided(1))
		}
	}
	s := Samples{Metric: "ns/op", Better: -1, Logs: drawn(r, 9, 0.03, 0.05), Each: time.Second}
	if c := s.Compare(1); c.Verdict != NotDecided || !strings.Contains(c.TimeToDecide, "more would decide") || s.Missing(1) <= 0 {
		t.Errorf("%+v, missing %v", c, s.Missing(1))
	}
	if alone, among := s.Compare(1), s.Compare(20); !(among.Interval[0] < alone.Interval[0] && among.Interval[1] > alone.Interval[1] && among.Confidence > alone.Confidence) {
		t.Errorf("among 20 the interval is %v, alone %v", among.Interval, alone.Interval)
	}
	if few := (Samples{Logs: []float64{0.5, 0.5}}); few.Compare(1).Interval != nil || few.Missing(1) != 0 || few.P() != 0 {
		t.Errorf("two samples: %+v", few.Compare(1))
	}
	if c := (Samples{}).Compare(1); c.Verdict != Invalid {
		t.Errorf("no samples: %+v", c)
	}
}

// Of twenty comparisons of equals, in at most 5% of cases any is called different; a true difference
// among them is found.
func TestHolm(t *testing.T) {
	const tries = 400
	r := rand.New(rand.NewPCG(3, 4))
	different := func(c Comparison) bool { return c.Verdict == Faster || c.Verdict == Slower }
	wrong, found := 0, 0
	for range tries {
		var all []Samples
		for i := range 20 {
			mean := 0.0
			if i == 7 {
				mean = 0.1
			}
			all = append(all, Samples{Metric: "ns/op", Better: -1, Logs: drawn(r, 13, mean, 0.05)})
		}
		out := Holm(all)
		if different(out[7]) {
			found++
		}
		if slices.ContainsFunc(slices.Concat(out[:7], out[8:]), different) {
			wrong++
		}
	}
	if wrong > tries*5/100+9 || found < tries*9/10 {
		t.Errorf("of %d: %d false, %d found", tries, wrong, found)
	}
	if len(Holm(nil)) != 0 {
		t.Error("of nothing there is a comparison")
	}
}

func TestExact(t *testing.T) {
	gate, err := ParseUnitGates("allocs/op<=1")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		was, is       float64
		verdict, gate string
	}{{3, 3, Equal, Pass}, {3, 4, Slower, Fail}, {4, 3, Faster, Pass}, {0, 0, Equal, Pass}, {0, 1, Slower, Fail}, {1, 0, Faster, Pass}} {
		c := Exact("allocs/op", -1, "A", "B", tt.was, tt.is)
		if o := gate[0].Check(c); c.Verdict != tt.verdict || o.Verdict != tt.gate {
			t.Errorf("%g to %g: %+v, gate %+v", tt.was, tt.is, c, o)
		}
	}
}

func TestParseUnitGates(t *testing.T) {
	gates, err := ParseUnitGates("ns/op<=1.03, allocs/op<=100%,rows/op>=0.9")
	if err != nil || len(gates) != 3 || gates[0] != (Gate{"ns/op", "<=", 1.03}) || gates[1] != (Gate{"allocs/op", "<=", 1}) || gates[2] != (Gate{"rows/op", ">=", 0.9}) {
		t.Errorf("%v, %v", gates, err)
	}
	for text, want := range map[string]string{"ns/op": "neither", "<=1": "no unit", "ns/op<=3ms": "not a time", "ns/op<=1.03,": "neither", "B/op<=0": "not a ratio"} {
		if _, err := ParseUnitGates(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
