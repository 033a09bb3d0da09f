package gobench

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"dyno/lab/compare"
	"dyno/lab/report/format"
)

// benchmark is a benchmark of both sides with one value of GOMAXPROCS.
type benchmark struct {
	pkg   *pkg
	name  string
	procs int

	n        int           // iterations of a run, the same for both sides
	count    int           // runs of a slice, all in one process
	length   time.Duration // of a slice, with the start of its process
	perOp    float64       // about how long an iteration takes, in ns
	bytes    float64       // about what an iteration allocates
	own      bool          // it reports a time of its own as ns/op, or none: its runs are sized by the wall clock
	untimed  bool          // it reports no ns/op on either side
	single   bool          // it keeps one CPU busy: the fastest run counts, and its elapsed time is its CPU time
	busy     [2][]float64  // then the CPU time by elapsed time of each slice's process
	look     look          // allocations that the pilot counted
	failures int           // slices in a row that failed
	rounds   []round       // what was measured
	// suspects are the units of which the screen suspects a change, and which the next rounds confirm.
	suspects map[string]bool
	fresh    map[string]int // of a unit that became suspect after the screen, the number of the first round that counts

	state state    // of which metrics were read
	read  []metric // they
}

func (b *benchmark) confirming() bool { return len(b.suspects) > 0 }

func (b *benchmark) function() string {
	name, _, _ := strings.Cut(b.name, "/")
	return "Benchmark" + name
}

