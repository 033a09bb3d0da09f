package gobench

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dyno/lab/compare"
	"dyno/parts/quicktest"
)

// more is the number of simulated runs of equal programs, where the usual one is lower: of so few,
// an alarm in 5% or in 15% look the same. go test ./lab/gobench -run 'OfTheSame|GateOfThirty|Flip' -runs 400
// -timeout 1h -v shows a difference, and takes some minutes.
var more = flag.Int("runs", 0, "simulate at least that many `runs` of equal programs")

// machine simulates binaries whose speed depends on their layout, on a clock of synctest.
type machine struct {
	random        *rand.Rand
	ratio         map[string]float64 // of B over A; 1 if missing
	layout, slice float64            // standard deviations of logarithms
	allocs        map[string][2]float64
	op            float64       // of an iteration, in ns; 0: 1000
	stray         float64       // probability that the runtime allocates 400 bytes in a slice
	flips         float64       // probability of one more allocation in each iteration of a slice
	grows         string        // the benchmark whose operations take longer the more there are
	begin         time.Duration // of each run, beside its time
	once          time.Duration // of each run, within its time
	cpus          float64       // in use; 0: 1
	bursts        float64       // probability that others slow the core down in a run
	short         bool          // the pilot looks for short runs
	setup         float64       // allocations of the first benchmark of a process, for the state that all share
	reverses      bool          // B has its benchmarks in the reverse order
	skipped       []Skipped
	links         int
}

// level is the logarithm of the time of a benchmark in a binary, of which the path names the layout.
func (m *machine) level(path, name string) float64 {
	h := uint64(14695981039346656037)
	for _, c := range path + name {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return m.layout * rand.New(rand.NewPCG(h, 1)).NormFloat64()
}

func (m *machine) link(context.Context, *pkg) ([2]string, error) {
	time.Sleep(300 * time.Millisecond)
	m.links++
	return [2]string{fmt.Sprintf("a%d-%d", m.links, m.random.Uint64()), fmt.Sprintf("b%d-%d", m.links, m.random.Uint64())}, nil
}

func (m *machine) run(_ context.Context, j job) (o outcome, err error) {
	n, err := strconv.Atoi(strings.TrimSuffix(j.time, "x"))
	if err != nil {
		return outcome{}, err
	}
	const start = 5 * time.Millisecond
	o.cpu = start
	began := time.Now()
	defer func() { o.wall = time.Since(began) }()
	time.Sleep(start)
	if took := time.Duration(float64(n) * float64(n) * 10); m.grows != "" && strings.Contains(j.pattern, m.grows) && j.limit > 0 && took > j.limit {
		time.Sleep(j.limit)
		o.late, o.err = true, errors.New("it did not end")
		return o, nil
	}
	patterns := strings.Split(j.pattern, "|")
	if m.reverses && j.path[0] == 'b' {
		slices.Reverse(patterns)
	}
	for range max(1, j.count) - 1 {
		patterns = append(patterns, patterns[0])
	}
	for _, pattern := range patterns {
		m.bench(strings.Trim(strings.TrimPrefix(pattern, "^Benchmark"), "$"), j.path, n, &o)
	}
	return o, nil
}

// bench runs a benchmark in a process.
func (m *machine) bench(name, path string, n int, o *outcome) {
	side, ratio := 0, 1.0
	if path[0] == 'b' {
		side = 1
		ratio = cmp.Or(m.ratio[name], 1)
	}
	level := math.Exp(m.level(path, name)) * ratio * cmp.Or(m.op, 1000)
	elapsed := level*math.Exp(m.slice*m.random.NormFloat64()) + float64(m.once)/float64(n)
	if m.random.Float64() < m.bursts {
		elapsed, level = 1.3*elapsed, 1.3*level
	}
	o.cpu += time.Duration(cmp.Or(m.cpus, 1) * level * math.Exp(m.slice/2*m.random.NormFloat64()) * float64(n))
	time.Sleep(m.begin + time.Duration(elapsed*float64(n)))
	allocs, ok := m.allocs[name]
	if !ok {
		allocs = [2]float64{3, 3}
	}
	stray := 0.0
	if m.random.Float64() < m.stray {
		stray = 1
	}
	mean := allocs[side]
	if m.random.Float64() < m.flips {
		mean++ // as where a pool is empty now and then
	}
	if len(o.readings) == 0 {
		mean += m.setup / float64(n) // b.Loop runs each function only once, with all iterations
	}
	o.readings = append(o.readings, reading{name, n, map[string]float64{Time: elapsed,
		Bytes: math.Floor((16*mean*float64(n) + 400*stray) / float64(n)), Allocs: math.Floor((mean*float64(n) + stray) / float64(n))}})
}

// simulate measures benchmarks of one package on a simulated machine.
func simulate(t *testing.T, m *machine, names []string, o Options) (res *Result) {
	t.Helper()
	if quicktest.Race {
		t.Skip("a simulation computes much and shares nothing")
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &run{Options: o, random: m.random, layouts: true, began: time.Now(), deadline: time.Now().Add(o.Budget), temp: dir, reported: map[string]bool{Time: true, CPU: true, Bytes: true, Allocs: true}, units: map[string]int{}, runJob: m.run, link: m.link, skipped: m.skipped}
		r.Sides = [2]Side{{Title: "A"}, {Title: "B"}}
		p := &pkg{path: "p", sides: [2]*binary{{path: "a"}, {path: "b"}}}
		for _, name := range names {
			b := &benchmark{pkg: p, name: name, procs: 1, count: 1}
			b.size(cmp.Or(m.op, 1000), 5*time.Millisecond)
			r.benchmarks = append(r.benchmarks, b)
			if m.short {
				if err := r.warmUp(t.Context(), b); err != nil || !b.single {
					t.Fatal("no short runs", err)
				}
			}
		}
		if err := errors.Join(r.count(t.Context()), r.measure(t.Context())); err != nil {
			t.Fatal(err)
		}
		if over := time.Since(r.deadline); over > 3*time.Second {
			t.Errorf("it took %v more than its budget", over)
		}
		open := slices.ContainsFunc(r.benchmarks, func(b *benchmark) bool { return !r.settled(b) && b.failures < mostFailures })
		if left := time.Until(r.deadline); open && left > 2*time.Second+o.Budget/20 {
			t.Errorf("it ends %v early, and not all is decided", left)
		}
		res = r.result()
	})
	return res
}

