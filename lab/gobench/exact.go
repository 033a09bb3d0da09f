package gobench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dyno/lab/compare"
	"dyno/lab/report/format"
)

// look is what the pilot counts of a benchmark's allocations, with one number of iterations on both
// sides, and many benchmarks to a process: so that they are known of every benchmark, however few
// generations the time suffices for.
type look struct {
	n      int
	blocks []block
}

const (
	// countShare is the part of the budget that counting allocations should take, and mostCount its bound.
	countShare = 0.3
	mostCount  = 5 * time.Second
	// countSlice is how long the iterations of a benchmark take in it, unless exactN take longer.
	countSlice = 10 * time.Millisecond
	// mostN bounds the iterations: of 10,000, what the runtime allocates for itself is 6 bytes to each.
	mostN = 10000
	// runTime is about what the testing package needs for a benchmark beside its iterations: it collects
	// garbage before each run.
	runTime = time.Millisecond
	// startTime is about what it takes to start a process of benchmarks.
	startTime = 10 * time.Millisecond
	// mostTogether bounds the benchmarks of one process: their pattern is one argument of at most 128 KiB.
	mostTogether = 200
)

// count counts the allocations of all benchmarks for which the time suffices, the quickest first. Where
// the sides differ, it counts again, each benchmark in processes of its own: of those that share a
// process, the first pays for what the program sets up once, and the sides may have another order of
// benchmarks. What then still differs gets further slices, so that a figure that flips between two
// values does not count as a difference.
func (r *run) count(ctx context.Context) error {
	allowed := min(time.Duration(countShare*float64(r.Budget)), mostCount)
	until := time.Now().Add(2 * allowed) // other programs may use the machine
	each := time.Duration(0)
	if n := len(r.benchmarks); n > 0 {
		each = min(allowed/time.Duration(2*exactSlices*n)-runTime, countSlice)
	}
	for _, b := range r.benchmarks {
		b.look.n = exactN
		for b.look.n*10 <= mostN && b.op(10*b.look.n) <= each {
			b.look.n *= 10
		}
	}
	quickest := slices.Clone(r.benchmarks)
	slices.SortStableFunc(quickest, func(x, y *benchmark) int {
		return cmp.Compare(x.op(x.look.n).Round(countSlice), y.op(y.look.n).Round(countSlice))
	})
	for _, list := range together(quickest) {
		if err := r.countAll(ctx, list, exactSlices, until); err != nil {
			return err
		}
	}
	differ := slices.DeleteFunc(quickest, func(b *benchmark) bool { return !b.look.differs() })
	for _, b := range differ {
		b.look.blocks = nil
	}
	for _, slicesOf := range []int{exactSlices, sureSlices} {
		for _, b := range differ {
			if len(b.look.blocks) > 0 && !b.look.differs() {
				continue
			}
			if err := r.countAll(ctx, []*benchmark{b}, slicesOf, until); err != nil {
				return err
			}
		}
	}
	return nil
}

// op is about how long a number of iterations takes.
func (b *benchmark) op(n int) time.Duration {
	return time.Duration(min(float64(n)*b.perOp, float64(time.Hour)))
}

// together lists the benchmarks that can run in one process, in the order of the first of each.
func together(all []*benchmark) (lists [][]*benchmark) {
	type key struct {
		p        *pkg
		procs, n int
	}
	at := map[key]int{}
	for _, b := range all {
		k := key{b.pkg, b.procs, b.look.n}
		i, ok := at[k]
		if !ok || len(lists[i]) == mostTogether {
			i = len(lists)
			at[k], lists = i, append(lists, nil)
		}
		lists[i] = append(lists[i], b)
	}
	return lists
}

