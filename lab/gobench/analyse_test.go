package gobench

import (
	"math"
	"slices"
	"testing"

	"dyno/lab/compare"
)

// measured makes a benchmark of generations of one block, with a unit's figures of A and of B.
func measured(unit string, a, b []float64) *benchmark {
	x := &benchmark{pkg: &pkg{path: "p"}, name: "B", n: 1000}
	for i := range a {
		x.rounds = append(x.rounds, round{blocks: []block{{{unit: a[i]}, {unit: b[i]}}}})
	}
	return x
}

func TestExactFigures(t *testing.T) {
	for _, tt := range []struct {
		name    string
		unit    string
		a, b    []float64
		exact   bool
		verdict string
	}{
		{"the same", Allocs, []float64{3, 3, 3}, []float64{3, 3, 3}, true, compare.Equal},
		{"one more", Allocs, []float64{3, 3, 3}, []float64{4, 4, 4}, true, compare.Slower},
		{"too few slices", Allocs, []float64{3, 3}, []float64{4, 4}, false, compare.NotDecided},
		{"the runtime allocates now and then", Bytes, []float64{0, 0, 0, 0, 0}, []float64{0, 0, 1, 0, 0}, true, compare.Equal},
		{"a difference that is not in all slices", Allocs, []float64{3, 3, 3, 3, 3}, []float64{4, 4, 4, 4, 3}, false, compare.NotDecided},
		{"zero now and then", Bytes, []float64{0, 1, 0, 1}, []float64{1, 0, 1, 0}, false, compare.NotDecided},
		{"times are never exact", Time, []float64{3, 3, 3}, []float64{3, 3, 3}, false, compare.NotDecided},
	} {
		r := &run{}
		b := measured(tt.unit, tt.a, tt.b)
		r.benchmarks = append(r.benchmarks, b)
		m := r.metrics(b)
		if len(m) != 1 || m[0].exact != tt.exact {
			t.Errorf("%s: %+v", tt.name, m)
			continue
		}
		c := r.compareAll(map[*benchmark][]metric{b: m})[b][0]
		if c.Verdict != tt.verdict {
			t.Errorf("%s: %+v", tt.name, c)
		}
	}
}

// A unit that the benchmark declares has a direction, another has none.
func TestUnits(t *testing.T) {
	a, b := make([]float64, 20), make([]float64, 20)
	for i := range a {
		a[i], b[i] = 100+math.Mod(float64(i), 3), 120+math.Mod(float64(i), 2)
	}
	for better, want := range map[int]string{1: compare.Faster, -1: compare.Slower, 0: compare.Changed} {
		r := &run{units: map[string]int{"rows/op": better}, suspected: 1}
		x := measured("rows/op", a, b)
		for i := range x.rounds {
			x.rounds[i].confirms = i >= 5
		}
		r.benchmarks = append(r.benchmarks, x)
		all := map[*benchmark][]metric{x: r.metrics(x)}
		if c := r.compareAll(all)[x][0]; c.Verdict != compare.NotDecided || len(c.Warnings) == 0 {
			t.Errorf("without a suspicion of the screen: %+v", c)
		}
		x.suspects = map[string]bool{"rows/op": true}
		if c := r.compareAll(all)[x][0]; c.Verdict != want {
			t.Errorf("better %d: %+v", better, c)
		}
	}
}

// At few iterations, what the runtime allocates for itself shows in the figures of equal code.
func TestStrayAllocations(t *testing.T) {
	of := func(x float64, n int) []float64 { return slices.Repeat([]float64{x}, n) }
	for _, tt := range []struct {
		name   string
		unit   string
		n      int
		a, b   float64
		slices int
		exact  bool
	}{
		{"few iterations", Bytes, 20, 112, 128, 20, false},
		{"a few bytes", Bytes, 1000, 112, 128, 3, false},
		{"a few bytes in many slices", Bytes, 1000, 112, 128, 8, true},
		{"many bytes", Bytes, 1000, 112, 1128, 3, true},
		{"an allocation", Allocs, 1000, 3, 4, 3, true},
		{"an allocation of few iterations", Allocs, 99, 3, 4, 8, false},
		{"the same of few iterations", Allocs, 1, 3, 3, 3, true},
	} {
		b := measured(tt.unit, of(tt.a, tt.slices), of(tt.b, tt.slices))
		b.n = tt.n
		if m := (&run{}).metrics(b); len(m) != 1 || m[0].exact != tt.exact {
			t.Errorf("%s: %+v", tt.name, m)
		}
	}
}

