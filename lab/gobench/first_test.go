package gobench

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dyno/lab/compare"
	"dyno/parts/quicktest"
)

// looked makes a run of one package that a job of a test looks at.
func looked(job func(context.Context, job) (outcome, error)) *run {
	r := &run{Options: Options{Budget: DefaultBudget}, units: map[string]int{}, reported: map[string]bool{CPU: true}, runJob: job, began: time.Now(), deadline: time.Now().Add(DefaultBudget)}
	r.packages = []*pkg{{path: "p", sides: [2]*binary{{path: "a"}, {path: "b"}}}}
	return r
}

// A benchmark that takes minutes is skipped by its name, and the others are measured.
func TestASlowBenchmark(t *testing.T) {
	for name, slow := range map[string]string{"on both sides": "a b", "on B": "b"} {
		synctest.Test(t, func(t *testing.T) {
			r := looked(func(ctx context.Context, j job) (o outcome, err error) {
				time.Sleep(5 * time.Millisecond)
				for _, name := range []string{"Quick", "Soak", "Last", "Last/of"} {
					if matched, _ := regexp.MatchString(j.skip, "Benchmark"+name); j.skip != "" && matched {
						continue
					}
					o.last = name
					if took := 70 * time.Second; name == "Soak" && strings.Contains(slow, j.path) {
						time.Sleep(min(took, j.limit))
						return outcome{output: o.output, last: name, late: j.limit < took, err: errors.New("late")}, ctx.Err()
					}
					o.readings = append(o.readings, reading{name, 10000, map[string]float64{Time: 1000}})
				}
				return o, nil
			})
			if err := r.find(t.Context(), r.packages[0], 1); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, b := range r.benchmarks {
				names = append(names, b.name)
			}
			slices.Sort(names)
			if !slices.Equal(names, []string{"Last", "Last/of", "Quick"}) {
				t.Errorf("%s: it measures %v", name, names)
			}
			if len(r.skipped) != 1 || r.skipped[0].Name != "Soak" || r.skipped[0].Cause != Unmeasured || !strings.Contains(r.skipped[0].Why, "within 12s") {
				t.Errorf("%s: %+v", name, r.skipped)
			}
			if took := time.Since(r.began); took > r.Budget/4 {
				t.Errorf("%s: the first look takes %v", name, took)
			}
		})
	}
}

