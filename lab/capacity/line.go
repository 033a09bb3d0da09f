package capacity

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Trend is a straight line through a run's windows.
type Trend struct {
	PerSecond float64 `json:"per_s"` // change per second, in the unit of the values (latency: ms)
	End       float64 `json:"end"`   // the line's value at the last window
	T         float64 `json:"t"`     // slope over its standard error, corrected for autocorrelation
	Clear     bool    `json:"clear"` // |T| exceeds what a steady run shows
}

const (
	// trendWindows is the fewest windows that can show a trend: one second.
	trendWindows = 10
	// clear is the |T| above which a slope counts. A steady queue just below saturation
	// wanders, which looks like a slope: at 4, under 1% of the simulated steady runs count as
	// growing.
	clear = 4
	// maxResemblance bounds the correction for autocorrelation, so that a real ramp (whose
	// residuals are always autocorrelated) can still be detected.
	maxResemblance = 0.9
)

// trendOf fits a line to y over t, in seconds. Fewer points than trendWindows give a zero Trend.
func trendOf(t, y []float64) Trend {
	if len(t) < trendWindows {
		return Trend{}
	}
	return fitLine(t, y)
}

// fitLine fits a line to at least three points.
func fitLine(t, y []float64) Trend {
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
	if squares <= 1e-18*slope*slope*spread { // a line without noise
		trend.T, trend.Clear = math.Copysign(math.MaxFloat32, slope), true
		return trend
	}
	standardError := math.Sqrt(squares / float64(n-2) / spread)
	// Autocorrelated windows count less than independent ones: with lag-one autocorrelation r, n of
	// them are worth n(1-r)/(1+r). The second term removes the bias of r in short series (Kendall
	// 1954).
	r := neighbours / squares
	r = min(max(r+(1+4*r)/float64(n), 0), maxResemblance)
	trend.T = slope / standardError * math.Sqrt((1-r)/(1+r))
	trend.Clear = math.Abs(trend.T) > clear
	return trend
}
