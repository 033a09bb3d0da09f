package compare

import (
	"fmt"
	"math"
	"time"

	"dyno/lab/record"

	"gonum.org/v1/gonum/stat"
)

// interims are the interim analyses of a comparison that is still being measured: the numbers of
// batches at which it may be decided, and the probability of a false alarm allowed at each.
// Together they allow 5%. Testing after every batch at 5% would give up to 20%.
var interims = []struct {
	batches int
	alpha   float64
}{{4, 0.001}, {6, 0.004}, {9, 0.008}, {13, 0.010}, {19, 0.012}, {28, 0.015}}

// same is the relative difference from 1 below which a ratio counts as equal.
const same = 0.02

// alphaAt returns the probability of a false alarm allowed to a final analysis after n batches: 5%
// minus what the interim analyses before it have used. At the number of batches of an interim
// analysis it is at least that analysis's own, so that an experiment which ended because of it has
// the same verdict.
//
// After the last interim analysis the difference would be 0. But verdicts at 28 batches and later
// rest mostly on the same samples: if the final analysis has the alpha of the last interim one, all
// false alarms together are at most 4.9% (simulated in the tests).
func alphaAt(n int) float64 {
	alpha := 1 - confidence
	for _, at := range interims {
		if at.batches < n {
			alpha -= at.alpha
		}
	}
	return max(alpha, interims[len(interims)-1].alpha)
}

// Decided reports whether an interim analysis decided the comparison, so that the rest of its time
// can go to others. A decided comparison stays decided.
func Decided(all []record.Slice, metric string, a, b Arm) bool {
	t := turnsOf(all, metric, a, b)
	logs, noise := t.complete(), noiseOf(all, metric, t, b, turns.complete)
	for _, at := range interims {
		if at.batches > len(logs) || noise != nil && at.batches > len(noise.logs) {
			return false
		}
		within := func(alpha float64) *[2]float64 {
			return widen(interval(logs[:at.batches], alpha), noise.floor(at.batches, alpha))
		}
		// Turns must give the same verdict. It calls a difference within 2% Equal only if it does
		// not see the difference, so this waits for the interim analysis that shows it.
		if different(within(at.alpha)) || equal(within(alphaAt(at.batches))) {
			return true
		}
	}
	return false
}

// different reports whether an interval excludes 1, equal whether it contains 1 and is within 2% of
// it.
func different(in *[2]float64) bool { return in != nil && (in[0] > 1 || in[1] < 1) }
func equal(in *[2]float64) bool {
	return in != nil && !different(in) && in[0] >= 1-same && in[1] <= 1+same
}

// ControlDiffers reports whether the baseline and its A/A control, two processes of one program,
// differ by more than 2%. The interval is one of 99.9%: a difference makes the experiment invalid,
// and one comparison of equals in twenty is outside its 95% interval.
func ControlDiffers(c Comparison) bool {
	const sure = 0.001
	if c.Interval == nil || c.Samples < MinSamples {
		return false
	}
	alpha := 1 - confidence
	if c.Confidence > 0 {
		alpha = 1 - c.Confidence
	}
	in := around(math.Log(c.Ratio), half(*c.Interval)*quantileT(sure, c.Samples)/quantileT(alpha, c.Samples))
	return in[0] > 1+same || in[1] < 1-same
}

// maxBatches is the largest number of batches that missing considers.
const maxBatches = 5000

// timeToDecide describes how much longer the experiment must run to decide a comparison, by missing.
// now is the interval with the noise floor, which should become narrower with the number of batches,
// too. Empty: the slices do not show how long a batch takes.
func (t turns) timeToDecide(logs []float64, now *[2]float64) string {
	if t.span <= 0 {
		return ""
	}
	n := len(logs)
	each := t.span / time.Duration(len(t.blocks)) * time.Duration(t.size)
	if n >= MinSamples {
		each = max(each, t.span/time.Duration(n))
	}
	more, what := missing(logs, now, 1)
	return howLong(time.Duration(more)*each, what)
}

// missing estimates how many more samples decide a difference of the observed size or, if that is
// below 2%, of 5%. If the sides are known to be within 5% of each other, it estimates how many decide
// whether they are equal within 2%. now is the present interval, and among the number of comparisons
// that share the probability of a false alarm. what names what the samples decide.
func missing(logs []float64, now *[2]float64, among int) (more int, what string) {
	n := len(logs)
	if n < MinSamples {
		return MinSamples - n, "give an interval"
	}
	mean, deviation := stat.MeanStdDev(logs, nil)
	of := func(n int) float64 {
		return quantileT(alphaAt(n)/float64(among), n) * deviation / math.Sqrt(float64(n))
	}
	wider := 1.0
	if own := of(n); own > 0 {
		wider = half(*now) / own
	}
	width := func(n int) float64 { return wider * of(n) } // half of it
	seen := math.Abs(mean)
	goal, size := math.Log(1.05), 5.0
	switch {
	case seen >= math.Log1p(same):
		goal, size = seen, math.Expm1(seen)*100
	case width(n) <= goal:
		goal, size = max(seen, math.Log1p(same)-seen), same*100
	}
	needed := n + 1
	for step := 1; width(needed) > goal && needed < maxBatches; step = 1 + needed/20 {
		needed += step
	}
	return needed - n, fmt.Sprintf("decide %.0f%%", size)
}

// howLong formats an estimate of how much longer it takes to do what, rounded to its precision.
func howLong(d time.Duration, what string) string {
	switch {
	case d > time.Hour:
		return "it would take more than an hour more to " + what
	case d >= 90*time.Second:
		return fmt.Sprintf("about %.0f minutes more would %s", math.Ceil(d.Minutes()), what)
	case d > time.Minute:
		return "about 90 seconds more would " + what
	}
	return fmt.Sprintf("about %.0f seconds more would %s", max(5, math.Ceil(d.Seconds()/5)*5), what)
}
