package gobench

import (
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dyno/lab/compare"
)

// A benchmark that keeps one CPU busy has short runs where they measure what a long one does.
func TestShortRuns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		m        machine
		bytes    float64 // of an operation
		n, count int
	}{
		{"quick operations", machine{}, 0, 5000, 10},
		{"200 operations or more", machine{op: 1e5}, 0, 200, 5},
		{"too few operations", machine{op: 1e6}, 0, 100, 1},
		{"little garbage", machine{}, 10, 5000, 10},
		{"collections of garbage", machine{}, 100, 100_000, 1},
		{"two CPUs", machine{cpus: 2}, 0, 100_000, 1},
		{"it waits", machine{cpus: 0.5}, 0, 100_000, 1},
		{"what each run sets up takes 3 ms", machine{begin: 3 * time.Millisecond}, 0, 5000, 10},
		{"it takes 50 ms", machine{begin: 50 * time.Millisecond}, 0, 205_000, 1},
		{"1 ms of it is in the time", machine{once: time.Millisecond}, 0, 100_000, 1},
		{"others use the core", machine{bursts: 0.3}, 0, 5000, 10},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := tt.m
			m.random = rand.New(rand.NewPCG(1, 21))
			r := &run{random: m.random, runJob: m.run, units: map[string]int{}}
			b := &benchmark{pkg: &pkg{path: "p", sides: [2]*binary{{path: "a"}, {path: "b"}}}, name: "B0", procs: 1, count: 1, bytes: tt.bytes}
			op := max(m.op, 1000)
			b.size(op, 5*time.Millisecond)
			if err := r.warmUp(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			if off := math.Abs(float64(b.n)/float64(tt.n) - 1); off > 0.1 || b.count != tt.count || b.single != (tt.count > 1) {
				t.Errorf("%s: %d runs of %d operations, want %d of %d", tt.name, b.count, b.n, tt.count, tt.n)
			}
		})
	}
}

// Of the runs of a slice, the shortest time counts, and else the last one.
func TestSlice(t *testing.T) {
	run := func(ns, rows float64) reading {
		return reading{"B", 500, map[string]float64{Time: ns, "rows/op": rows}}
	}
	for single, want := range map[bool]float64{true: 100, false: 150} {
		b := &benchmark{name: "B", n: 500, single: single}
		got := slice([]reading{{"B", 1, map[string]float64{Time: 1}}, run(120, 9), run(100, 4), run(150, 3), {"C", 500, map[string]float64{Time: 5}}}, b)
		if want := map[string]float64{Time: want, "rows/op": 3}; !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if got := slice(nil, b); got != nil {
			t.Errorf("without a run: %v", got)
		}
	}
}

// The CPU time of a benchmark that keeps one CPU busy is its elapsed time, and no other comparison, unless the
// processes of the sides differ in what else they compute.
func TestOneComparisonOfTwoUnits(t *testing.T) {
	for beside, want := range map[float64]string{1: compare.Slower, 1.1: compare.NotDecided} {
		x := &benchmark{pkg: &pkg{path: "p"}, name: "B", n: 1000, single: true, count: 10}
		for i := range 10 {
			was, is := 100+math.Mod(float64(i), 3), 110+math.Mod(float64(i), 2)
			x.rounds = append(x.rounds, round{confirms: true, blocks: []block{{{Time: was, CPU: was}, {Time: is, CPU: is}}}})
			x.busy[0], x.busy[1] = append(x.busy[0], 1), append(x.busy[1], beside)
		}
		r := &run{benchmarks: []*benchmark{x}, reported: map[string]bool{Time: true, CPU: true}}
		r.suspectAll()
		m := r.metrics(x)
		got := r.compareAll(map[*benchmark][]metric{x: m})[x]
		if r.suspected != 1 || got[0].Verdict != compare.Slower || got[1].Verdict != want || got[1].Metric != CPU {
			t.Errorf("%d are compared: %+v", r.suspected, got)
		}
	}
}

// Where the processes are unlike, the texts say so, and no time is said to decide it.
func TestUnlikeProcesses(t *testing.T) {
	x := &benchmark{pkg: &pkg{path: "p"}, name: "B", n: 1000, single: true, count: 10}
	for i := range 20 {
		was, is := 100+math.Mod(float64(i), 3), 100+math.Mod(float64(i), 2)
		x.rounds = append(x.rounds, round{blocks: []block{{{Time: was, CPU: was}, {Time: is, CPU: is}}}, cost: time.Second})
		x.busy[0], x.busy[1] = append(x.busy[0], 1), append(x.busy[1], 1.1)
	}
	r := &run{Options: Options{Gates: unitGates(t, "cpu-ns/op<=1.05")}, benchmarks: []*benchmark{x}, reported: map[string]bool{Time: true, CPU: true}}
	res := r.result()
	g := res.Gates[0]
	if g.Verdict != compare.Undecided || !strings.Contains(g.Text, unlikeCPU) || strings.Contains(g.Text, "pairs give no interval") || g.TimeToDecide > 0 {
		t.Errorf("the gate: %+v", g)
	}
	if row := strings.Join(res.Benchmarks[0].row(), " "); !strings.Contains(row, unlikeCPU) || res.TimeToDecide > 0 {
		t.Errorf("%s; %g s more", row, res.TimeToDecide)
	}
}

// Of the slices of a generation the fastest counts where a benchmark keeps one CPU busy; of others, which may be
// faster since others use a CPU, the one in the middle.
func TestFastestOfAGeneration(t *testing.T) {
	for single, want := range map[bool]float64{true: math.Log(95. / 100), false: math.Log(1.1)} {
		x := &benchmark{pkg: &pkg{path: "p"}, name: "B", n: 1000, single: single}
		x.rounds = []round{{blocks: []block{{{Time: 100}, {Time: 110}}, {{Time: 200}, {Time: 95}}, {{Time: 150}, {Time: 180}}}}}
		r := &run{benchmarks: []*benchmark{x}}
		if got := r.metrics(x)[0].all.Logs; len(got) != 1 || math.Abs(got[0]-want) > 1e-9 {
			t.Errorf("one CPU: %v: %v, want %g", single, got, want)
		}
	}
}
