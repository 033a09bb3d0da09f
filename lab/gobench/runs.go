package gobench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"dyno/lab/compare"
)

// A slice of a benchmark that keeps one CPU busy consists of short runs, and the fastest counts: what else uses
// the core, on a virtual machine also of other guests, comes and goes within milliseconds and only slows down.
// The fastest of ten runs of 5 ms repeats within 1 to 3% where one of 100 ms repeats within 4 to 15%, and takes
// half of the time. The pilot tries whether short runs measure what long ones do.
const (
	shortestRun = 5 * time.Millisecond
	mostRuns    = 10
	leastRuns   = 3 // of fewer, the fastest is not much better than any
	// runN is the least number of iterations of a short run: what is rare but costly is in each.
	runN = 2 * exactN
	// dearest is the longest time to begin a run, with what the benchmark sets up.
	dearest = 2 * shortestRun
	// collected is what a program allocates, at least, from one collection of garbage to the next. Each run begins
	// after a collection: if a slice of one run had others, short runs would not.
	collected = 4 << 20
	// leastBusy and mostBusy bound the CPU time by elapsed time of a process whose benchmark keeps one CPU busy.
	leastBusy, mostBusy = 0.8, 1.15
	// A short run measures the same if its operations take leastAlike to mostAlike of what they take in a long one:
	// longer ones are of a set-up within the time, and shorter ones of operations that take longer the more there are.
	leastAlike, mostAlike = 0.6, 1.05
	// attempts is how often it is tried: others may have used the core.
	attempts = 2
	// alikeBusy is by how much the CPU time by elapsed time of the sides may differ.
	alikeBusy = 0.05
)

// divide makes a slice of several short runs, if that measures the same. levels are the times of an operation
// of each side in the pilot's fastest run, and start is what its process took beside its iterations.
func (r *run) divide(ctx context.Context, b *benchmark, levels [2]float64, start time.Duration) error {
	short := *b
	short.single = true
	n := max(float64(shortestRun)/b.perOp, runN)
	short.n, short.count = int(n), min(mostRuns, int(float64(b.n)/n))
	if short.count < leastRuns || start > pilotCount*dearest || b.bytes*float64(b.n) >= collected {
		return nil
	}
	short.length = 0
	for i, side := range b.pkg.sides {
		alike := false
		for range attempts {
			o, err := r.runJob(ctx, job{side.path, side.dir, b.pattern(), b.procs, short.count, fmt.Sprintf("%dx", short.n), b.length, b.firstLimit(), ""})
			if err != nil {
				return err
			}
			if o.late {
				b.fewer()
				return nil
			}
			figures := slice(o.readings, &short)
			if o.err != nil || figures == nil {
				return nil
			}
			ratio := figures[Time] / levels[i]
			if ratio < leastAlike {
				return nil
			}
			short.length = max(short.length, o.wall)
			if alike = ratio <= mostAlike; alike {
				break
			}
		}
		if !alike {
			return nil
		}
	}
	*b = short
	return nil
}

// slice returns the figures of a slice of a benchmark, nil if it printed none: those of its last run, since those
// before may be warm-up, with the shortest time of all.
func slice(readings []reading, b *benchmark) (figures map[string]float64) {
	fastest := math.Inf(1)
	for _, x := range readings {
		if x.name != b.name || x.n != b.n {
			continue
		}
		figures = x.values
		if v, ok := x.values[Time]; ok && b.single {
			fastest = min(fastest, v)
			figures[Time] = fastest
		}
	}
	return figures
}

// fastest reports whether the fastest slice of a generation counts of a unit: of what keeps one CPU busy. What
// waits, or uses several, may be faster now and then since others use one of them.
func (b *benchmark) fastest(unit string) bool { return b.single && (unit == Time || unit == CPU) }

// same reports whether a unit of the benchmark has the samples of its elapsed time, and so is no other comparison.
func (b *benchmark) same(unit string) bool { return unit == CPU && b.single }

// unlike reports whether the processes of the sides differ in the CPU time that they use beside the benchmark.
func (b *benchmark) unlike() bool {
	if min(len(b.busy[0]), len(b.busy[1])) < compare.MinSamples {
		return false
	}
	return math.Abs(math.Log(compare.Median(b.busy[1])/compare.Median(b.busy[0]))) > alikeBusy
}

// unlikeCPU is why there is no interval of the CPU time of a benchmark whose sides are unlike.
const unlikeCPU = "the processes use unlike CPU time beside the benchmark, which cpu-ns/op of a benchmark that keeps one CPU busy does not have"

// isUnlike reports whether a unit has no interval since the processes are unlike: no time decides it.
func (b *benchmark) isUnlike(unit string) bool { return b.same(unit) && b.unlike() }

// alsoCPU gives the CPU times of benchmarks that keep one CPU busy the comparison of their elapsed times.
func alsoCPU(metrics map[*benchmark][]metric, comparisons map[*benchmark][]compare.Comparison) {
	for b, all := range comparisons {
		at := func(unit string) int {
			return slices.IndexFunc(metrics[b], func(m metric) bool { return m.unit == unit })
		}
		elapsed, cpu := at(Time), at(CPU)
		if !b.single || cpu < 0 || elapsed < 0 {
			continue
		}
		c := all[elapsed]
		if c.Metric = CPU; b.isUnlike(CPU) {
			c.Interval, c.Verdict = nil, compare.NotDecided
			c.Warnings = append(slices.Clone(c.Warnings), unlikeCPU)
		}
		all[cpu] = c
	}
}
