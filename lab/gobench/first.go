package gobench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// slowShare is the part of the budget that a benchmark may take in the first look: of one that takes longer, the
// time does not suffice for the generations that an interval needs.
const slowShare = 0.1

// mostPattern bounds a pattern, in bytes: it is one argument, which Linux bounds at 128 KiB.
const mostPattern = 100 << 10

// lookAt runs each benchmark of a package once on a side. One that takes too long is skipped by its name, and added to
// slow, and the others run in another process.
func (r *run) lookAt(ctx context.Context, p *pkg, side, procs int, pattern string, slow map[string]bool) (all outcome, err error) {
	b := p.sides[side]
	limit := max(time.Duration(slowShare*float64(r.Budget)), firstLimit)
	done := maps.Clone(slow)
	all.units = map[string]int{}
	for {
		r.turn(0, "trying "+p.path)
		o, err := r.runJob(ctx, job{b.path, b.dir, pattern, procs, 1, r.firstLook().String(), 0, limit, patternOf(done)})
		if err != nil {
			if o.last != "" {
				p.looking = ": Benchmark" + o.last + " ran last"
			}
			return all, err
		}
		known := len(done)
		for _, x := range o.readings {
			done[x.name] = true
		}
		for _, name := range slices.Concat(o.failed, o.skipped) {
			done[name] = true
		}
		all.readings, all.failed, all.skipped = append(all.readings, o.readings...), append(all.failed, o.failed...), append(all.skipped, o.skipped...)
		maps.Copy(all.units, o.units)
		all.err = o.err
		switch {
		case !o.late, len(patternOf(done)) > mostPattern:
			return all, nil
		case len(done) > known: // the one that ran last has a process of its own from now on
		case o.last == "" || done[o.last]:
			return all, nil
		default:
			done[o.last], slow[o.last] = true, true
			r.skip(Unmeasured, p.path, o.last, "%s: it does not end within %v, a tenth of the budget or %v: leave it out by naming others with --bench, or give it a --budget of more than ten times as long as one operation takes",
				r.Sides[side].Title, limit.Round(time.Second), firstLimit)
		}
	}
}

// overrides reports whether a reading of the first look has another time than the testing package measured, by which
// it chose the iterations; or none.
func (r *run) overrides(x reading) bool {
	const most = 1e9 // the testing package runs no more, however long they take
	return x.n < most && x.values[Time]*float64(x.n) < float64(r.firstLook())/2
}

// byWall finds how long an iteration takes on each side, by how much longer a process takes with about a slice of them
// than with one.
func (r *run) byWall(ctx context.Context, b *benchmark, seen [2]reading) (perOp [2]float64, err error) {
	r.turn(0, "trying "+b.title())
	for side, of := range b.pkg.sides {
		var took [2]time.Duration
		least := float64(r.firstLook()) / float64(seen[side].n)
		if time.Since(r.began) > time.Duration(pilotShare*float64(r.Budget)) {
			perOp[side] = least // there are many: the first slices show whether it is longer
			continue
		}
		n := leastN
		if seen[side].n > 1 { // which took as long as the first look
			n = max(n, int(float64(seen[side].n)*float64(sliceTime)/float64(r.firstLook())))
		}
		for i, n := range []int{1, n} {
			began := time.Now()
			o, err := r.runJob(ctx, job{of.path, of.dir, b.pattern(), b.procs, 1, fmt.Sprintf("%dx", n), 0, firstLimit, ""})
			if err != nil {
				return perOp, err
			}
			if took[i] = time.Since(began); o.late && i == 0 {
				break
			}
		}
		perOp[side] = float64(took[1]-took[0]) / float64(n)
		if perOp[side] < least/2 { // others used the core in the first
			perOp[side] = max(least, float64(took[0])/float64(n))
		}
		if took[1] == 0 {
			perOp[side] = float64(took[0])
		}
	}
	return perOp, nil
}

// patternOf matches the benchmarks of a set; empty: none.
func patternOf(names map[string]bool) string {
	var patterns []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		patterns = append(patterns, (&benchmark{name: name}).pattern())
	}
	return strings.Join(patterns, "|")
}

// isSlow reports whether a benchmark, or one that it is part of, is slow.
func isSlow(slow map[string]bool, name string) bool {
	for above := range slow {
		if name == above || strings.HasPrefix(name, above+"/") {
			return true
		}
	}
	return false
}
