package record

import (
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Quantities that a histogram in latency.hlog measures: the first word of its tag.
const (
	HistResponse = "response" // response.STATUS or response.STATUS.CLASS, from the intended send time
	HistService  = "service"  // from the actual send
	HistLag      = "lag"      // the generator's own send-lag
	HistDelivery = "delivery" // from the intended send time until the sink has received it
	HistOpening  = "opening"  // time to open a session
	HistFlow     = "flow"     // a flow as a whole, from its intended start to its last answer
	HistGap      = "gap"      // mean time between the frames of a session, one value for each
)

// Limits of a histogram: 100 ns to one hour at three significant digits (about 220 kB in memory,
// a few hundred bytes on disk per window).
const (
	histLowest  = 100
	histHighest = int64(3600e9)
	histDigits  = 3
)

// NewHistogram returns an empty histogram of nanoseconds.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(histLowest, histHighest, histDigits)
}

// Clamp limits a duration in ns to the range of a histogram.
func Clamp(ns int64) int64 { return max(0, min(ns, histHighest)) }

// QuantilesOf returns the quantiles of a histogram of nanoseconds; nil and empty histograms give
// zeros.
func QuantilesOf(h *hdrhistogram.Histogram) Quantiles {
	if h == nil || h.TotalCount() == 0 {
		return Quantiles{}
	}
	const ms = 1e6
	v := h.ValueAtPercentilesSlice([]float64{50, 90, 95, 99, 99.9})
	return Quantiles{
		P50: float64(v[0]) / ms, P90: float64(v[1]) / ms, P95: float64(v[2]) / ms, P99: float64(v[3]) / ms, P999: float64(v[4]) / ms,
		Max: float64(h.Max()) / ms, Mean: h.Mean() / ms,
	}
}

// MatchTag reports whether tag is kind or one of its subdivisions.
func MatchTag(tag, kind string) bool {
	return tag == kind || strings.HasPrefix(tag, kind+".")
}
