package gobench

import (
	"context"
	"errors"
	"fmt"
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

// What takes long to start or to end is no failure of a side: such a package is measured on both, or on neither.
func TestASlowProcess(t *testing.T) {
	const never = 1000 * time.Hour
	for name, tt := range map[string]struct {
		before, after [2]time.Duration // the benchmarks
		benchmarks    int
		measured      bool
	}{
		"about the limit":     {[2]time.Duration{11900 * time.Millisecond, 12100 * time.Millisecond}, [2]time.Duration{}, 2, true},
		"beyond it":           {[2]time.Duration{20 * time.Second, 20 * time.Second}, [2]time.Duration{}, 2, true},
		"slow to end":         {[2]time.Duration{}, [2]time.Duration{0, 20 * time.Second}, 2, true},
		"many, slow to end":   {[2]time.Duration{}, [2]time.Duration{20 * time.Second, 0}, mostPattern / 10, true},
		"B never starts":      {[2]time.Duration{0, never}, [2]time.Duration{}, 2, false},
		"B never ends":        {[2]time.Duration{}, [2]time.Duration{0, never}, 2, false},
		"many that never end": {[2]time.Duration{}, [2]time.Duration{never, never}, mostPattern / 10, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := looked(func(ctx context.Context, j job) (o outcome, err error) {
				side := strings.Index("ab", j.path)
				left := j.limit
				took := func(d time.Duration) bool {
					time.Sleep(min(d, left))
					left -= min(d, left)
					return left > 0
				}
				skip := regexp.MustCompile(j.skip + "|^$")
				if took(tt.before[side]) {
					for i := range tt.benchmarks {
						x := fmt.Sprintf("B%d", i)
						if j.skip == "" || !skip.MatchString("Benchmark"+x) {
							o.last, o.readings = x, append(o.readings, reading{x, 10000, map[string]float64{Time: 1000}})
						}
					}
				}
				if !took(tt.after[side]) {
					o.late, o.err = true, errors.New("late")
				}
				o.wall = j.limit - left
				return o, nil
			})
			r.CPUs, r.Gates = []int{1, 2}, unitGates(t, "ns/op<=1.05")
			for _, n := range r.CPUs {
				if !r.packages[0].lost {
					if err := r.find(t.Context(), r.packages[0], n); err != nil {
						t.Fatal(err)
					}
				}
			}
			if tt.measured && (len(r.benchmarks) != 2*tt.benchmarks || len(r.skipped) > 0) {
				t.Errorf("%s: it measures %d, and skips %+v", name, len(r.benchmarks), r.skipped)
			}
			if !tt.measured && (len(r.benchmarks) > 0 || len(r.skipped) != 1 || r.skipped[0].Cause != Unmeasured || r.skipped[0].Name != "" || r.result().Gates[0].Verdict != compare.Undecided) {
				t.Errorf("%s: it measures %d, and skips %+v", name, len(r.benchmarks), r.skipped)
			}
			if took := time.Since(r.began); took > r.Budget {
				t.Errorf("%s: the first look takes %v", name, took)
			}
		})
	}
}

// A gate on a unit that no benchmark reports is refused also where packages are equal, of which the first look shows it.
func TestUnitOfEqualPackages(t *testing.T) {
	for name, tt := range map[string]struct {
		gate             string
		measured         bool
		err              error // of a process
		jobs             int
		refused, warning bool
	}{
		"a standard one":          {"allocs/op<=1", false, nil, 0, false, false},
		"one of the last package": {"hits/op<=1", true, nil, 2, false, false},
		"misspelt":                {"alloc/op<=1", true, nil, 2, true, false},
		"misspelt, all are equal": {"alloc/op<=1", false, nil, 2, true, false},
		"not known":               {"alloc/op<=1", true, errors.New("late"), 2, false, true},
	} {
		jobs := 0
		r := looked(func(_ context.Context, j job) (o outcome, err error) {
			if jobs++; j.time != "1x" || j.limit <= 0 || j.limit > DefaultBudget/10 {
				t.Errorf("%s: %+v", name, j)
			}
			o.readings = []reading{{"X", 1, map[string]float64{Time: 1, Allocs: 0}}}
			if j.path == "last" {
				o.readings[0].values["hits/op"] = 1
			}
			o.err = tt.err
			return o, nil
		})
		r.packages = nil
		for _, path := range []string{"first", "last"} {
			r.packages = append(r.packages, &pkg{path: path, equal: true, sides: [2]*binary{{path: path}, {path: path}}})
		}
		if tt.measured {
			r.benchmarks = []*benchmark{{}}
		}
		err := r.findUnit(t.Context(), unitGates(t, tt.gate)[0])
		if errors.Is(err, ErrUnit) != tt.refused || !tt.refused && err != nil || jobs != tt.jobs || len(r.warnings) > 0 != tt.warning {
			t.Errorf("%s: %v after %d processes, warnings %q", name, err, jobs, r.warnings)
		}
		if tt.refused && err != nil && !strings.Contains(err.Error(), "no benchmark reports alloc/op; there are allocs/op, cpu-ns/op, hits/op, ns/op") {
			t.Errorf("%s: it says %v", name, err)
		}
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
