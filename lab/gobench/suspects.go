package gobench

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"dyno/lab/compare"

	"gonum.org/v1/gonum/stat"
)

// suspectAll has all units confirmed from the first generation on.
func (r *run) suspectAll() {
	for _, b := range r.benchmarks {
		b.suspects = r.reported
		for unit := range r.reported {
			if !b.same(unit) {
				r.suspected++
			}
		}
	}
}

// dropped reports whether fresh samples show nothing of what is suspected of a benchmark, so that the
// time is better spent on the others.
func (r *run) dropped(b *benchmark) bool {
	for _, m := range r.metrics(b) {
		if b.suspects[m.unit] && !m.exact && (len(m.confirm.Logs) < leastConfirm || m.confirm.P() < suspicion) {
			return false
		}
	}
	return b.confirming()
}

// suspect chooses what to confirm: of the benchmarks that seem to differ, the surest ones, as many
// as the time suffices for.
func (r *run) suspect() {
	type suspect struct {
		b     *benchmark
		p     float64
		units map[string]bool
	}
	var all []suspect
	for _, b := range r.benchmarks {
		s := suspect{b, 1, map[string]bool{}}
		for _, m := range r.metrics(b) {
			if p := doubt(m.screen); !m.exact && p < suspicion {
				s.p, s.units[m.unit] = min(s.p, p), true
			}
		}
		if len(s.units) > 0 {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(x, y suspect) int { return cmp.Compare(x.p, y.p) })
	left := time.Until(r.deadline)
	for i, s := range all {
		if left -= leastConfirm * s.b.cost(); left < 0 && i > 0 {
			break
		}
		s.b.suspects = s.units
		for unit := range s.units {
			if !s.b.same(unit) {
				r.suspected++
			}
		}
	}
}

// suspectLater adds what only the samples after the screen show to differ, as far as the time suffices to confirm it
// with fresh ones. It is chosen by samples that do not count for it, so that false alarms are as rare as before.
func (r *run) suspectLater() {
	left := time.Until(r.deadline)
	for _, b := range r.benchmarks {
		if b.confirming() && !r.settled(b) && !r.dropped(b) {
			left -= leastConfirm * b.cost()
		}
	}
	for _, b := range r.benchmarks {
		var units []string
		for _, m := range r.metrics(b) {
			if !m.exact && !b.suspects[m.unit] && !b.same(m.unit) && !m.hasty(m.all) && m.all.Decided(1) && differs(m.all.Compare(1)) {
				units = append(units, m.unit)
			}
		}
		if len(units) == 0 || b.pkg.broken != "" || b.failures >= mostFailures {
			continue
		}
		if left -= leastConfirm * b.cost(); left < 0 {
			return
		}
		b.suspects = maps.Clone(b.suspects) // it may be that of others
		for _, unit := range units {
			b.suspectFrom(unit, len(b.rounds))
			r.suspected++
		}
	}
}

// suspectFrom has a unit confirmed by the generations from a number on.
func (b *benchmark) suspectFrom(unit string, round int) {
	if b.suspects == nil {
		b.suspects = map[string]bool{}
	}
	if b.fresh == nil {
		b.fresh = map[string]int{}
	}
	b.suspects[unit], b.fresh[unit] = true, round
}

// large is a difference, as a logarithm, that is suspicious although there were too few samples for
// a p-value: of hundreds of benchmarks, each has one or two in the time of a screen.
var large = math.Log(1.1)

// doubt is how suspicious the samples of a screen are, as a p-value.
func doubt(s compare.Samples) float64 {
	p := s.P()
	if n := len(s.Logs); n > 0 && n < compare.MinSamples {
		if size := math.Abs(stat.Mean(s.Logs, nil)); size > large {
			p = min(p, suspicion*large/size)
		}
	}
	return p
}
