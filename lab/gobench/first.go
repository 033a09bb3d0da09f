package gobench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dyno/lab/compare"
)

// slowShare is the part of the budget that a benchmark may take in the first look: of one that takes longer, the
// time does not suffice for the generations that an interval needs.
const slowShare = 0.1

// mostPattern bounds a pattern, in bytes: it is one argument, which Linux bounds at 128 KiB.
const mostPattern = 100 << 10

// lookAt runs each benchmark of a package once on a side. One that takes too long is skipped by its name, and added to
// slow, and the others run in another process. A process of which no benchmark can be named runs once more and longer:
// what it sets up takes long. If that does not suffice, the package is lost.
func (r *run) lookAt(ctx context.Context, p *pkg, side, procs int, pattern string, slow map[string]bool) (all outcome, err error) {
	b := p.sides[side]
	done := maps.Clone(slow)
	all.units = map[string]int{}
	for {
		limit := r.lookLimit()
		if p.patient {
			limit = max(limit, time.Until(r.deadline)/2)
		}
		r.turn(0, "trying "+p.path)
		o, err := r.runJob(ctx, job{b.path, b.dir, pattern, procs, 1, r.firstLook().String(), 0, limit, patternOf(done)})
		if err != nil {
			if o.last != "" {
				p.looking = ": Benchmark" + o.last + " ran last"
			}
			return all, err
		}
		now := maps.Clone(done)
		for _, x := range o.readings {
			now[x.name] = true
		}
		for _, name := range slices.Concat(o.failed, o.skipped) {
			now[name] = true
		}
		unnamed := len(now) == len(done) && (o.last == "" || done[o.last])
		switch tooMany := len(patternOf(now)) > mostPattern; {
		case o.late && (unnamed || tooMany) && p.patient:
			r.skip(Unmeasured, p.path, "", "%s: a process of its benchmarks does not end within %v, and none of them can be named as the reason: give more with --budget, or leave the package out", r.Sides[side].Title, limit.Round(time.Second))
			p.lost = true
			return all, nil
		case o.late && (unnamed || tooMany):
			p.patient = true
			continue // without what this process found
		}
		known := len(done)
		done = now
		all.readings, all.failed, all.skipped = append(all.readings, o.readings...), append(all.failed, o.failed...), append(all.skipped, o.skipped...)
		maps.Copy(all.units, o.units)
		all.err = o.err
		switch {
		case !o.late:
			if p.patient {
				p.start = max(p.start, o.wall)
			}
			return all, nil
		case len(done) > known: // the one that ran last has a process of its own from now on
		default:
			done[o.last], slow[o.last] = true, true
			r.skip(Unmeasured, p.path, o.last, "%s: it does not end within %v: leave it out by naming others with --bench, or give it a --budget of more than ten times as long as one operation takes",
				r.Sides[side].Title, limit.Round(time.Second))
		}
	}
}

// lookLimit is how long a process of the first look may take.
func (r *run) lookLimit() time.Duration {
	return max(time.Duration(slowShare*float64(r.Budget)), firstLimit)
}

// findUnit returns an error if no benchmark reports the unit of a gate. Of the packages of which both sides build the
// same binary, each benchmark runs once to see what it reports; what that does not show is a warning.
func (r *run) findUnit(ctx context.Context, g compare.Gate) error {
	equal := r.equalPackages()
	if _, known := standard[g.Metric]; r.reported[g.Metric] || known && len(equal) > 0 || len(r.benchmarks)+len(equal) == 0 {
		return nil
	}
	units, sure := maps.Clone(r.reported), len(equal) == 0 || len(r.skipped) == 0
	end := time.Now().Add(r.lookLimit())
	for _, p := range equal {
		left := time.Until(end)
		if left <= 0 {
			sure = false
			break
		}
		r.turn(0, "looking for "+g.Metric+" in "+p.path)
		b := p.sides[1]
		o, err := r.runJob(ctx, job{b.path, b.dir, r.pattern(), defaultProcs, 1, "1x", 0, left, ""})
		if err != nil {
			return err
		}
		for _, x := range o.readings {
			for unit := range x.values {
				units[unit] = true
			}
		}
		if units[g.Metric] {
			return nil
		}
		sure = sure && o.err == nil && len(o.skipped) == 0
	}
	there := strings.Join(slices.Sorted(maps.Keys(units)), ", ")
	if sure {
		return fmt.Errorf("gate %s: %w %s; there are %s", g, ErrUnit, g.Metric, there)
	}
	r.warn("gate %s: %v %s, as far as the first look shows; there are %s", g, ErrUnit, g.Metric, there)
	return nil
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