// The same of real programs.
func TestASlowBenchmarkRuns(t *testing.T) {
	quicktest.Skip(t, "waits for a slow benchmark")
	dir := modules(t)
	for side, n := range map[string]string{"a": "1", "b": "2"} {
		text := "package m\n\nimport (\"testing\"; \"time\")\n\nfunc BenchmarkQuick(b *testing.B) { for range b.N { sink = make([]byte, " + n + ") } }\nvar sink []byte\n" +
			"func BenchmarkSoak(b *testing.B) { b.Run(\"x\", func(b *testing.B) { time.Sleep(time.Hour) }); b.Run(\"y\", BenchmarkQuick) }\nfunc BenchmarkThen(b *testing.B) { BenchmarkQuick(b) }\n"
		if err := os.WriteFile(filepath.Join(dir, side, "m/m_test.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := options(dir, 30*time.Second)
	o.Packages = []string{"./m"}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, b := range r.Benchmarks {
		names[strings.Split(b.Name, "-")[0]] = true
	}
	if want := map[string]bool{"Quick": true, "Soak/y": true, "Then": true}; !maps.Equal(names, want) || len(r.Skipped) != 1 || r.Skipped[0].Name != "Soak/x" {
		t.Errorf("it measures %v and skips %+v", names, r.Skipped)
	}
}

// A benchmark that leaves out ns/op, or reports that of an item, is measured with as many iterations as a slice takes.
func TestTimesOfItsOwn(t *testing.T) {
	for _, tt := range []struct {
		name        string
		op, reports float64 // ns
		n           int
		own         bool
	}{
		{"it reports no time", 1e5, 0, 1000, true},
		{"nor of long operations", 4e7, 0, 4, true},
		{"the time of an item", 1e6, 1e3, 100, true},
		{"its time", 1e5, 1e5, 1000, false},
		{"its time, of long operations", 4e7, 4e7, 4, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			run := func(_ context.Context, j job) (o outcome, err error) {
				n := 0
				if d, err := time.ParseDuration(j.time); err == nil {
					n = max(1, int(float64(d)/tt.op))
				} else if n, err = strconv.Atoi(strings.TrimSuffix(j.time, "x")); err != nil {
					return o, err
				}
				took := 5*time.Millisecond + time.Duration(tt.op*float64(n))
				time.Sleep(took)
				x := reading{"B", n, map[string]float64{"p99-ns": 7, Allocs: 0}}
				if tt.reports > 0 {
					x.values[Time] = tt.reports
				}
				return outcome{output: output{readings: []reading{x}}, wall: took, cpu: took}, nil
			}
			r := looked(run)
			r.random = rand.New(rand.NewPCG(1, 1))
			if err := r.pilot(t.Context()); err != nil || len(r.benchmarks) != 1 {
				t.Fatalf("%s: %v, %+v", tt.name, err, r.skipped)
			}
			b := r.benchmarks[0]
			if b.own != tt.own || tt.own && math.Abs(float64(b.n)/float64(tt.n)-1) > 0.15 {
				t.Errorf("%s: %d iterations, want %d; %+v", tt.name, b.n, tt.n, b)
			}
			if took := time.Since(r.began); took > 10*time.Second {
				t.Errorf("%s: the pilot takes %v", tt.name, took)
			}
			if tt.reports > 0 {
				return
			}
			for range 12 {
				b.rounds = append(b.rounds, round{blocks: []block{{{"p99-ns": 7, CPU: 5}, {"p99-ns": 7, CPU: 5}}}})
			}
			r.Gates = unitGates(t, "ns/op<=1.05,cpu-ns/op<=1.05")
			res := r.result()
			if m := res.Benchmarks[0].Metric(Time); m != nil || res.Gates[0].Verdict != compare.Undecided || !strings.Contains(res.Gates[0].Text, "no benchmark reports ns/op") || res.Gates[1].Verdict != compare.Pass {
				t.Errorf("%s: %+v, %+v", tt.name, m, res.Gates)
			}
		})
	}
}

// What the pilot tries does not take the time of all others: of what takes longer than it reports, fewer iterations
// are tried, and of long operations none.
func TestThePilotHasALimit(t *testing.T) {
	for name, tt := range map[string]struct {
		op    func(n int) time.Duration
		perOp float64
		n     int
	}{
		"operations that take longer the more there are": {func(n int) time.Duration { return time.Duration(n*n) * 100 }, 1000, 10000},
		"long operations": {func(n int) time.Duration { return time.Duration(n) * 10 * time.Second }, 1e10, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := looked(func(_ context.Context, j job) (o outcome, err error) {
				n, err := strconv.Atoi(strings.TrimSuffix(j.time, "x"))
				took := time.Duration(j.count) * tt.op(n)
				if j.limit > 0 && took > j.limit {
					time.Sleep(j.limit)
					return outcome{late: true, err: errors.New("late")}, nil
				}
				time.Sleep(took)
				o.readings = slices.Repeat([]reading{{"B", n, map[string]float64{Time: tt.perOp}}}, j.count)
				o.wall, o.cpu = took, took
				return o, err
			})
			r.packages, r.random = nil, rand.New(rand.NewPCG(1, 1))
			b := &benchmark{pkg: &pkg{path: "p", sides: [2]*binary{{path: "a"}, {path: "b"}}}, name: "B", procs: 1, count: 1}
			b.size(tt.perOp, 5*time.Millisecond)
			r.benchmarks = []*benchmark{b}
			if err := r.pilot(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(r.began); took > 15*time.Second || b.n != tt.n {
				t.Errorf("%s: the pilot takes %v, and %d iterations", name, took, b.n)
			}
			began := time.Now()
			if err := r.divide(t.Context(), b, [2]float64{tt.perOp, tt.perOp}, 0); err != nil || time.Since(began) > 10*time.Second {
				t.Errorf("%s: short runs take %v, %v", name, time.Since(began), err)
			}
		})
	}
}