// countAll gives each side slices of a list of benchmarks, in random order, until each has the given
// number of them, or the time is over.
func (r *run) countAll(ctx context.Context, list []*benchmark, slicesOf int, until time.Time) error {
	for len(list[0].look.blocks) < slicesOf {
		// Of those that do not fit, the quicker ones are counted.
		left := time.Until(until)/2 - startTime
		fits := slices.IndexFunc(list, func(b *benchmark) bool {
			left -= runTime + b.op(b.look.n+1)
			return left < 0
		})
		if fits >= 0 {
			list = list[:fits]
		}
		if len(list) == 0 {
			return nil
		}
		var patterns []string
		expected := time.Duration(0)
		for _, b := range list {
			patterns = append(patterns, b.pattern())
			expected += b.op(b.look.n)
		}
		first, n := list[0], list[0].look.n
		blocks := make(map[string]*block, len(list))
		from := r.random.IntN(2)
		for _, side := range []int{from, 1 - from} {
			r.turn(0, fmt.Sprintf("counting the allocations of %s of %s", format.Plural(len(list), "benchmark"), first.pkg.path))
			b := first.pkg.sides[side]
			o, err := r.runJob(ctx, job{b.path, b.dir, strings.Join(patterns, "|"), first.procs, 1, fmt.Sprintf("%dx", n), expected, firstLimit + 20*expected, ""})
			if err != nil {
				return err
			}
			if o.late {
				return nil // its operations take longer the more there are
			}
			for _, x := range o.readings {
				if x.n != n {
					continue
				}
				if blocks[x.name] == nil {
					blocks[x.name] = &block{}
				}
				blocks[x.name][side] = map[string]float64{}
				for _, unit := range counted {
					if v, ok := x.values[unit]; ok {
						blocks[x.name][side][unit] = v
					}
				}
			}
		}
		done := list[:0:0]
		for _, b := range list {
			// What fails or has no result on a side, its first slices show.
			if x := blocks[b.name]; x != nil && x[0] != nil && x[1] != nil {
				b.look.blocks = append(b.look.blocks, *x)
				done = append(done, b)
			}
		}
		if list = done; len(list) == 0 {
			return nil
		}
	}
	return nil
}

// counted are the units that may be exact.
var counted = []string{Bytes, Allocs}

func (l *look) figures(unit string) (figures [2][]float64) {
	for _, x := range l.blocks {
		was, okA := x[0][unit]
		is, okB := x[1][unit]
		if okA && okB {
			figures[0], figures[1] = append(figures[0], was), append(figures[1], is)
		}
	}
	return figures
}

// differs reports whether the sides differ in a unit.
func (l *look) differs() bool {
	for _, unit := range counted {
		if f := l.figures(unit); len(f[0]) > 0 && compare.Median(f[0]) != compare.Median(f[1]) {
			return true
		}
	}
	return false
}

// exactIn reports whether allocations are exact, and returns the figures that show it: those of the
// slices that are timed or, if there are too few of them, those that the pilot counted.
func (b *benchmark) exactIn(unit string, timed [2][]float64) (figures [2][]float64, exact bool) {
	counted := b.look.figures(unit)
	known := isExact(unit, counted, b.look.n)
	if isExact(unit, timed, b.n) {
		if known && b.n < b.look.n && sign(counted) != sign(timed) {
			return counted, true // what only fewer iterations show is done once, not by each
		}
		// A few slices of each side of a figure that flips may differ by chance.
		chance := sign(timed) != 0 && len(timed[0]) < sureSlices && len(counted[0]) >= exactSlices
		return timed, !chance || known && sign(counted) == sign(timed)
	}
	if !known || b.n >= b.look.n && len(timed[0]) >= exactSlices {
		return timed, false
	}
	// A difference that more iterations do not show is one of what is done once, not of each.
	if len(timed[0]) > 0 && b.n > b.look.n && sign(timed) != sign(counted) {
		return timed, false
	}
	return counted, true
}

// sign is that of the difference of medians.
func sign(figures [2][]float64) int {
	return cmp.Compare(compare.Median(figures[1]), compare.Median(figures[0]))
}

// isExact reports whether figures of slices of n iterations are exact.
func isExact(unit string, figures [2][]float64, n int) bool {
	was, is := compare.Median(figures[0]), compare.Median(figures[1])
	if was == is {
		return repeats(figures[0], usual) && repeats(figures[1], usual)
	}
	if n < exactN || !repeats(figures[0], 1) || !repeats(figures[1], 1) {
		return false
	}
	// Of exactN iterations, what the runtime allocates now and then adds no whole allocation to each.
	sure := unit == Allocs || math.Abs(was-is) > 1+strayBytes/float64(n) // figures are cut to whole ones
	return sure || min(len(figures[0]), len(figures[1])) >= sureSlices
}

// isZero reports whether a unit that a benchmark reports is 0 in all slices of both sides, or in all of one and in
// none of the other: that has no ratio, and is exact. A figure that is 0 now and then needs more slices.
func isZero(figures [2][]float64) bool {
	least := min(len(figures[0]), len(figures[1]))
	zeros := [2]int{}
	for side := range figures {
		for _, x := range figures[side] {
			if x == 0 {
				zeros[side]++
			}
		}
	}
	all := [2]bool{zeros[0] == len(figures[0]), zeros[1] == len(figures[1])}
	if all[0] && all[1] {
		return least >= exactSlices
	}
	return least >= sureSlices && (all[0] && zeros[1] == 0 || all[1] && zeros[0] == 0)
}
