package compare

import (
	"cmp"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Samples are independent samples of a metric that the caller names, such as a unit of Go
// benchmarks. They may be compared while more are taken: the interim analyses are those of the
// function Decided.
type Samples struct {
	Metric string
	Better int // 1: a higher value is better, -1: a lower one is, 0: unknown
	A, B   string
	Logs   []float64     // logarithms of b over a
	Each   time.Duration // what one more costs; 0: unknown
}

// Compare compares the sides. The samples are one of several comparisons among which the
// probability of a false alarm is divided; 1: there is no other.
func (s Samples) Compare(among int) Comparison {
	c := Comparison{Schema: Schema, Metric: s.Metric, A: s.A, B: s.B, Samples: len(s.Logs), Verdict: Invalid, Warnings: []string{}, each: s.Each}
	if len(s.Logs) == 0 {
		c.warn("there is no pair to compare")
		return c
	}
	alpha := alphaAt(len(s.Logs)) / float64(among)
	c.Ratio = math.Exp(stat.Mean(s.Logs, nil))
	c.Interval, c.Confidence = interval(s.Logs, alpha), 1-alpha
	c.Verdict = verdict(s.Better, c.Interval)
	if c.Verdict == NotDecided && s.Each > 0 {
		more, what := missing(s.Logs, c.Interval, among)
		c.TimeToDecide = howLong(time.Duration(more)*s.Each, what)
	}
	return c
}

// Missing estimates the time that would decide samples which are not decided.
func (s Samples) Missing(among int) time.Duration {
	more, _ := missing(s.Logs, interval(s.Logs, alphaAt(len(s.Logs))/float64(among)), among)
	return time.Duration(more) * s.Each
}

// Decided reports whether an interim analysis decided the comparison, one among several.
func (s Samples) Decided(among int) bool {
	for _, at := range interims {
		if at.batches > len(s.Logs) {
			break
		}
		logs := s.Logs[:at.batches]
		if different(interval(logs, at.alpha/float64(among))) || equal(interval(logs, alphaAt(at.batches)/float64(among))) {
			return true
		}
	}
	return false
}

// Holds reports whether an interim analysis has shown that the ratio satisfies a gate. It is as sure
// as one that shows a difference.
func (s Samples) Holds(g Gate) bool {
	for _, at := range interims {
		if at.batches > len(s.Logs) {
			break
		}
		if in := interval(s.Logs[:at.batches], at.alpha); in != nil && g.holds(*in) {
			return true
		}
	}
	return false
}

// ToDecide estimates the time that would decide a gate if the ratio stayed as it is; false: it is too
// close to the bound.
func (s Samples) ToDecide(g Gate, among int) (more time.Duration, ok bool) {
	n := len(s.Logs)
	if n < MinSamples {
		return time.Duration(MinSamples-n) * s.Each, true
	}
	mean, deviation := stat.MeanStdDev(s.Logs, nil)
	distance := math.Abs(mean - math.Log(g.Bound))
	needed := n + 1
	for ; needed-n <= maxAdvice && quantileT(alphaAt(needed)/float64(among), needed)*deviation/math.Sqrt(float64(needed)) > distance; needed++ {
	}
	return time.Duration(needed-n) * s.Each, needed-n <= maxAdvice
}

// Needed estimates how many samples decide that equal sides satisfy a gate, if samples have the given
// standard deviation. It allows for a mean that is one standard error nearer to the bound than 1: in
// five of six cases the mean is no nearer. 0: no number decides it, since the bound excludes 1.
func (g Gate) Needed(deviation float64) int {
	distance := math.Log(g.Bound)
	if g.Op == ">=" {
		distance = -distance
	}
	if distance <= 0 {
		return 0
	}
	n := MinSamples
	for Width(deviation, n)+deviation/math.Sqrt(float64(n)) > distance && n < maxBatches {
		n += 1 + n/20
	}
	return n
}

// Width returns by how much the interval of n samples reaches to either side, as a logarithm, if
// samples have the given standard deviation.
func Width(deviation float64, n int) float64 {
	return quantileT(alphaAt(n), n) * deviation / math.Sqrt(float64(n))
}

// P returns the probability of a mean at least as far from a ratio of 1 if the sides were equal, by
// Student's t; 1 with fewer than two samples.
func (s Samples) P() float64 {
	n := len(s.Logs)
	if n < 2 {
		return 1
	}
	mean, deviation := stat.MeanStdDev(s.Logs, nil)
	if deviation == 0 {
		return map[bool]float64{true: 1, false: 0}[mean == 0]
	}
	t := math.Abs(mean) / (deviation / math.Sqrt(float64(n)))
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Survival(t)
}

// Holm compares each of several Samples so that all false alarms together have the probability that
// one comparison has alone (Holm's step-down procedure over the final analyses). The intervals are
// wider accordingly, so that an interval excludes 1 exactly where the procedure finds a difference.
func Holm(all []Samples) []Comparison {
	out := make([]Comparison, len(all))
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	// The level depends on the number of samples, so each probability is compared relative to its level.
	share := func(i int) float64 { return all[i].P() / alphaAt(len(all[i].Logs)) }
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(share(i), share(j)) })
	among := len(all)
	for _, i := range order {
		out[i] = all[i].Compare(among)
		if different(out[i].Interval) && among > 1 {
			among--
		}
	}
	return out
}

// Exact compares figures that repeat exactly, such as allocations of a deterministic benchmark: the
// interval is the ratio. From 0 there is no ratio, but a verdict.
func Exact(metric string, better int, a, b string, was, is float64) Comparison {
	c := Comparison{Schema: Schema, Metric: metric, A: a, B: b, Samples: 1, Confidence: 1, Warnings: []string{}, Verdict: Equal}
	switch {
	case was == is:
		c.Ratio, c.Interval = 1, &[2]float64{1, 1}
		return c
	case was > 0 && is >= 0:
		c.Ratio = is / was
		c.Interval = &[2]float64{c.Ratio, c.Ratio}
	default:
		c.fromZero = was == 0 && is > 0
		c.warn("it was %g and is %g, which is no ratio", was, is)
	}
	switch {
	case better == 0:
		c.Verdict = Changed
	case (is > was) == (better > 0):
		c.Verdict = Faster
	default:
		c.Verdict = Slower
	}
	return c
}
