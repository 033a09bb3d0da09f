package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"dyno/lab/capacity"
	"dyno/lab/capacity/fit"
	"dyno/lab/record"
)

// Scaling is a job's throughput and tail over concurrency, with the curves fitted to them.
type Scaling struct {
	Curves []ScalingCurve // one for each variant
	Joint  string         // prediction for all variants together by the model with a load per job; empty: none

	tail  string // the quantile that the SLO bounds first
	bound Value  // its bound, ms
}

// ScalingCurve is one variant over concurrency.
type ScalingCurve struct {
	Variant string
	Units   int // units given to a run; 0: no number
	Points  []ScalingPoint
	Ranked  []fit.Ranked // the best first
	InWords string       // the model that fits best
}

// ScalingPoint is one concurrency: medians over its runs.
type ScalingPoint struct {
	Concurrency   int
	PerS          Value
	P50, P95, P99 Value // ms
	Met           bool
	Judged        bool
	Waits         string // limits that the job reported
	Limits        []record.Limit
	Runs          int
}

// atOnce reports whether an experiment's load was a number of units in flight.
func atOnce(e *record.Experiment) bool {
	return slices.ContainsFunc(e.Runs, func(r *record.Run) bool { return r.ByConcurrency() })
}

// scaling reads an experiment over concurrency.
func scaling(e *record.Experiment, a analysis) *Scaling {
	s := &Scaling{bound: Unknown}
	s.tail, s.bound = tailOf(e.SLO)
	var all []fit.Point
	loads := map[int]bool{}
	for _, name := range variantNames(e) {
		v, _ := e.Variant(name)
		c := ScalingCurve{Variant: name, Units: v.Units, Points: scalingPoints(e, a, name)}
		if len(c.Points) == 0 {
			continue
		}
		points := c.fitted()
		c.Ranked, c.InWords = fit.Rank(points)
		if c.Units > 0 {
			all, loads[c.Units] = append(all, points...), true
		}
		s.Curves = append(s.Curves, c)
	}
	s.Joint = jointWords(all, slices.Sorted(maps.Keys(loads)))
	return s
}

// tailOf is the lowest quantile that an SLO bounds, or p99.
func tailOf(slo record.SLO) (name string, bound Value) {
	for _, q := range quantiles {
		if ms, ok := slo.Latency[q.name]; ok {
			return q.label, Value(ms)
		}
	}
	return "p99", Unknown
}

func (c *ScalingCurve) fitted() (points []fit.Point) {
	for _, p := range c.Points {
		points = append(points, fit.Point{N: float64(p.Concurrency), L: float64(c.Units), X: float64(p.PerS)})
	}
	return points
}

