package gobench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dyno/lab/compare"
	"dyno/lab/report/format"
)

// lacks reports whether a unit is missing from a benchmark: every benchmark has the standard ones,
// but for ns/op where it leaves that out, and others must not vanish from some slices.
func (b *Benchmark) lacks(unit string) bool {
	_, ok := standard[unit]
	return ok && !(unit == Time && b.untimed) || slices.Contains(b.Missing, unit)
}

// check applies a gate to every benchmark that reports its unit. It passes if all pass, and fails if
// one fails, or fails to run on B alone. What else has no figure leaves it undecided, but for what
// only B has. Packages that are equal pass.
func (r *Result) check(g compare.Gate) Gated {
	out := Gated{Outcome: compare.Outcome{Gate: g.String(), Verdict: compare.Undecided}}
	count, checked := map[string]int{}, 0
	worse := func(name string, o compare.Outcome) {
		if out.Worst == "" || gateRank(o.Verdict) < gateRank(out.Verdict) {
			out.Worst, out.Verdict, out.Text = name, o.Verdict, o.Text
		}
	}
	without := 0
	missing := func(name, verdict, why string) {
		without++
		count[verdict]++
		worse(name, compare.Outcome{Verdict: verdict, Text: verdict + ": " + why})
	}
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		m := b.Metric(g.Metric)
		if m == nil {
			if b.lacks(g.Metric) {
				missing(b.Title(), compare.Undecided, "it has no figure of "+g.Metric)
			}
			continue
		}
		o := g.Check(m.Comparison)
		if o.Verdict == compare.Fail && m.Comparison.Verdict == compare.NotDecided {
			o.Verdict, o.Text = compare.Undecided, "undecided: "+strings.TrimPrefix(o.Text, "fail: ")+", but the time did not suffice to confirm it with fresh layouts"
		}
		checked++
		count[o.Verdict]++
		worse(b.Title(), o)
	}
	for _, s := range r.Skipped {
		switch s.Cause {
		case FailsOnB:
			missing(s.what(), compare.Fail, s.Why)
		case FailsOnA, FailsOnBoth, OnlyA, Unlike, Unmeasured:
			missing(s.what(), compare.Undecided, s.Why)
		}
	}
	of := fmt.Sprintf("of %d benchmarks", checked+without)
	switch {
	case checked == 0 && without == 0 && len(r.Benchmarks) == 0 && len(r.Equal) > 0:
		out.Verdict, out.Text = compare.Pass, fmt.Sprintf("pass: both sides build the same test binaries (%s)", g)
	case checked == 0 && without == 0 && len(r.Equal) > 0:
		out.Verdict, out.Text = compare.Pass, fmt.Sprintf("pass: no benchmark that was measured reports %s, and both sides build the same test binaries of %s", g.Metric, format.Plural(len(r.Equal), "package"))
	case checked == 0 && without == 0 && len(r.Benchmarks) == 0 && r.Valid:
		out.Verdict, out.Text = compare.Pass, fmt.Sprintf("pass: only %s has the benchmarks that match (%s)", r.B, g)
	case checked == 0 && without == 0:
		out.Text = fmt.Sprintf("undecided: no benchmark reports %s", g.Metric)
	case out.Verdict == compare.Pass:
		out.Text = fmt.Sprintf("pass: %s holds for %d %s", g, count[compare.Pass], of)
	default:
		_, why, _ := strings.Cut(out.Text, ": ")
		text := fmt.Sprintf("%s: %s: %d %s fail and %d are undecided", out.Verdict, g, count[compare.Fail], of, count[compare.Undecided])
		if without > 0 {
			text += fmt.Sprintf(", %d without a figure", without)
		}
		out.Text = fmt.Sprintf("%s; %s: %s", text, out.Worst, why)
	}
	return out
}

func gateRank(verdict string) int {
	return slices.Index([]string{compare.Fail, compare.Undecided, compare.Pass}, verdict)
}

// Passes reports whether all gates passed.
func (r *Result) Passes() bool {
	return !slices.ContainsFunc(r.Gates, func(g Gated) bool { return g.Verdict != compare.Pass })
}

// inside reports whether the screen has shown that a benchmark satisfies every gate, so that the time
// is better spent on the others. What is suspected, fresh samples decide. It is shown by interim
// analyses, and no benchmark is called faster or slower because of it.
func (r *run) inside(b *benchmark) bool {
	if len(r.Gates) == 0 || b.confirming() || len(b.rounds) == 0 {
		return false
	}
	for _, m := range r.metrics(b) {
		for _, g := range r.Gates {
			if g.Metric == m.unit && !m.exact && (m.hasty(m.all) || !m.all.Holds(g)) {
				return false
			}
		}
	}
	return true
}

// need estimates the time that would decide a gate for a benchmark, 0 if it is decided; false: no time
// does.
func (r *run) need(b *benchmark, g compare.Gate) (more time.Duration, possible bool) {
	if b.pkg.broken != "" || b.failures >= mostFailures {
		return 0, false
	}
	metrics := r.metrics(b)
	at := slices.IndexFunc(metrics, func(m metric) bool { return m.unit == g.Metric })
	if at < 0 {
		_, has := standard[g.Metric]
		if g.Metric == Time && b.untimed {
			return 0, true
		}
		if len(b.rounds) == 0 {
			return r.fromNothing(b, g, 0)
		}
		_, some := b.units()
		return 0, !has && !slices.Contains(some, g.Metric)
	}
	m := metrics[at]
	if m.exact || b.isUnlike(m.unit) {
		return 0, m.exact
	}
	samples, among := m.deciding(b.suspects[m.unit], r.suspected)
	switch n := len(samples.Logs); {
	case n < compare.MinSamples:
		return r.fromNothing(b, g, n)
	case g.Check(samples.Compare(among)).Verdict != compare.Undecided:
		return 0, true
	}
	return samples.ToDecide(g, among)
}