// pattern matches this benchmark alone.
func (b *benchmark) pattern() string {
	parts := strings.Split("Benchmark"+b.name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

const (
	// sliceTime is how long the iterations of a slice take: short enough for many turns, and ten times
	// what it takes to start a process.
	sliceTime = 100 * time.Millisecond
	// leastN is the number of iterations from which CPU time is read. With fewer, a slice would mostly
	// measure the start.
	leastN = 4
	// mostSlice bounds a slice for leastN: longer operations are measured one at a time.
	mostSlice = time.Second
	// pilotShare is the part of the budget that the pilot may take.
	pilotShare = 0.1
	// lookShare is the part of the budget that the first look at all benchmarks should take, if a
	// function is one benchmark.
	lookShare = 0.05
	// shortestLook and longestLook bound that at one benchmark on one side.
	shortestLook, longestLook = time.Millisecond, 10 * time.Millisecond
	// warmth is by how much the first run in a process must be slower to count as warm-up.
	warmth = 1.05
	// pilotCount is the number of runs in one process that show whether the first is slower.
	pilotCount = 4
)

// defaultProcs is the value of GOMAXPROCS that the runtime chose: the command may change its own.
var defaultProcs = runtime.GOMAXPROCS(0)

// pilot finds the benchmarks of both sides, and how to measure each.
func (r *run) pilot(ctx context.Context) error {
	procs := r.CPUs
	if len(procs) == 0 {
		procs = []int{defaultProcs}
	}
	look, cancel := context.WithDeadline(ctx, r.deadline)
	defer cancel()
	for _, p := range r.packages {
		if p.equal {
			continue
		}
		for _, n := range procs {
			if p.lost {
				break
			}
			if err := r.find(look, p, n); err != nil && ctx.Err() != nil {
				return err
			} else if err != nil && look.Err() == nil {
				return err
			}
		}
		if look.Err() != nil {
			r.skip(Unmeasured, p.path, "", "the first look at its benchmarks did not end within the budget%s", p.looking)
		}
	}
	const mostLook = 0.5 // of the budget
	if took := time.Since(r.began); took > time.Duration(mostLook*float64(r.Budget)) {
		r.warn("the first look at %s took %.0f s: give --budget %.0fs, or name fewer with --bench", format.Plural(len(r.benchmarks), "benchmark"), took.Seconds(), math.Ceil(took.Seconds()/pilotShare/10)*10)
	}
	for _, g := range r.Gates {
		if err := r.findUnit(look, g); err != nil && look.Err() == nil {
			return err
		}
	}
	slices.SortFunc(r.benchmarks, func(a, b *benchmark) int {
		return cmp.Or(cmp.Compare(a.pkg.path, b.pkg.path), cmp.Compare(a.name, b.name), a.procs-b.procs)
	})
	// The exact number of iterations and the warm-up are found if there is time for it.
	left := r.began.Add(time.Duration(pilotShare * float64(r.Budget)))
	each := 2 * pilotCount * sliceTime / 4
	for i, b := range r.benchmarks {
		if time.Until(left) < time.Duration(len(r.benchmarks)-i)*each {
			break
		}
		if time.Until(left) < 2*pilotCount*b.op(max(1, b.n/4)) {
			continue // its operations are long
		}
		if err := r.warmUp(ctx, b); err != nil {
			return err
		}
	}
	if err := r.count(look); err != nil && look.Err() == nil {
		return err
	}
	return ctx.Err()
}

// firstLook is for how long the pilot runs each benchmark to find its number of iterations: of many,
// shorter.
func (r *run) firstLook() time.Duration {
	functions := 0
	for _, p := range r.packages {
		if !p.equal {
			functions += len(p.functions[0]) + len(p.functions[1])
		}
	}
	each := time.Duration(lookShare * float64(r.Budget) / float64(max(1, functions*max(1, len(r.CPUs)))))
	return min(max(each, shortestLook), longestLook).Round(time.Millisecond)
}

// pattern matches the benchmarks that are asked for.
func (r *run) pattern() string {
	if r.Bench != nil {
		return r.Bench.String()
	}
	return "."
}

// find finds the benchmarks of a package that both sides have.
func (r *run) find(ctx context.Context, p *pkg, procs int) error {
	var seen [2]map[string]reading
	slow := map[string]bool{}
	var failed [2]error
	var skips [2][]string
	for side := range p.sides {
		seen[side] = map[string]reading{}
		o, err := r.lookAt(ctx, p, side, procs, r.pattern(), slow)
		if err != nil {
			return err
		}
		if p.lost {
			return nil // neither side can be measured
		}
		failed[side] = o.err
		for unit, better := range o.units {
			r.units[unit] = better
		}
		for _, x := range o.readings {
			seen[side][x.name] = x
			for unit := range x.values {
				r.reported[unit] = true
			}
		}
		skips[side] = o.skipped
		for _, name := range o.failed {
			delete(seen[side], name)
			why := "it fails"
			if o.err != nil && strings.HasPrefix(o.err.Error(), "Benchmark"+name+" ") {
				why = o.err.Error()
			}
			if !p.has(1-side, name) {
				r.skip(onlyOn[side], p.path, name, "only %s has it: %s", r.Sides[side].Title, why)
				continue
			}
			r.skipFailed(side, p.path, name, why)
		}
		if len(o.failed) > 0 && o.err != nil && !strings.Contains(o.err.Error(), endsBy) {
			failed[side] = nil // each of them has its own line, and all others ran
		}
	}
	for _, names := range seen {
		maps.DeleteFunc(names, func(name string, _ reading) bool { return isSlow(slow, name) })
	}
	for side, names := range seen {
		if failed[side] != nil {
			r.skipFailed(side, p.path, "", failed[side].Error())
		}
		for name := range names {
			title := r.Sides[1-side].Title
			switch _, ok := seen[1-side][name]; {
			case ok || r.fails(1-side, p.path, name):
			case slices.Contains(skips[1-side], name):
				r.skip(onlyOn[side], p.path, name, "it skips itself on %s", title)
			case failed[1-side] == nil:
				r.skip(onlyOn[side], p.path, name, "only %s has it; --tests-from takes the tests of one side for both", r.Sides[side].Title)
			case !p.has(1-side, name):
				r.skip(onlyOn[side], p.path, name, "only %s has it, and other benchmarks fail on %s", r.Sides[side].Title, title)
			default:
				r.skip(failsOn[1-side], p.path, name, "%s ends before it has a result", title)
			}
		}
		if side == 0 {
			for _, name := range skips[0] {
				if slices.Contains(skips[1], name) {
					r.skip(Skips, p.path, name, "it skips itself on both sides")
				}
			}
		}
	}
	for name, a := range seen[0] {
		b, ok := seen[1][name]
		x := &benchmark{pkg: p, name: name, procs: procs, count: 1}
		switch {
		case !ok:
		case p.switched[x.function()]:
			r.skip(Unlike, p.path, name, "one side loops by b.N and the other by b.Loop, which measure differently: --tests-from b uses the tests of B for both")
		default:
			x.bytes = max(a.values[Bytes], b.values[Bytes])
			x.untimed = !(a.values[Time] > 0) && !(b.values[Time] > 0)
			times := [2]float64{a.values[Time], b.values[Time]}
			if x.own = r.overrides(a) || r.overrides(b); x.own {
				var err error
				if times, err = r.byWall(ctx, x, [2]reading{a, b}); err != nil {
					return err
				}
			}
			x.size(between(times[0], times[1]), max(10*time.Millisecond, p.start))
			r.benchmarks = append(r.benchmarks, x)
		}
	}
	return nil
}

// fails reports whether a benchmark is known to fail on a side.
func (r *run) fails(side int, path, name string) bool {
	return slices.ContainsFunc(r.skipped, func(s Skipped) bool {
		return s.Package == path && s.Name == name && (s.Cause == failsOn[side] || s.Cause == FailsOnBoth)
	})
}

// size sets the number of iterations of a slice. start is the time to start the process.
func (b *benchmark) size(nsPerOp float64, start time.Duration) {
	const most = 1e9 // the testing package runs no more
	b.perOp = nsPerOp
	// A process that starts slowly is worth a longer slice.
	want := float64(min(max(sliceTime, start), mostSlice))
	b.n = int(min(max(want/nsPerOp, 1), most))
	if b.n < leastN && leastN*nsPerOp <= float64(mostSlice) {
		b.n = leastN
	} else if b.n < leastN {
		b.n = 1
	}
	b.length = start + time.Duration(float64(b.count)*float64(b.n)*nsPerOp)
}

// warmUp runs a benchmark several times in one process of each side, and finds the number of
// iterations, and whether the first run is slower than those that follow.
func (r *run) warmUp(ctx context.Context, b *benchmark) error {
	if b.own {
		return nil // what it reports does not show how long a run takes
	}
	n := max(1, b.n/4)
	cold, levels, fastest, start, single := 0, [2]float64{}, [2]float64{}, time.Duration(0), true
	for i, side := range b.pkg.sides {
		r.turn(0, "trying "+b.title())
		o, err := r.runJob(ctx, job{side.path, side.dir, b.pattern(), b.procs, pilotCount, fmt.Sprintf("%dx", n), pilotCount * b.length, b.firstLimit(), ""})
		if err != nil {
			return err
		}
		if o.late {
			if b.n > leastN {
				b.fewer()
			}
			return nil
		}
		var times []float64
		for _, x := range o.readings {
			if x.name == b.name && x.values[Time] > 0 {
				times = append(times, x.values[Time])
			}
		}
		if o.err != nil || len(times) != pilotCount {
			return nil // the first turns show why
		}
		if times[0] > warmth*slices.Max(times[1:]) {
			cold++
		}
		levels[i], fastest[i] = compare.Median(times[1:]), slices.Min(times)
		worked := 0.0
		for _, t := range times {
			worked += t * float64(n)
		}
		start = max(start, o.wall-time.Duration(worked))
		busy := float64(o.cpu) / float64(max(1, o.wall))
		single = single && leastBusy <= busy && busy <= mostBusy
	}
	if cold == len(b.pkg.sides) {
		b.count = 2
	}
	b.size(between(levels[0], levels[1]), max(0, start))
	if !single {
		return nil
	}
	return r.divide(ctx, b, fastest, max(0, start))
}

// between is the time of an iteration for which slices are sized, of those of both sides: in the middle,
// but so that the slices of the slower one are not several times as long as they should be.
func between(a, b float64) float64 {
	const longest = 4 // times sliceTime
	return max(math.Sqrt(a*b), max(a, b)/longest)
}

func (b *benchmark) title() string {
	path := b.pkg.path
	return path[strings.LastIndexByte(path, '/')+1:] + "." + bareSuffix(b.name, b.procs)
}

// bareSuffix adds the value of GOMAXPROCS to a name, as the testing package does.
func bareSuffix(name string, procs int) string {
	if procs == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, procs)
}

func (r *run) turn(generation int, text string) {
	if r.Turn != nil {
		r.Turn(generation, text, max(0, time.Until(r.deadline)))
	}
}