// scalingPoints groups a variant's valid runs by concurrency. Runs for a diagnosis count too, since
// their throughput is the same, except those slowed by a profile or a changed runtime setting.
func scalingPoints(e *record.Experiment, a analysis, variant string) (out []ScalingPoint) {
	runs := map[int][]*record.Run{}
	for _, r := range e.Runs {
		looked := r.Step.Diagnostic() && r.Step.Role != record.RoleSaturate
		if r.Step.Variant == variant && r.Step.Role != record.RoleAblation && r.Invalid == "" && r.ByConcurrency() && !looked && r.Totals.AchievedPerS > 0 {
			runs[r.Step.Connections] = append(runs[r.Step.Connections], r)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(runs)) {
		of := point{runs: runs[n]}
		at := func(name string) Value {
			return Value(of.median(func(r *record.Run) float64 {
				ms, _ := r.Totals.Response.At(name)
				return positive(ms)
			}))
		}
		p := ScalingPoint{Concurrency: n, PerS: Value(of.median(acceptedOf)), P50: at("p50"), P95: at("p95"), P99: at("p99"), Runs: len(of.runs)}
		last := of.runs[len(of.runs)-1]
		p.Limits = last.Limits()
		p.Waits = capacity.LimitWords(p.Limits)
		for _, r := range of.runs {
			if v, judged := a.verdicts[r.ID]; judged {
				// too few completions give a separate warning
				p.Judged, p.Met = true, p.Met || v.Met || v.TooShort
			}
		}
		if p.PerS > 0 {
			out = append(out, p)
		}
	}
	return out
}

// jointWords describe the fit of a*log2(c)*exp(-b*L/c) to all points together, and its inflection.
// It has no knee, contrary to its author's claim.
func jointWords(points []fit.Point, loads []int) string {
	if len(loads) < 2 {
		return ""
	}
	above := slices.DeleteFunc(slices.Clone(points), func(p fit.Point) bool { return p.N <= 1 })
	c, err := fit.Log(above)
	if err != nil {
		return ""
	}
	if c.B < 0 {
		return fmt.Sprintf("Fitted to all of them together, %s has b = %.3g, below 0: the model does not apply.", c.Name(), c.B)
	}
	sum := 0.0
	for _, p := range above {
		r := c.At(p.N, p.L)/p.X - 1
		sum += r * r
	}
	words := fmt.Sprintf("Fitted to all of them together, %s has a = %.4g/s and b = %.3g, with an error of %s per point.", c.Name(), c.A, c.B, percent(Value(math.Sqrt(sum/float64(len(above))))))
	words += " It rises without bound, so it shows no knee. It stops bending upwards " + inflectionWords(c.B, loads) + "."
	claimed := ""
	for i, l := range loads {
		claimed += separatorOf(i, len(loads)) + round(Value(significant(fit.ClaimedInflection(float64(l)), 3)))
	}
	return words + fmt.Sprintf(" With its author's b = %g that is %s, not at the 2.4*L^0.42 = %s that he states.", fit.PublishedB, inflectionWords(fit.PublishedB, loads), claimed)
}

// inflectionWords list the points at which the curve stops bending upwards, by load.
func inflectionWords(b float64, loads []int) (words string) {
	for i, l := range loads {
		at := "nowhere"
		if c, ok := fit.Inflection(b, float64(l)); ok {
			at = fmt.Sprintf("at c = %.1f", c)
		}
		words += separatorOf(i, len(loads)) + fmt.Sprintf("%s for L = %s", at, count(int64(l)))
	}
	return words
}

// separatorOf is the text before the i-th of n items.
func separatorOf(i, n int) string {
	switch {
	case i == 0:
		return ""
	case i == n-1:
		return " and "
	}
	return ", "
}

// scalingTable is the table of all points, the same in every form of the report.
func (s *Scaling) scalingTable() (head []string, number []bool, rows [][]string) {
	head = []string{"variant", "concurrency", "done/s", "p50 ms", "p95 ms", "p99 ms", "SLO", "waits for"}
	number = []bool{false, true, true, true, true, true, false, false}
	for _, c := range s.Curves {
		for _, p := range c.Points {
			met := ""
			if p.Judged {
				met = metWords(p.Met, "")
			}
			rows = append(rows, []string{c.Variant, count(int64(p.Concurrency)), figure(p.PerS), figure(p.P50), figure(p.P95), figure(p.P99), met, cmp.Or(p.Waits, dash)})
		}
	}
	return head, number, rows
}

// words state for each curve the best model and the meaning of its parameters.
func (c *ScalingCurve) words() (lines []string) {
	lines = append(lines, c.Variant+": "+c.InWords)
	for _, r := range c.Ranked {
		lines = append(lines, r.Name()+": "+r.InWords(float64(c.Units)))
	}
	return lines
}

// atOnceWords state the concurrency of a step's capacity, and its limit.
func (r *Report) atOnceWords(s *Step) string {
	if r.Scaling == nil || !s.AtOnce.Known() {
		return ""
	}
	words := " with concurrency " + whole(s.AtOnce)
	if s.Waits != "" {
		words += ", waiting for " + s.Waits
	}
	return words
}

// scalingAnswer is the highest throughput of each variant in one sentence.
func (r *Report) scalingAnswer() string {
	var parts []string
	for _, c := range r.Scaling.Curves {
		best := slices.MaxFunc(c.Points, func(a, b ScalingPoint) int { return cmp.Compare(a.PerS, b.PerS) })
		part := fmt.Sprintf("%s did %s at concurrency %d", c.Variant, rate(best.PerS), best.Concurrency)
		if len(c.Ranked) > 0 {
			part += fmt.Sprintf(" (best explained by %s)", c.Ranked[0].Name())
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "Nothing was measured."
	}
	return "Highest throughput: " + strings.Join(parts, "; ") + "."
}
