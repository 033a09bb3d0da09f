package capacity

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Trend is a straight line through a run's windows.
type Trend struct {
	PerSecond float64 `json:"per_s"` // change per second, in the unit of what was fitted (latency: ms)
	End       float64 `json:"end"`   // the line's value at the last window
	T         float64 `json:"t"`     // slope over its standard error, corrected for windows that resemble their neighbours
	Clear     bool    `json:"clear"` // |T| is beyond what a steady run shows
}

const (
	// trendWindows is the fewest windows that can show a trend: one second's worth.
	trendWindows = 10
	// trendClear is the |T| from which a slope counts. A steady queue just below saturation wanders, and
	// the wandering looks like a slope: at 4, under 1% of the simulated steady runs pass for growing.
	trendClear = 4
	// maxResemblance bounds the correction for neighbouring windows, so that a real ramp (whose
	// residuals always resemble their neighbours) can still be seen.
	maxResemblance = 0.9
)

// trendOf fits a line to y over t, in seconds. Fewer points than trendWindows give no trend.
func trendOf(t, y []float64) Trend {
	n := len(t)
	if n < trendWindows {
		return Trend{}
	}
	return lineThrough(t, y)
}

// lineThrough fits a line to at least three points.
func lineThrough(t, y []float64) Trend {
	n := len(t)
	intercept, slope := stat.LinearRegression(t, y, nil, false)
	residuals := make([]float64, n)
	var squares, neighbours float64
	for i := range t {
		residuals[i] = y[i] - intercept - slope*t[i]
		squares += residuals[i] * residuals[i]
		if i > 0 {
			neighbours += residuals[i] * residuals[i-1]
		}
	}
	trend := Trend{PerSecond: slope, End: intercept + slope*t[n-1]}
	spread := stat.Variance(t, nil) * float64(n-1)
	if spread == 0 || slope == 0 {
		return trend
	}
	if squares <= 1e-18*slope*slope*spread { // a line without any noise
		trend.T, trend.Clear = math.Copysign(math.MaxFloat32, slope), true
		return trend
	}
	standardError := math.Sqrt(squares / float64(n-2) / spread)
	// Windows that resemble their neighbours say less than as many independent ones: with lag-one
	// autocorrelation r, n of them are worth n(1-r)/(1+r). The second term takes out the bias of r in
	// short series (Kendall 1954).
	r := neighbours / squares
	r = min(max(r+(1+4*r)/float64(n), 0), maxResemblance)
	trend.T = slope / standardError * math.Sqrt((1-r)/(1+r))
	trend.Clear = math.Abs(trend.T) > trendClear
	return trend
}
