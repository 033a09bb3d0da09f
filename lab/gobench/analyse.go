package gobench

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"dyno/lab/compare"

	"gonum.org/v1/gonum/stat"
)

// exactSlices is the number of slices of each side, all with the same figure, after which allocations
// count as exact.
const exactSlices = 3

const (
	// sureSlices is the number of slices of each side after which any difference of repeated figures
	// counts. Where a figure flips between two values, three slices of each differ now and then by
	// chance, of equal code.
	sureSlices = 8
	// exactN is the least number of iterations of which a difference is exact: with fewer, what the
	// runtime allocates for itself shows in the figures.
	exactN = 100
	// strayBytes is what the runtime may allocate for itself in one slice.
	strayBytes = 64 << 10
)

// metric is a unit of a benchmark, and what was measured of it.
type metric struct {
	unit   string
	better int
	was    float64 // median of A
	is     float64 // median of B
	exact  bool    // both sides repeat their figure
	timed  bool    // in slices that were timed
	counts bool    // it is B/op or allocs/op
	pairs  [][2]float64
	// The samples of the screen, those of fresh layouts that confirm a suspicion, and all of them.
	screen, confirm, all compare.Samples
}

// order is the order of units in reports; others follow.
var order = []string{Time, CPU, Bytes, Allocs}

// slicesOf are the figures of the slices of rounds, by unit.
func slicesOf(rounds []round) iter.Seq[map[string]float64] {
	return func(yield func(map[string]float64) bool) {
		for _, x := range rounds {
			for _, block := range x.blocks {
				if !yield(block[0]) || !yield(block[1]) {
					return
				}
			}
		}
	}
}

// units lists the units that every slice of a benchmark reports, and those that only some do.
func (b *benchmark) units() (all, some []string) {
	rounds := b.rounds
	if len(rounds) == 0 {
		rounds = []round{{blocks: b.look.blocks}} // what is known without a generation
	}
	seen, slicesSeen := map[string]int{}, 0
	for figures := range slicesOf(rounds) {
		slicesSeen++
		for unit := range figures {
			seen[unit]++
		}
	}
	for unit, n := range seen {
		// CPU time may be missing from a slice that used less than its start did.
		if n == slicesSeen || unit == CPU && n > slicesSeen/2 {
			all = append(all, unit)
		} else {
			some = append(some, unit)
		}
	}
	place := func(unit string) int { return (slices.Index(order, unit) + len(order) + 1) % (len(order) + 1) } // others are last
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(place(a)-place(b), cmp.Compare(a, b)) })
	slices.Sort(some)
	return all, some
}

// state is what the metrics of a benchmark depend on.
type state struct{ rounds, counted, suspects, units, n int }

// metrics reads what was measured of a benchmark. The result is that of the last call until something
// changes: the choice of what to measure asks often.
func (r *run) metrics(b *benchmark) []metric {
	now := state{len(b.rounds), len(b.look.blocks), len(b.suspects), len(r.units), b.n}
	if b.read == nil || b.state != now {
		b.state, b.read = now, []metric{}
		units, _ := b.units()
		for _, unit := range units {
			// Without a generation, there are only the allocations that the pilot counted.
			if m := r.metric(b, unit); m.exact || len(b.rounds) > 0 {
				b.read = append(b.read, m)
			}
		}
	}
	return b.read
}

