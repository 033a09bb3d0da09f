package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dyno/lab/capacity"
	"dyno/lab/capacity/scaling"
	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Scaling is a job's throughput and tail over concurrency, with the curves fitted to them.
type Scaling struct {
	Curves []ScalingCurve // one for each variant

	Tail  string       // the quantile that the SLO bounds first
	Bound format.Value // its bound, ms
}

// ScalingCurve is one variant over concurrency.
type ScalingCurve struct {
	Variant string           `json:"variant"`
	Units   int              `json:"units,omitempty"` // units given to a run; 0: no number
	Points  []ScalingPoint   `json:"points"`
	Ranked  []scaling.Ranked `json:"fits"`     // the best first; not nil
	Text    string           `json:"in_words"` // the model that fits best
}

// ScalingPoint is one concurrency: medians over its runs.
type ScalingPoint struct {
	Concurrency int                `json:"concurrency"`
	PerS        format.Value       `json:"per_s"`
	P50         format.Value       `json:"p50_ms"`
	P95         format.Value       `json:"p95_ms"`
	P99         format.Value       `json:"p99_ms"`
	Met         bool               `json:"met"`
	Judged      bool               `json:"-"`
	Waits       string             `json:"-"` // limits that the job reported
	Limits      []record.WaitLimit `json:"limits,omitempty"`

	PerSInterval *format.Interval `json:"per_s_interval,omitempty"` // 95%, of the median of six runs or more
	P95Interval  *format.Interval `json:"p95_interval,omitempty"`   // 95%, of the median of six runs or more
}

// ByConcurrency reports whether an experiment's load was a number of units in flight.
func ByConcurrency(e *record.Experiment) bool {
	return slices.ContainsFunc(e.Runs, func(r *record.Run) bool { return r.Axis() == record.AxisConcurrency })
}

// NewScaling reads an experiment over concurrency.
func NewScaling(e *record.Experiment, verdicts map[string]capacity.Verdict) *Scaling {
	s := &Scaling{Bound: format.Unknown}
	s.Tail, s.Bound = tailOf(e.SLO)
	for _, name := range e.VariantNames() {
		v, _ := e.Variant(name)
		c := ScalingCurve{Variant: name, Units: v.Units, Points: scalingPoints(e, verdicts, name)}
		if len(c.Points) == 0 {
			continue
		}
		ranked, text := scaling.Rank(c.fitted())
		c.Ranked, c.Text = format.Filled(ranked), text
		s.Curves = append(s.Curves, c)
	}
	return s
}

// tailOf is the lowest quantile that an SLO bounds, or p99.
func tailOf(slo record.SLO) (name string, bound format.Value) {
	for _, q := range format.Quantiles {
		if ms, ok := slo.Latency[q.Name]; ok {
			return q.Label, format.Value(ms)
		}
	}
	return "p99", format.Unknown
}

func (c *ScalingCurve) fitted() (points []scaling.Point) {
	for _, p := range c.Points {
		points = append(points, scaling.Point{N: float64(p.Concurrency), X: float64(p.PerS)})
	}
	return points
}

// scalingPoints groups a variant's valid runs by concurrency. Runs for a diagnosis count too, since
// their throughput is the same, except those slowed by a profile or a changed runtime setting.
func scalingPoints(e *record.Experiment, verdicts map[string]capacity.Verdict, variant string) (out []ScalingPoint) {
	runs := map[int][]*record.Run{}
	for _, r := range e.Runs {
		slowed := r.Spec.Diagnostic() && r.Spec.Role != record.RoleSaturate
		if r.Spec.Variant == variant && r.Spec.Role != record.RoleAblation && r.Invalid == "" && r.Axis() == record.AxisConcurrency && !slowed && r.Totals.ThroughputPerS > 0 {
			runs[r.Spec.Connections] = append(runs[r.Spec.Connections], r)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(runs)) {
		of := point{runs: runs[n]}
		quantile := func(name string) func(*record.Run) float64 {
			return func(r *record.Run) float64 {
				ms, _ := r.Totals.Response.At(name)
				return format.Positive(ms)
			}
		}
		at := func(name string) format.Value { return format.Value(of.median(quantile(name))) }
		p := ScalingPoint{Concurrency: n, PerS: format.Value(of.median(acceptedOf)), P50: at("p50"), P95: at("p95"), P99: at("p99"),
			PerSInterval: of.interval(acceptedOf), P95Interval: of.interval(quantile("p95"))}
		last := of.runs[len(of.runs)-1]
		p.Limits = record.WaitsOf(last)
		p.Waits = capacity.LimitText(p.Limits)
		for _, r := range of.runs {
			if v, judged := verdicts[r.ID]; judged {
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

// Lines states for each curve the best model and the meaning of its parameters.
func (c *ScalingCurve) Lines() (lines []string) {
	lines = append(lines, c.Variant+": "+c.Text)
	for _, r := range c.Ranked {
		lines = append(lines, r.Name()+": "+r.Text())
	}
	return lines
}

// Drawn reports whether there are enough points for a curve.
func (c ScalingCurve) Drawn() bool { return len(c.Points) > 1 }

// Missing reports whether the SLO was missed at some point.
func (c ScalingCurve) Missing() bool {
	return slices.ContainsFunc(c.Points, func(p ScalingPoint) bool { return p.Judged && !p.Met })
}

// Quantile reads the quantile of a label or, if the point does not have that, the next higher one.
func (p ScalingPoint) Quantile(label string) format.Value {
	switch label {
	case "p50":
		return p.P50
	case "p95", "p90":
		return p.P95
	}
	return p.P99
}

// Answer is the highest throughput of each variant in one sentence.
func (s *Scaling) Answer() string {
	var parts []string
	for _, c := range s.Curves {
		best := slices.MaxFunc(c.Points, func(a, b ScalingPoint) int { return cmp.Compare(a.PerS, b.PerS) })
		part := fmt.Sprintf("%s did %s at concurrency %d", c.Variant, format.Rate(best.PerS), best.Concurrency)
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