func names(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("B%d", i))
	}
	return out
}

func alarms(r *Result) (n int) {
	for _, b := range r.Benchmarks {
		if b.Verdict == compare.Slower || b.Verdict == compare.Faster {
			n++
		}
	}
	return n
}

// In at most 5% of runs of equal programs a benchmark is called faster or slower, however many there
// are, and the intervals hold the truth as often as they say.
func TestRunsOfTheSame(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		benchmarks, seconds int
		short               bool
	}{{2, 60, false}, {3, 60, true}, {12, 120, false}, {12, 60, true}} {
		const most = 0.05
		runs := max(*more, quicktest.Of(10, 40))
		wrong, covered, intervals := 0, 0, 0
		for seed := range runs {
			m := &machine{random: rand.New(rand.NewPCG(uint64(seed), 7)), layout: 0.02, slice: 0.03}
			if tt.short {
				m.short, m.slice, m.bursts = true, 0.005, 0.3
			}
			r := simulate(t, m, names(tt.benchmarks), Options{Budget: time.Duration(tt.seconds) * time.Second})
			if alarms(r) > 0 {
				wrong++
			}
			for _, b := range r.Benchmarks {
				if c := b.Metric(Time).Comparison; c.Interval != nil {
					intervals++
					if c.Interval[0] <= 1 && c.Interval[1] >= 1 {
						covered++
					}
				}
			}
		}
		t.Logf("%d benchmarks: %d of %d runs alarm, %d of %d intervals hold 1", tt.benchmarks, wrong, runs, covered, intervals)
		if bound := most*float64(runs) + 2*math.Sqrt(most*float64(runs)); float64(wrong) > bound {
			t.Errorf("%d of %d runs of equal programs alarm", wrong, runs)
		}
		if float64(covered) < 0.93*float64(intervals) {
			t.Errorf("%d of %d intervals hold the truth", covered, intervals)
		}
	}
}