func (r *run) metric(b *benchmark, unit string) metric {
	better, known := standard[unit]
	if !known {
		better = r.units[unit]
	}
	m := metric{unit: unit, better: better}
	empty := compare.Samples{Metric: unit, Better: better, A: r.Sides[0].Title, B: r.Sides[1].Title, Each: b.cost()}
	m.screen, m.confirm, m.all = empty, empty, empty
	counts := unit == Allocs || unit == Bytes
	shift := 0.0
	if counts && b.hasZero(unit) {
		shift = 1 // 0 has no ratio
	}
	var figures [2][]float64
	for number, x := range b.rounds {
		var logs []float64
		var own [2][]float64
		for _, block := range x.blocks {
			was, okA := block[0][unit]
			is, okB := block[1][unit]
			if !okA || !okB {
				continue
			}
			own[0], own[1] = append(own[0], was), append(own[1], is)
			if was+shift > 0 && is+shift > 0 {
				logs = append(logs, math.Log((is+shift)/(was+shift)))
			}
		}
		for side := range figures {
			figures[side] = append(figures[side], own[side]...)
		}
		if len(own[0]) == 0 {
			continue
		}
		level := compare.Median
		if b.fastest(unit) {
			level = slices.Min[[]float64]
		}
		pair := [2]float64{level(own[0]), level(own[1])}
		m.pairs = append(m.pairs, pair)
		if len(logs) == 0 {
			continue
		}
		sample := compare.Median(logs)
		if b.fastest(unit) && pair[0] > 0 && pair[1] > 0 {
			sample = math.Log(pair[1] / pair[0])
		}
		m.all.Logs = append(m.all.Logs, sample)
		if x.confirms && number >= b.fresh[unit] {
			m.confirm.Logs = append(m.confirm.Logs, sample)
		} else {
			m.screen.Logs = append(m.screen.Logs, sample)
		}
	}
	if m.counts = counts; counts {
		m.timed = isExact(unit, figures, b.n)
		figures, m.exact = b.exactIn(unit, figures)
	} else if !known && isZero(figures) {
		m.timed, m.exact = true, true
	}
	m.was, m.is = compare.Median(figures[0]), compare.Median(figures[1])
	if m.exact {
		if len(m.pairs) == 0 {
			for i, was := range figures[0] {
				m.pairs = append(m.pairs, [2]float64{was, figures[1][i]})
			}
		}
		return m
	}
	// A, B and their ratio are of the same generations.
	samples := m.shown(b.suspects[unit])
	m.pairs = m.pairs[max(0, len(m.pairs)-len(samples.Logs)):]
	if positive := !slices.ContainsFunc(m.pairs, func(p [2]float64) bool { return p[0] <= 0 || p[1] <= 0 }); positive && len(m.pairs) > 0 && shift == 0 {
		var was []float64
		for _, p := range m.pairs {
			was = append(was, p[0])
		}
		m.was = stat.GeometricMean(was, nil)
		m.is = m.was * math.Exp(stat.Mean(samples.Logs, nil))
	}
	return m
}

// shown are the samples of which the ratio is: those that decide, if there are any.
func (m *metric) shown(suspected bool) compare.Samples {
	if samples, _ := m.deciding(suspected, 1); len(samples.Logs) > 0 {
		return samples
	}
	return m.screen
}

// deciding are the samples that decide a unit, and among how many: fresh ones if it is suspected.
func (m *metric) deciding(suspected bool, among int) (compare.Samples, int) {
	if suspected {
		return m.confirm, max(1, among)
	}
	return m.all, 1
}

// hasty reports whether samples of allocations are all the same and too few: they have no scatter by
// which an interval could say how sure they are.
func (m *metric) hasty(s compare.Samples) bool {
	return m.counts && len(s.Logs) < sureSlices && len(s.Logs) > 0 && s.Logs[0] != 0 && slices.Min(s.Logs) == slices.Max(s.Logs)
}

// usual is the share of slices that must have one figure if it is that of the other side, too. The
// runtime allocates now and then for itself; a difference must show in all slices.
const usual = 0.8

// repeats reports whether at least a share of the figures is that of the middle.
func repeats(figures []float64, share float64) bool {
	middle, same := compare.Median(figures), 0
	for _, x := range figures {
		if x == middle {
			same++
		}
	}
	return len(figures) >= exactSlices && float64(same) >= share*float64(len(figures))
}

func (b *benchmark) hasZero(unit string) bool {
	for figures := range slicesOf(b.rounds) {
		if v, ok := figures[unit]; ok && v == 0 {
			return true
		}
	}
	return false
}

// settled reports whether a benchmark needs no further turns: it was timed, and everything is decided,
// also for the gates.
func (r *run) settled(b *benchmark) bool {
	metrics := r.metrics(b)
	for _, m := range metrics {
		samples, among := m.all, 1
		switch {
		case m.exact:
			continue
		case b.suspects[m.unit]:
			samples, among = m.confirm, r.suspected
		case b.confirming() && b.fresh == nil:
			continue // its other units are measured along; what became suspect after the screen does not end their time
		}
		if m.hasty(samples) || !samples.Decided(among) {
			return false
		}
		for _, g := range r.Gates {
			if g.Metric == m.unit && g.Check(samples.Compare(among)).Verdict == compare.Undecided {
				return false
			}
		}
	}
	return len(b.rounds) > 0
}

