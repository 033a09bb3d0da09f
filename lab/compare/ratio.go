package compare

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"
)

const (
	// confidence of an interval that was computed once.
	confidence = 0.95
	// driftLevel is the significance level of a drift, and driftSize the smallest total change that
	// gives a warning: 2%.
	driftLevel = 0.01
	driftSize  = 0.02
	driftData  = 6 // with fewer samples chance produces straight lines too
)

// Ratio compares paired samples, one pair per round, in the order of the rounds. Its interval is
// Student's t on the logarithms of the ratios: the interval of a bootstrap over few pairs is too
// narrow, and would find a difference between equal variants in one case of six.
func Ratio(metric string, a, b []float64) Comparison {
	c := Comparison{Schema: Schema, Metric: metric, Verdict: Invalid, Warnings: []string{}}
	if better(metric) == 0 {
		c.warn("no metric is called %q; there are %s", metric, metrics)
		return c
	}
	if len(a) != len(b) {
		c.warn("%d samples on one side and %d on the other cannot be paired", len(a), len(b))
		return c
	}
	var ratios, levels []float64 // logarithms, one per pair
	for i := range a {
		if !positive(a[i]) || !positive(b[i]) {
			c.warn("pair %d is left out: %g against %g is no ratio", i+1, b[i], a[i])
			continue
		}
		ratios = append(ratios, math.Log(b[i]/a[i]))
		levels = append(levels, (math.Log(a[i])+math.Log(b[i]))/2)
	}
	c.Samples = len(ratios)
	if c.Samples == 0 {
		c.warn("there is no pair to compare")
		return c
	}
	c.Ratio = math.Exp(stat.Mean(ratios, nil))
	c.Interval = interval(ratios, 1-confidence)
	c.Verdict = verdict(better(metric), c.Interval)
	if c.Interval == nil {
		c.warn("only %s; an interval needs %d", pairs(c.Samples, "counts", "count"), MinSamples)
	}
	if change, clear := drift(levels); clear {
		c.warn("drift: both sides changed by %+.0f%% over the rounds; the order of the runs cancels it, but the machine was not steady", change*100)
	}
	if change, clear := drift(ratios); clear {
		c.warn("drift: the ratio itself changed by %+.0f%% over the rounds, so that it depends on when it is measured", change*100)
	}
	return c
}

func (c *Comparison) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}

// pairs formats a number of pairs with the verb that fits it.
func pairs(n int, one, many string) string {
	if n == 1 {
		return "1 pair " + one
	}
	return fmt.Sprintf("%d pairs %s", n, many)
}

// metrics lists the metrics that can be compared.
var metrics = strings.Join([]string{MetricCapacity, MetricWork, MetricP99, MetricCPU}, ", ")

// better returns 1 if a higher value of the metric is better, -1 if a lower one is, and 0 for an
// unknown metric.
func better(metric string) int {
	switch metric {
	case MetricCapacity, MetricWork:
		return 1
	case MetricP99, MetricCPU:
		return -1
	}
	return 0
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// interval returns the t interval of a mean of logarithms, as ratios. It misses the true ratio with
// the probability alpha; nil below MinSamples.
func interval(logs []float64, alpha float64) *[2]float64 {
	n := len(logs)
	if n < MinSamples {
		return nil
	}
	mean, deviation := stat.MeanStdDev(logs, nil)
	return around(mean, quantileT(alpha, n)*deviation/math.Sqrt(float64(n)))
}

// verdict returns the verdict for an interval of b over a; better is that of the metric.
func verdict(better int, in *[2]float64) string {
	switch {
	case equal(in):
		return Equal
	case !different(in):
		return NotDecided
	case better == 0:
		return Changed
	case (in[0] > 1) == (better > 0):
		return Faster
	}
	return Slower
}

// drift returns the relative change of a series of logarithms from its first to its last value
// along a straight line, and whether it is significant.
func drift(logs []float64) (change float64, clear bool) {
	n := len(logs)
	if n < driftData {
		return 0, false
	}
	rounds := make([]float64, n)
	for i := range rounds {
		rounds[i] = float64(i)
	}
	intercept, slope := stat.LinearRegression(rounds, logs, nil, false)
	var squares float64
	for i := range logs {
		squares += math.Pow(logs[i]-intercept-slope*rounds[i], 2)
	}
	change = math.Expm1(slope * float64(n-1))
	if math.Abs(change) < driftSize {
		return change, false
	}
	standardError := math.Sqrt(squares / float64(n-2) / (stat.Variance(rounds, nil) * float64(n-1)))
	return change, math.Abs(slope) > quantileT(driftLevel, n-1)*standardError
}