// A change of 3% in one of five benchmarks is found on a quiet machine, although layouts move each by
// 1%, and the others are not called different.
func TestAChangeIsFound(t *testing.T) {
	t.Parallel()
	runs := quicktest.Of(10, 20)
	found, others := 0, 0
	for seed := range runs {
		m := &machine{random: rand.New(rand.NewPCG(uint64(seed), 8)), layout: 0.01, slice: 0.02, ratio: map[string]float64{"B2": 1.03}}
		r := simulate(t, m, names(5), Options{Budget: 90 * time.Second})
		for _, b := range r.Benchmarks {
			switch {
			case b.Name == "B2" && b.Verdict == compare.Slower:
				found++
			case b.Name != "B2" && (b.Verdict == compare.Slower || b.Verdict == compare.Faster):
				others++
			}
		}
		if found > 0 && r.Benchmarks[0].Name != "B2" && r.Benchmarks[0].Verdict != compare.Slower {
			t.Errorf("the worst is not the first: %+v", r.Benchmarks[0])
		}
	}
	t.Logf("found %d of %d, and %d that are none", found, runs, others)
	if found < runs*16/20 {
		t.Errorf("found in %d of %d runs", found, runs)
	}
	if others > runs/10 {
		t.Errorf("%d of %d runs call an equal benchmark different", others, runs)
	}
}

// What only samples after the screen show to differ is confirmed by fresh ones: a run does not end early and say that the
// time did not suffice. The samples that show it do not count.
func TestADifferenceThatShowsLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for ratio, want := range map[float64]string{1.05: compare.Slower, 1: compare.Equal} {
		synctest.Test(t, func(t *testing.T) {
			const budget = time.Minute
			m := &machine{random: rand.New(rand.NewPCG(1, 22)), layout: 0.005, slice: 0.005, ratio: map[string]float64{"B0": ratio}}
			r := &run{Options: Options{Budget: budget}, random: m.random, layouts: true, began: time.Now().Add(-budget * 3 / 4), deadline: time.Now().Add(budget / 4), temp: dir,
				reported: map[string]bool{Time: true, CPU: true}, units: map[string]int{}, runJob: m.run, link: m.link}
			r.suspected = 1 // by the screen, which is over
			for _, name := range names(fewToScreen + 1) {
				b := &benchmark{pkg: &pkg{path: name, sides: [2]*binary{{path: "a"}, {path: "b"}}}, name: name, procs: 1, count: 1}
				b.size(1000, 5*time.Millisecond)
				for i := range 12 {
					was, is := 1000+math.Mod(float64(i), 2), 1002-math.Mod(float64(i), 3)
					if name == "B0" {
						is *= 1.07
					}
					b.rounds = append(b.rounds, round{blocks: []block{{{Time: was}, {Time: is}}}, cost: 500 * time.Millisecond, own: 200 * time.Millisecond})
				}
				r.benchmarks = append(r.benchmarks, b)
			}
			if err := r.measure(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, b := range r.result().Benchmarks {
				c := b.Metric(Time).Comparison
				if b.Name == "B0" && (c.Verdict != want || !b.Metric(Time).Suspected || c.Samples != b.Generations-12) || b.Name != "B0" && (c.Verdict != compare.Equal || b.Generations > 12) {
					t.Errorf("%g: %s after %d generations: %+v", ratio, b.Name, b.Generations, c)
				}
			}
		})
	}
}