// fromNothing is the estimate for a benchmark that has n samples, which are too few to show what it takes.
func (r *run) fromNothing(b *benchmark, g compare.Gate, n int) (more time.Duration, possible bool) {
	needed := compare.MinSamples
	if g.Metric != Allocs && g.Metric != Bytes {
		if needed = g.Needed(typical(1)); needed == 0 && g.Bound > 0 {
			g.Bound = 1 / g.Bound // until what does not change fails it
			needed = g.Needed(typical(1))
		}
	}
	more = time.Duration(max(1, needed-n)) * r.cost(b)
	if len(r.benchmarks) > fewToScreen {
		more += time.Duration(suspicion * float64(needed) * float64(r.cost(b))) // what is suspected is measured again
	}
	return more, needed > 0
}

// gateNeed estimates the time that would decide the gates of a benchmark; false: no time does, or they are
// decided.
func (r *run) gateNeed(b *benchmark) (need time.Duration, ok bool) {
	for _, g := range r.Gates {
		more, possible := r.need(b, g)
		if !possible {
			return 0, false
		}
		need = max(need, more)
	}
	return need, need > 0
}

// decidable are the benchmarks whose gates the time until then decides, the nearest to a decision first,
// or the nearest alone if it suffices for none: thirty that are half known decide nothing.
func (r *run) decidable(until time.Time) map[*benchmark]bool {
	need := map[*benchmark]time.Duration{}
	var all []*benchmark
	for _, b := range r.benchmarks {
		if more, ok := r.gateNeed(b); ok && len(b.rounds) > 0 {
			need[b], all = more, append(all, b)
		}
	}
	slices.SortStableFunc(all, func(x, y *benchmark) int { return cmp.Compare(need[x], need[y]) })
	left, chosen := time.Until(until), map[*benchmark]bool{}
	for i, b := range all {
		if left -= need[b]; left < 0 && i > 0 {
			break
		}
		chosen[b] = true
	}
	return chosen
}

// beyond is how far the worse end of a benchmark's interval is beyond a gate, as a logarithm, at most: what
// is nearest to its gate comes first among equal verdicts. Without a gate that it has, it is 0.
func (r *run) beyond(b *Benchmark) float64 {
	most := math.Inf(-1)
	for _, g := range r.Gates {
		m := b.Metric(g.Metric)
		if m == nil || m.Comparison.Interval == nil {
			continue
		}
		end := math.Log(m.Comparison.Interval[1] / g.Bound)
		if g.Op == ">=" {
			end = math.Log(g.Bound / m.Comparison.Interval[0])
		}
		most = max(most, end)
	}
	if math.IsInf(most, 0) || math.IsNaN(most) {
		return 0
	}
	return most
}

// typical is the standard deviation of a sample where layouts move a benchmark by 1.5% and slices differ
// by 3%, of which a generation has a number of each side.
func typical(blocks int) float64 {
	const layout, slice = 0.015, 0.03
	return math.Sqrt(2 * (layout*layout + slice*slice/float64(blocks)))
}

// expect says, before the measurement, what the time should suffice for.
func (r *run) expect() {
	if len(r.benchmarks) == 0 {
		return
	}
	linking, slices, seen := time.Duration(0), time.Duration(0), map[*pkg]bool{}
	for _, b := range r.benchmarks {
		slices += 2 * b.length
		if !seen[b.pkg] {
			linking += b.pkg.linking
		}
		seen[b.pkg] = true
	}
	left := time.Until(r.deadline)
	blocks := 2
	if left/max(1, linking+2*slices) < 2*compare.MinSamples {
		blocks = 1
	}
	each := max(time.Millisecond, linking+time.Duration(blocks)*slices)
	n, deviation := int(left/each), typical(blocks)
	text := fmt.Sprintf("%s, about %.1f s to a generation: the time suffices for about %d", format.Plural(len(r.benchmarks), "benchmark"), each.Seconds(), n)
	if n >= compare.MinSamples {
		text += fmt.Sprintf(", which on a quiet machine gives each an interval within %.1f%%", 100*compare.Width(deviation, n))
	}
	r.say(text)
	for _, g := range r.Gates {
		if g.Metric != Time && g.Metric != CPU {
			continue // exact, or unknown
		}
		switch needed := g.Needed(deviation); {
		case needed == 0:
			r.say(fmt.Sprintf("gate %s: what does not change cannot pass it", g))
		case needed > n:
			r.say(fmt.Sprintf("gate %s: what does not change takes about %d generations to pass on a quiet machine, which is about %s for all: give more with --budget, or name fewer with --bench", g, needed, rounded(float64(needed)*each.Seconds())))
		}
	}
}

// late estimates how long it would take to decide what is undecided of each gate. It says nothing where
// something was skipped, which leaves the gate undecided however long the rest is measured.
func (r *run) late(res *Result, skipped []Skipped) {
	if slices.ContainsFunc(skipped, func(s Skipped) bool { return s.Cause != OnlyB && s.Cause != Skips }) {
		return
	}
	for i, g := range r.Gates {
		missing, never := time.Duration(0), 0
		for _, b := range r.benchmarks {
			more, possible := r.need(b, g)
			if missing += more; !possible {
				never++
			}
		}
		out := &res.Gates[i]
		if out.Verdict != compare.Undecided || missing == 0 {
			continue
		}
		out.TimeToDecide = math.Ceil(missing.Seconds())
		out.Text += fmt.Sprintf("; about %s more should decide most", rounded(out.TimeToDecide))
		if never > 0 {
			out.Text += fmt.Sprintf(", but not %d that are too close to the bound or have no figure", never)
		}
	}
}
