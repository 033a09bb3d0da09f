package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"dyno/lab/record/quantity"
)

// Gate is a condition on the ratio of b over a, such as capacity>=0.97.
type Gate struct {
	Metric string
	Op     string // >= or <=
	Bound  float64
}

// Verdicts of a gate.
const (
	Pass      = "pass"
	Fail      = "fail"
	Undecided = "undecided"
)

// Outcome is the result of applying a gate to a comparison.
type Outcome struct {
	Gate    string `json:"gate"`
	Verdict string `json:"verdict"` // pass | fail | undecided
	Text    string `json:"in_words"`
}

// ParseGate reads metric>=bound or metric<=bound; the bound is a ratio (0.97) or a percentage
// (97%).
func ParseGate(s string) (Gate, error) {
	return parseGate(s, "capacity>=0.97 or p99<=1.1", func(metric string) (string, error) {
		metric = strings.ToLower(metric)
		if better(metric) == 0 {
			return "", fmt.Errorf("no metric is called %q; %s", metric, Suggest(metric))
		}
		return metric, nil
	})
}

// ParseUnitGates reads a list of gates, separated by commas, on units of Go benchmarks:
// ns/op<=1.03,allocs/op<=1.
func ParseUnitGates(list string) (gates []Gate, err error) {
	for s := range strings.SplitSeq(list, ",") {
		g, err := parseGate(strings.TrimSpace(s), "ns/op<=1.03 or allocs/op<=1", func(unit string) (string, error) {
			if unit == "" || strings.ContainsAny(unit, " \t") {
				return "", fmt.Errorf("%q is no unit of a benchmark", unit)
			}
			return unit, nil
		})
		if err != nil {
			return nil, err
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// parseGate reads a gate, with the metric that named returns for the one that was given.
func parseGate(s, example string, named func(given string) (string, error)) (g Gate, err error) {
	form := "write for example " + example
	for _, op := range []string{">=", "<=", "≥", "≤", ">", "<"} {
		metric, value, ok := strings.Cut(s, op)
		if !ok {
			continue
		}
		// The ratio is a real number: above a bound, and at it or above, are the same.
		g := Gate{Op: map[bool]string{true: ">=", false: "<="}[strings.ContainsAny(op, ">≥")]}
		if g.Metric, err = named(strings.TrimSpace(metric)); err != nil {
			return Gate{}, fmt.Errorf("gate %q: %w", s, err)
		}
		if _, err := quantity.Duration(strings.TrimSpace(value)); err == nil && strings.TrimSpace(value) != "0" {
			return Gate{}, fmt.Errorf("gate %q bounds the ratio of B to A, not a time: write --slo %s=%s for that, or for example %[2]s<=1.1", s, g.Metric, strings.TrimSpace(value))
		}
		number, percent := strings.CutSuffix(strings.TrimSpace(value), "%")
		bound, err := strconv.ParseFloat(number, 64)
		if percent {
			bound /= 100
		}
		if err != nil || !positive(bound) {
			return Gate{}, fmt.Errorf("gate %q: %q is not a ratio above 0; %s", s, strings.TrimSpace(value), form)
		}
		if bound > mostRatio {
			return Gate{}, fmt.Errorf("gate %q asks for a ratio of B to A of %g; write %s%s%s%% if that is a percentage", s, bound, g.Metric, g.Op, number)
		}
		g.Bound = bound
		return g, nil
	}
	return Gate{}, fmt.Errorf("gate %q has neither >= nor <=; %s", s, form)
}

// meant maps other names of a metric to ours.
var meant = map[string]string{
	"throughput": MetricWork, "rate": MetricWork, "peak": MetricWork, "speed": MetricWork, "rps": MetricCapacity, "qps": MetricCapacity, "latency": MetricP99, "p95": MetricP99, "p999": MetricP99,
	"time": MetricCPU,
}

// Suggest completes a message about an unknown metric.
func Suggest(word string) string {
	if name, ok := meant[strings.ToLower(word)]; ok {
		return "did you mean " + name + "? There are " + metrics
	}
	return "there are " + metrics
}

// mostRatio is the largest bound that a gate accepts as a ratio. A larger one is probably a
// percentage without its sign.
const mostRatio = 20

// String formats the gate in the form that ParseGate reads.
func (g Gate) String() string {
	return g.Metric + g.Op + strconv.FormatFloat(g.Bound, 'g', -1, 64)
}

// Check applies the gate to the interval of a comparison, not to its ratio. The gate passes if the
// whole interval satisfies it and fails if no part does. It is undecided if the interval contains
// the bound, since another comparison could then end either way.
func (g Gate) Check(c Comparison) Outcome {
	out := Outcome{Gate: g.String(), Verdict: Undecided}
	switch {
	case c.Metric != g.Metric:
		out.Text = fmt.Sprintf("undecided: the gate asks for %s, the comparison is of %s", g.Metric, c.Metric)
		return out
	case c.Verdict == Invalid:
		out.Text = "undecided: the comparison is invalid"
		if len(c.Warnings) > 0 {
			out.Text += ": " + c.Warnings[0]
		}
		return out
	case c.fromZero:
		out.Verdict, out.Text = Fail, "fail: it rises from 0, which is more than any ratio"
		if g.Op == ">=" {
			out.Verdict, out.Text = Pass, "pass: it rises from 0, which is more than any ratio"
		}
		return out
	case c.Interval == nil && c.Samples >= MinSamples && len(c.Warnings) > 0: // the caller withholds it
		out.Text = fmt.Sprintf("undecided: the ratio is %.3f, but %s", c.Ratio, c.Warnings[len(c.Warnings)-1])
		return out
	case c.Interval == nil:
		out.Text = fmt.Sprintf("undecided: the ratio is %.3f, but %s no interval (%d are needed)", c.Ratio, pairs(c.Samples, "gives", "give"), MinSamples)
		if c.TimeToDecide != "" {
			out.Text += "; " + c.TimeToDecide
		}
		return out
	}
	seen := fmt.Sprintf("the ratio is %.3f, its interval %s", c.Ratio, span(*c.Interval))
	if c.NoiseFloor != nil && c.Noise != "" {
		seen += fmt.Sprintf(" with a noise floor of %.1f%%", (spread(*c.NoiseFloor)-1)*100)
	}
	switch {
	case g.holds(*c.Interval):
		out.Verdict, out.Text = Pass, "pass: "+seen+", all of it "+g.Op+" "+number(g.Bound)
	case g.misses(*c.Interval):
		out.Verdict, out.Text = Fail, "fail: "+seen+", no part of it "+g.Op+" "+number(g.Bound)
	default:
		out.Text = "undecided: " + seen + " spans " + number(g.Bound) + g.advice(c)
	}
	return out
}

// holds reports whether a whole interval satisfies the gate, misses whether no part of it does.
func (g Gate) holds(in [2]float64) bool {
	if g.Op == "<=" {
		return in[1] <= g.Bound
	}
	return in[0] >= g.Bound
}
func (g Gate) misses(in [2]float64) bool {
	if g.Op == "<=" {
		return in[0] > g.Bound
	}
	return in[1] < g.Bound
}

// maxAdvice is the largest number of pairs that a gate suggests. If more are needed, the ratio is
// too close to the bound.
const maxAdvice = 100

// advice estimates how many pairs would decide the gate if the ratio stayed the same: the
// interval's half-width falls with the square root of their number.
func (g Gate) advice(c Comparison) string {
	distance := math.Abs(math.Log(c.Ratio / g.Bound))
	needed := math.Ceil(float64(c.Samples) * math.Pow(half(*c.Interval)/distance, 2))
	if !(needed <= maxAdvice) {
		return "; the ratio is too close to the bound to be decided"
	}
	if c.each > 0 {
		return "; " + howLong(time.Duration(max(1, needed-float64(c.Samples)))*c.each, "decide")
	}
	return fmt.Sprintf("; about %.0f pairs would decide", needed)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