// Of a hundred benchmarks, for which a minute suffices for one generation or two, the one that takes
// twice as long is confirmed.
func TestALargeChangeAmongManyIsFound(t *testing.T) {
	t.Parallel()
	m := &machine{random: rand.New(rand.NewPCG(1, 10)), layout: 0.02, slice: 0.03, ratio: map[string]float64{"B42": 2}}
	r := simulate(t, m, names(100), Options{Budget: time.Minute})
	if b := r.Benchmarks[0]; b.Name != "B42" || b.Verdict != compare.Slower || alarms(r) != 1 {
		t.Errorf("the first is %s: %s; %d are called different", b.Name, b.Verdict, alarms(r))
	}
	if len(r.Warnings) == 0 || r.TimeToDecide < 30 {
		t.Errorf("it says %v, and %g s more for the others", r.Warnings, r.TimeToDecide)
	}
}

// Two minutes give the intervals that docs/how-to/compare-benchmarks.md promises of a quiet machine.
func TestPrecision(t *testing.T) {
	t.Parallel()
	for benchmarks, most := range map[int]float64{5: 0.02, 30: 0.05} {
		for _, layout := range []float64{0.01, 0.02} {
			var widths []float64
			for seed := range quicktest.Of(3, 6) {
				m := &machine{random: rand.New(rand.NewPCG(uint64(seed), 18)), layout: layout, slice: 0.03}
				for _, b := range simulate(t, m, names(benchmarks), Options{Budget: DefaultBudget}).Benchmarks {
					if in := b.Metric(Time).Comparison.Interval; in != nil {
						widths = append(widths, math.Sqrt(in[1]/in[0])-1)
					}
				}
			}
			half := compare.Median(widths)
			t.Logf("%d benchmarks that layouts move by %g%% and slices by 3%%: known within %.1f%%", benchmarks, layout*100, half*100)
			if half > most {
				t.Errorf("%d benchmarks are known within %.3f, want %.3f", benchmarks, half, most)
			}
		}
	}
}

// Exact allocations are decided in seconds, and from 0 as well.
func TestAllocationsAreExact(t *testing.T) {
	t.Parallel()
	m := &machine{random: rand.New(rand.NewPCG(1, 9)), layout: 0.02, slice: 0.1, allocs: map[string][2]float64{"B0": {12, 13}, "B1": {0, 1}, "B2": {5, 4}}}
	gates, err := compare.ParseUnitGates("allocs/op<=1")
	if err != nil {
		t.Fatal(err)
	}
	r := simulate(t, m, names(4), Options{Budget: 10 * time.Second, Gates: gates})
	want := map[string]string{"B0": compare.Slower, "B1": compare.Slower, "B2": compare.Faster, "B3": compare.Equal}
	for _, b := range r.Benchmarks {
		if m := b.Metric(Allocs); !m.Exact || m.Comparison.Verdict != want[b.Name] {
			t.Errorf("%s: %+v", b.Name, m)
		}
	}
	if g := r.Gates[0]; g.Verdict != compare.Fail || !strings.Contains(g.Text, "2 of 4 benchmarks fail") {
		t.Errorf("the gate: %+v", g)
	}
}

// One more allocation of one benchmark is found within 10 s however many there are, even if the time
// suffices for a generation of some of them only; and no benchmark is left out in favour of another.
func TestOneMoreAllocationAmongMany(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 30, 200} {
		m := &machine{random: rand.New(rand.NewPCG(uint64(n), 12)), layout: 0.02, slice: 0.1, stray: 0.3, allocs: map[string][2]float64{fmt.Sprintf("B%d", n/2): {12, 13}}}
		r := simulate(t, m, names(n), Options{Budget: 10 * time.Second})
		if len(r.Benchmarks) != n || alarms(r) != 1 || r.Benchmarks[0].Name != fmt.Sprintf("B%d", n/2) || !r.Benchmarks[0].Metric(Allocs).Exact {
			t.Errorf("of %d benchmarks, %d are measured and %d are called different: %+v", n, len(r.Benchmarks), alarms(r), r.Benchmarks[0])
		}
		most, least := 0, math.MaxInt
		for _, b := range r.Benchmarks {
			most, least = max(most, b.Generations), min(least, b.Generations)
			if m := b.Metric(Allocs); m == nil || !m.Exact {
				t.Errorf("of %d benchmarks, allocations of %s are not exact: %+v", n, b.Name, m)
			}
			if b.Generations == 0 && b.Verdict == compare.Equal {
				t.Errorf("%s is called equal and was not timed", b.Name)
			}
		}
		if n == 200 && (most != 1 || least != 0) || n < 200 && least == 0 {
			t.Errorf("of %d benchmarks, one has %d generations and another %d", n, most, least)
		}
	}
}