func (r *run) compareAll(metrics map[*benchmark][]metric) map[*benchmark][]compare.Comparison {
	out := map[*benchmark][]compare.Comparison{}
	var suspects []compare.Samples
	var into []*compare.Comparison
	for _, b := range r.benchmarks {
		out[b] = make([]compare.Comparison, len(metrics[b]))
		for i, m := range metrics[b] {
			c := &out[b][i]
			switch {
			case m.exact:
				*c = compare.Exact(m.unit, m.better, r.Sides[0].Title, r.Sides[1].Title, m.was, m.is)
			case b.same(m.unit):
			case b.suspects[m.unit] && len(m.confirm.Logs) >= compare.MinSamples && !m.hasty(m.confirm):
				suspects, into = append(suspects, m.confirm), append(into, c)
			case b.suspects[m.unit]:
				suspects, into = append(suspects, m.confirm), append(into, new(compare.Comparison)) // it counts for the others
				shown := m.shown(true)
				*c = unconfirmed(shown.Compare(1))
				if len(c.Warnings) == 0 {
					c.Warnings = append(c.Warnings, notConfirmed)
				}
				c.Interval = nil // of too few samples, or of those that were chosen for their difference
				c.Verdict = compare.NotDecided
			default:
				*c = unconfirmed(m.all.Compare(1))
			}
			if m.unit == Time || m.unit == CPU {
				c.NoiseFloor = floor(m.pairs)
			}
		}
	}
	for i, c := range compare.Holm(suspects) {
		c.NoiseFloor = into[i].NoiseFloor
		*into[i] = c
	}
	alsoCPU(metrics, out)
	return out
}

// notConfirmed is why what the screen suspects is not decided.
const notConfirmed = "it seems to differ, and the time did not suffice to confirm it with fresh layouts"

// unconfirmed is a comparison that no fresh samples have confirmed: it may show that the sides are
// equal, but not that they differ.
func unconfirmed(c compare.Comparison) compare.Comparison {
	if differs(c) {
		c.Verdict = compare.NotDecided
		c.Warnings = append(c.Warnings, notConfirmed)
	}
	return c
}

// differs reports whether a comparison calls the sides different.
func differs(c compare.Comparison) bool {
	return slices.Contains([]string{compare.Faster, compare.Slower, compare.Changed}, c.Verdict)
}

// floor compares A with itself: each of its odd layouts with the even one that follows.
func floor(pairs [][2]float64) *[2]float64 {
	var logs []float64
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i][0] > 0 && pairs[i+1][0] > 0 {
			logs = append(logs, math.Log(pairs[i+1][0]/pairs[i][0]))
		}
	}
	return compare.Samples{Logs: logs}.Compare(1).Interval
}

// Scatter is what moves a benchmark besides its code.
type Scatter struct {
	// Layout is by how much the layout alone moves elapsed time, as a standard deviation relative to it.
	Layout float64 `json:"layout"`
	Slice  float64 `json:"slice"` // by how much slices of one layout differ
	Share  float64 `json:"share"` // of the variance of a slice that is the layout's
}

// scatter separates what differs from generation to generation from what differs within one
// (analysis of variance of one factor, at random). Nil: too few generations have several blocks.
// Both sides contribute to a ratio, so that each has half of its variance.
func scatter(b *benchmark) *Scatter {
	const least = 3 // generations
	var means, within, sizes []float64
	total, freedom := 0.0, 0.0
	for _, x := range b.rounds {
		var logs []float64
		for _, block := range x.blocks {
			if was, is := block[0][Time], block[1][Time]; was > 0 && is > 0 {
				logs = append(logs, math.Log(is/was))
			}
		}
		if len(logs) == 0 {
			continue
		}
		n := float64(len(logs))
		means, sizes = append(means, stat.Mean(logs, nil)), append(sizes, n)
		total += n
		if n > 1 {
			within = append(within, stat.Variance(logs, nil)*(n-1))
			freedom += n - 1
		}
	}
	if len(within) < least {
		return nil
	}
	inside := 0.0
	for _, s := range within {
		inside += s / freedom
	}
	groups := float64(len(means))
	mean, between, squares := stat.Mean(means, sizes), 0.0, 0.0
	for i, m := range means {
		between += sizes[i] * (m - mean) * (m - mean) / (groups - 1)
		squares += sizes[i] * sizes[i]
	}
	size := (total - squares/total) / (groups - 1)
	layout := max(0, (between-inside)/size)
	s := &Scatter{Layout: math.Sqrt(layout / 2), Slice: math.Sqrt(inside / 2)}
	if layout+inside > 0 {
		s.Share = layout / (layout + inside)
	}
	return s
}
