package observe

import (
	"fmt"
	"math"
)

// sample is one figure of each look, or of each time between two readings.
type sample []float64

// student has the 97.5% quantiles of Student's t, by degrees of freedom.
var student = []float64{0, 12.7, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23}

// mean returns the mean and its 95% interval; of one or two figures, the interval is from the lowest
// to the highest.
func (s sample) mean() (mean, low, high float64) {
	n := float64(len(s))
	if n == 0 {
		return 0, 0, 0
	}
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range s {
		mean, low, high = mean+v/n, min(low, v), max(high, v)
	}
	if n < 3 {
		return mean, low, high
	}
	squares := 0.0
	for _, v := range s {
		squares += (v - mean) * (v - mean)
	}
	half := student[min(len(s)-1, len(student)-1)] * math.Sqrt(squares/(n-1)/n)
	return mean, mean - half, mean + half
}

// widened widens the range of a share of fewer than three looks by the error of counting the waits in
// them. Without any, the looks show one state.
func widened(low, high float64, looks int, waits float64) (float64, float64) {
	if looks >= 3 || waits <= 0 {
		return low, high
	}
	off := 2 / math.Sqrt(waits)
	return low * max(0, 1-off), high * (1 + off)
}

func clip(share float64) float64 { return min(1, max(0, share)) }

// Percent formats a share.
func Percent(share float64) string {
	if share > 0 && share < 0.095 {
		return fmt.Sprintf("%.1f%%", 100*share)
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

// Between formats an interval of shares.
func Between(low, high float64) string {
	switch {
	case high >= 1 && low > 0 && low < 1:
		return "at least " + Percent(low)
	case Percent(low) == Percent(high):
		return Percent(low)
	}
	return Percent(low) + " to " + Percent(high)
}