// What the first benchmark of a process sets up for all is no difference where the sides have another
// order of benchmarks; and what really differs is still found.
func TestSharedStateInAnotherOrder(t *testing.T) {
	t.Parallel()
	for _, seconds := range []int{10, 60} {
		m := &machine{random: rand.New(rand.NewPCG(1, 19)), layout: 0.01, slice: 0.02, op: 4e5, setup: 500, reverses: true, allocs: map[string][2]float64{"B3": {3, 4}}}
		r := simulate(t, m, names(7), Options{Budget: time.Duration(seconds) * time.Second, Gates: unitGates(t, "allocs/op<=1")})
		if b := r.Benchmarks[0]; alarms(r) != 1 || b.Name != "B3" {
			t.Errorf("in %d s, %d are called different, the worst is %s: %+v", seconds, alarms(r), b.Name, b.Metric(Allocs))
		}
		if !strings.Contains(r.Gates[0].Text, "1 of 7 benchmarks fail") {
			t.Errorf("in %d s: %s", seconds, r.Gates[0].Text)
		}
	}
}

// What was only counted was not in every slice.
func TestCountedIsNotTimed(t *testing.T) {
	t.Parallel()
	for _, n := range []int{4, 200} {
		m := &machine{random: rand.New(rand.NewPCG(1, 20)), layout: 0.01, slice: 0.02, allocs: map[string][2]float64{"B1": {3, 4}}}
		r := simulate(t, m, names(n), Options{Budget: 10 * time.Second})
		timed := r.Benchmarks[0].Generations >= exactSlices
		if says := strings.HasSuffix(r.What, "48 to 64 in every slice"); says != timed || !strings.Contains(r.What, "48 to 64") {
			t.Errorf("after %d generations it says: %s", r.Benchmarks[0].Generations, r.What)
		}
	}
}

// What was not timed, and of which nothing exact is known, has no verdict.
func TestUntimed(t *testing.T) {
	t.Parallel()
	m := &machine{random: rand.New(rand.NewPCG(3, 80)), layout: 0.02, slice: 0.03, flips: 0.3}
	r := simulate(t, m, names(200), Options{Budget: 10 * time.Second, Gates: unitGates(t, "allocs/op<=1")})
	for _, b := range r.Benchmarks {
		for _, m := range b.Metrics {
			if m.Comparison.Verdict == compare.Invalid {
				t.Errorf("%s, after %d generations: %+v", b.Name, b.Generations, m)
			}
		}
	}
	if len(r.Skipped) == 0 || r.Skipped[0].Cause != Unmeasured || len(r.Benchmarks)+len(r.Skipped) != 200 {
		t.Errorf("%d have a verdict, %d have none: %+v", len(r.Benchmarks), len(r.Skipped), r.Skipped[:min(len(r.Skipped), 1)])
	}
}

// All blocks of a generation have the same number of iterations: a slice that takes too long once, after
// others did not, changes none.
func TestOneNumberOfIterationsToAGeneration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		m := &machine{random: rand.New(rand.NewPCG(1, 5)), layout: 0.01, slice: 0.02}
		r := &run{Options: Options{Budget: 20 * time.Second}, random: m.random, layouts: true, began: time.Now(), deadline: time.Now().Add(20 * time.Second), temp: dir, reported: map[string]bool{Time: true}, units: map[string]int{}, link: m.link}
		sizes := map[int]bool{}
		slicesOf := 0
		r.runJob = func(ctx context.Context, j job) (outcome, error) {
			if n, _ := strconv.Atoi(strings.TrimSuffix(j.time, "x")); n > leastN {
				sizes[n] = true
				if slicesOf++; slicesOf == 3 && j.limit > 0 {
					time.Sleep(j.limit)
					return outcome{late: true, err: errors.New("late")}, nil
				}
			}
			return m.run(ctx, j)
		}
		b := &benchmark{pkg: &pkg{path: "p", sides: [2]*binary{{path: "a"}, {path: "b"}}}, name: "B0", procs: 1, count: 1}
		b.size(1000, 5*time.Millisecond)
		r.benchmarks = append(r.benchmarks, b)
		if err := r.measure(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(sizes) != 1 || len(b.rounds[0].blocks) < exactSlices {
			t.Errorf("slices of %v iterations, %d blocks in the first generation", sizes, len(b.rounds[0].blocks))
		}
	})
}

