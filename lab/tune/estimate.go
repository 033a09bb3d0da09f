package tune

import (
	"math"
	"slices"
)

// Estimate is the estimated gain of a candidate over the start: the logarithm of a ratio, which is
// above 1 if the candidate is better, with its standard error.
type Estimate struct {
	Log, Error float64
	Samples    int // 0: not measured
}

const (
	// between is the standard deviation between processes of the same program, as a logarithm. More
	// samples of one process do not reduce it.
	between = 0.01
	// usual is the standard deviation of a sample before any is known. prior is the weight, in
	// samples, of the common standard deviation against that of the samples of one process.
	usual = 0.03
	prior = 4
	// normal is the ratio of the standard deviation of a normal distribution to its median absolute
	// deviation.
	normal = 1.4826
	// wide is the half-width of an interval, in standard errors, for about 95%.
	wide = 2
)

// Interval returns the 95% confidence interval of the ratio, for this candidate alone: of twenty
// candidates that change nothing, the interval of about one does not contain 1.
func (e Estimate) Interval() [2]float64 {
	return [2]float64{math.Exp(e.Log - wide*e.Error), math.Exp(e.Log + wide*e.Error)}
}

// Ratio returns the estimated ratio.
func (e Estimate) Ratio() float64 { return math.Exp(e.Log) }

// high returns the upper end of the interval, as a logarithm.
func (e Estimate) high() float64 { return e.Log + wide*e.Error }

// estimate combines the samples of several processes, weighted by the inverse of their variances.
// spread is the standard deviation of a sample on this machine. It uses medians and median absolute
// deviations, since disturbances of the machine spoil single samples.
func estimate(processes [][]float64, spread float64) (e Estimate) {
	sum, weights := 0.0, 0.0
	for _, logs := range processes {
		if len(logs) == 0 {
			continue
		}
		middle, n := median(logs), float64(len(logs))
		variance := spread * spread
		if len(logs) > 1 {
			own := normal * median(away(logs, middle))
			variance = (prior*variance + n*own*own) / (prior + n)
		}
		const efficiency = math.Pi / 2 // ratio of the variance of a median to that of a mean
		w := 1 / (between*between + efficiency*variance/n)
		sum, weights = sum+w*middle, weights+w
		e.Samples += len(logs)
	}
	if weights > 0 {
		e.Log, e.Error = sum/weights, math.Sqrt(1/weights)
	}
	return e
}

// away returns the absolute differences of samples from a value.
func away(logs []float64, from float64) []float64 {
	out := make([]float64, len(logs))
	for i, x := range logs {
		out[i] = math.Abs(x - from)
	}
	return out
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
