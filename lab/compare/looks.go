package compare

import (
	"fmt"
	"math"
	"time"

	"dyno/lab/record"

	"gonum.org/v1/gonum/stat"
)

// looks are the numbers of batches at which a running comparison may be decided, and the share of
// false alarms allowed at each. Together they allow 5%: testing after every batch at 5% gives up to
// 20% of false alarms.
var looks = []struct {
	batches int
	alpha   float64
}{{4, 0.001}, {6, 0.004}, {9, 0.008}, {13, 0.010}, {19, 0.012}, {28, 0.015}}

// same is the relative difference from 1 below which a ratio counts as equal.
const same = 0.02

// alphaAt is the share of false alarms left for an end after n batches: 5% minus that of the looks
// before it, so that all of them together stay below 5%. At a look it is at least that look's own,
// so that an experiment which ends because a look decided gives the same verdict.
//
// After the last look the sum would leave nothing, but the verdicts at 28 batches and later are
// mostly from the same samples: with the last look's alpha for the end too, all false alarms
// together are at most 4.9% (simulated in the tests).
func alphaAt(n int) float64 {
	alpha := 1 - confidence
	for _, l := range looks {
		if l.batches < n {
			alpha -= l.alpha
		}
	}
	return max(alpha, looks[len(looks)-1].alpha)
}

// Settled reports whether a look that has been reached decided the comparison, so that its time can
// go to others. A decided comparison stays decided.
func Settled(all []record.Slice, metric string, a, b Side) bool {
	t := turnsOf(all, metric, a, b)
	logs, beside := t.grown(), noiseOf(all, metric, t, b, turns.grown)
	for _, l := range looks {
		if l.batches > len(logs) || beside != nil && l.batches > len(beside.logs) {
			return false
		}
		at := func(alpha float64) *[2]float64 {
			return widen(interval(logs[:l.batches], alpha), beside.floor(l.batches, alpha))
		}
		// Equal is the verdict of Turns: a difference within 2% continues to the look that shows
		// it.
		if different(at(l.alpha)) || equal(at(alphaAt(l.batches))) {
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

// TwinDiffers reports whether a baseline and its twin, which should be equal, differ by more than
// 2%. Its confidence is 99.9%: it makes an experiment invalid, and one A/A comparison in twenty is
// outside its 95% interval.
func TwinDiffers(c Comparison) bool {
	const sure = 0.001
	if c.Interval == nil || c.Pairs < MinPairs {
		return false
	}
	alpha := 1 - confidence
	if c.Confidence > 0 {
		alpha = 1 - c.Confidence
	}
	in := around(math.Log(c.Ratio), half(*c.Interval)*quantileT(sure, c.Pairs)/quantileT(alpha, c.Pairs))
	return in[0] > 1+same || in[1] < 1-same
}

// maxBatches is the largest number of batches that wouldDecide considers.
const maxBatches = 5000

// wouldDecide is how much longer the experiment must continue to decide a difference: one of the
// observed size if that is at least 2%, else one of 5%, or whether the sides are equal within 2% if
// they are known to be within 5%. now is the interval with the noise floor, which is taken to fall
// with the number of batches too. Empty when the slices do not show how long a batch takes.
func (t turns) wouldDecide(logs []float64, now *[2]float64) string {
	if t.span <= 0 {
		return ""
	}
	n := len(logs)
	each := t.span / time.Duration(len(t.blocks)) * time.Duration(t.size)
	if n < MinPairs {
		return howLong(time.Duration(MinPairs-n)*each, "give an interval")
	}
	each = max(each, t.span/time.Duration(n))
	mean, deviation := stat.MeanStdDev(logs, nil)
	of := func(n int) float64 { return quantileT(alphaAt(n), n) * deviation / math.Sqrt(float64(n)) }
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
	return howLong(time.Duration(needed-n)*each, fmt.Sprintf("decide %.0f%%", size))
}

// howLong formats a duration d that would settle what, rounded to its precision.
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