// A, B and their ratio agree.
func TestFiguresAgree(t *testing.T) {
	b := measured(Time, []float64{1, 2, 3, 10, 11, 12, 13}, []float64{5, 5, 5, 20, 20, 26, 26})
	for i := range b.rounds {
		b.rounds[i].confirms = i >= 3
	}
	b.suspects = map[string]bool{Time: true}
	r := &run{suspected: 1}
	r.benchmarks = append(r.benchmarks, b)
	m := r.metrics(b)
	c := r.compareAll(map[*benchmark][]metric{b: m})[b][0]
	if len(m[0].pairs) != 4 || math.Abs(m[0].is/m[0].was-c.Ratio) > 1e-9 || m[0].was < 10 {
		t.Errorf("A %g, B %g, ratio %g of %v", m[0].was, m[0].is, c.Ratio, m[0].pairs)
	}
}

// A reported unit that is 0 on a side has no ratio, but a verdict, and its gate is decided.
func TestReportedZeros(t *testing.T) {
	of := func(x float64, n int) []float64 { return slices.Repeat([]float64{x}, n) }
	for _, tt := range []struct {
		name          string
		a, b          []float64
		verdict, gate string
	}{
		{"on both sides", of(0, 3), of(0, 3), compare.Equal, compare.Pass},
		{"on A alone", of(0, 8), of(5, 8), compare.Changed, compare.Fail},
		{"on B alone", of(5, 8), of(0, 8), compare.Changed, compare.Pass},
		{"of a few slices by chance", of(0, 3), of(5, 3), compare.NotDecided, compare.Undecided},
		{"now and then", []float64{0, 1, 0, 0, 1, 0, 1, 0}, of(0, 8), compare.NotDecided, compare.Undecided},
	} {
		b := measured("misses/op", tt.a, tt.b)
		b.suspects = map[string]bool{"misses/op": true}
		r := &run{Options: Options{Gates: unitGates(t, "misses/op<=1")}, benchmarks: []*benchmark{b}, suspected: 1}
		c := r.compareAll(map[*benchmark][]metric{b: r.metrics(b)})[b][0]
		if c.Verdict != tt.verdict || r.Gates[0].Check(c).Verdict != tt.gate {
			t.Errorf("%s: %+v, %+v", tt.name, c, r.Gates[0].Check(c))
		}
		if settled := r.settled(b); settled != (tt.verdict != compare.NotDecided) {
			t.Errorf("%s: settled %v", tt.name, settled)
		}
	}
}

// A benchmark of which a unit became suspect after the screen, and is confirmed, is measured until its other units are
// decided.
func TestSettledAfterTheScreen(t *testing.T) {
	for _, tt := range []struct {
		name    string
		scatter float64
		later   bool
		want    bool
	}{
		{"later, ns/op is open", 0.2, true, false},
		{"later, ns/op is decided", 0.001, true, true},
		{"by the screen", 0.2, false, true},
	} {
		r := &run{suspected: 1}
		b := &benchmark{pkg: &pkg{}, name: "X", n: 1000, suspects: map[string]bool{"rows/op": true}}
		if tt.later {
			b.fresh = map[string]int{"rows/op": 6}
		}
		for i := range 18 {
			by := 1 + tt.scatter*float64(i%3-1)
			b.rounds = append(b.rounds, round{confirms: i >= 6, blocks: []block{{{Time: 1000, "rows/op": 10}, {Time: 1000 * by, "rows/op": 20 + float64(i%3)/100}}}})
		}
		r.benchmarks = []*benchmark{b}
		if got := r.settled(b); got != tt.want {
			t.Errorf("%s: settled %v", tt.name, got)
		}
	}
}
