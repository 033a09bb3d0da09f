package format

import (
	"cmp"
	"fmt"
	"strings"

	"dyno/lab/compare"
)

// Comparison states which of two variants is better, or that this is not decided and what
// would decide it.
func Comparison(c compare.Comparison, turns bool) string {
	ratio := fmt.Sprintf("%s %s%s", Metrics[c.Metric], Times(Measured(c.Ratio)), Space(BetweenRatios(IntervalOf(c.Interval))))
	over := "over " + Plural(c.Samples, "pair")
	switch {
	case c.Blocks > 0:
		over = "over " + Plural(c.Blocks, "block")
	case turns:
		over = "from at least " + Plural(c.Samples, "slice") + " of each"
	}
	better, worse := "is faster than", "is slower than"
	if c.Metric == compare.MetricCPU {
		better, worse = "needs less CPU than", "needs more CPU than"
	}
	switch {
	case c.Verdict == compare.Faster:
		return fmt.Sprintf("%s %s %s: %s %s.", c.B, better, c.A, ratio, over)
	case c.Verdict == compare.Slower:
		return fmt.Sprintf("%s %s %s: %s %s.", c.B, worse, c.A, ratio, over)
	case c.Verdict == compare.Equal:
		return fmt.Sprintf("%s and %s are %s: %s %s.", c.A, c.B, c.Verdict, ratio, over)
	case c.Verdict != compare.NotDecided:
		return fmt.Sprintf("%s and %s cannot be compared.", c.A, c.B)
	case c.Ratio <= 0:
		return fmt.Sprintf("Not decided: %s and %s have no %s to compare yet.", c.A, c.B, Metrics[c.Metric])
	}
	text := fmt.Sprintf("Not decided: %s of %s at %s that of %s%s so far, %s", Metrics[c.Metric], c.B, Times(Value(c.Ratio)), c.A, Space(BetweenRatios(IntervalOf(c.Interval))), over)
	if c.TimeToDecide != "" {
		text += "; " + c.TimeToDecide
	} else if c.Interval == nil && !turns {
		text += fmt.Sprintf(" of the %d that an interval needs", compare.MinSamples)
	}
	return text + "."
}

// Metrics name the metric of a ratio.
var Metrics = map[string]string{
	compare.MetricWork: "peak work rate", compare.MetricCPU: "CPU per request", compare.MetricCapacity: "capacity", compare.MetricP99: "p99",
}

// Better formats a verdict by a metric: less CPU is not faster.
func Better(metric, verdict string) string {
	if metric == compare.MetricCPU {
		return cmp.Or(map[string]string{compare.Faster: "less", compare.Slower: "more"}[verdict], verdict)
	}
	return verdict
}

// Ratio formats a ratio with its interval, and whether it is decided: CPU per request 0.97x
// [0.94, 1.01] (not decided).
func Ratio(metric string, ratio Value, i *Interval, verdict string) string {
	if !ratio.Known() {
		return Metrics[metric] + " not compared"
	}
	text := Metrics[metric] + " " + Times(ratio) + Space(BetweenRatios(i))
	if verdict == compare.Equal || verdict == compare.NotDecided {
		text += " (" + verdict + ")"
	}
	return text
}

// VerdictOf states that an interval of ratios is not decided; empty if it is.
func VerdictOf(i *Interval) string {
	const equal = 0.02 // largest distance of the interval from 1 for equal sides
	switch {
	case i == nil || i.Lo <= 1 && i.Hi >= 1 && (i.Lo < 1-equal || i.Hi > 1+equal):
		return compare.NotDecided
	case i.Lo <= 1 && i.Hi >= 1:
		return compare.Equal
	}
	return ""
}

// Others are the ratios by the metrics that were not requested.
func Others(all []compare.Comparison) string {
	var parts []string
	for _, c := range all[min(1, len(all)):] {
		parts = append(parts, Ratio(c.Metric, Measured(c.Ratio), IntervalOf(c.Interval), c.Verdict))
	}
	if len(parts) == 0 {
		return ""
	}
	return " Also: " + strings.Join(parts, ", ") + "."
}