// A benchmark whose operations take longer the more there are is measured with fewer of them, and does
// not take the time of the others.
func TestOperationsThatGrow(t *testing.T) {
	t.Parallel()
	m := &machine{random: rand.New(rand.NewPCG(1, 17)), layout: 0.01, slice: 0.02, grows: "B1"}
	r := simulate(t, m, names(4), Options{Budget: time.Minute})
	if len(r.Benchmarks) != 4 {
		t.Fatalf("%+v", r.Skipped)
	}
	for _, b := range r.Benchmarks {
		if b.Generations < compare.MinSamples || (b.Name == "B1") != (b.Iterations < 50000) {
			t.Errorf("%s: %d generations of %d iterations", b.Name, b.Generations, b.Iterations)
		}
	}
}

// A figure that flips between two values is no difference.
func TestAllocationsThatFlip(t *testing.T) {
	t.Parallel()
	const most = 0.05
	runs, wrong := max(*more, quicktest.Of(20, 100)), 0
	for seed := range runs {
		m := &machine{random: rand.New(rand.NewPCG(uint64(seed), 13)), layout: 0.01, slice: 0.03, flips: 0.3}
		if alarms(simulate(t, m, names(20), Options{Budget: 10 * time.Second})) > 0 {
			wrong++
		}
	}
	t.Logf("%d of %d runs alarm", wrong, runs)
	if bound := most*float64(runs) + 2*math.Sqrt(most*float64(runs)); float64(wrong) > bound {
		t.Errorf("%d of %d runs of equal programs alarm", wrong, runs)
	}
}

// What the runtime allocates now and then makes no benchmark of few iterations differ from itself.
func TestStrayAllocationsOfTheSame(t *testing.T) {
	t.Parallel()
	const most = 0.05
	runs, wrong := max(*more, quicktest.Of(100, 200)), 0
	for seed := range runs {
		m := &machine{random: rand.New(rand.NewPCG(uint64(seed), 11)), layout: 0.01, slice: 0.03, op: 5e6, stray: 0.5}
		if alarms(simulate(t, m, names(6), Options{Budget: 4 * time.Second})) > 0 {
			wrong++
		}
	}
	t.Logf("%d of %d runs alarm", wrong, runs)
	if bound := most*float64(runs) + 2*math.Sqrt(most*float64(runs)); float64(wrong) > bound {
		t.Errorf("%d of %d runs of equal programs alarm", wrong, runs)
	}
}

// What layouts move is separated from what slices do.
func TestScatter(t *testing.T) {
	t.Parallel()
	m := &machine{random: rand.New(rand.NewPCG(3, 9)), layout: 0.04, slice: 0.01}
	r := simulate(t, m, names(2), Options{Budget: 2 * time.Minute})
	for _, b := range r.Benchmarks {
		if b.Scatter == nil || b.Scatter.Layout < 0.02 || b.Scatter.Layout > 0.08 || b.Scatter.Slice > 0.02 || b.Scatter.Share < 0.8 {
			t.Errorf("layouts move it by 4%% and slices differ by 1%%, it says %+v", b.Scatter)
		}
	}
	m = &machine{random: rand.New(rand.NewPCG(4, 9)), slice: 0.03}
	for _, b := range simulate(t, m, names(2), Options{Budget: 2 * time.Minute}).Benchmarks {
		if b.Scatter == nil || b.Scatter.Layout > 0.02 {
			t.Errorf("layouts do not move it, it says %+v", b.Scatter)
		}
	}
}
