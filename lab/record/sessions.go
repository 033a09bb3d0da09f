package record

import "github.com/HdrHistogram/hdrhistogram-go"

// Sessions sums up connections that stay open through a run. All rates are over the measured time.
type Sessions struct {
	Planned int64     `json:"planned"`
	Opened  int64     `json:"opened"`     // the others could not be opened
	Lost    int64     `json:"lost"`       // ended after they had opened, before the run did
	Opening Quantiles `json:"opening_ms"` // time to open one
	// Frames per second of a session: the mean, the smallest, and the one that 99% of all sessions
	// reach. A session that did not open has 0.
	FramesMean float64 `json:"frames_per_s"`
	FramesMin  float64 `json:"frames_per_s_min"`
	FramesP1   float64 `json:"frames_per_s_p1"`
	BytesPerS  float64 `json:"bytes_per_s"` // received by a session, mean
}

// SessionsOf reads the figures of sessions from the histograms of their opening times and of the
// mean gaps between their frames. The others are sums over the measured time, in seconds.
func SessionsOf(opening, gaps *hdrhistogram.Histogram, lost, frames, bytes int64, seconds float64) *Sessions {
	if gaps == nil || gaps.TotalCount() == 0 {
		return nil
	}
	n := float64(gaps.TotalCount()) * seconds
	s := &Sessions{Planned: gaps.TotalCount(), Lost: lost, Opening: QuantilesOf(opening), FramesMean: float64(frames) / n, BytesPerS: float64(bytes) / n,
		FramesMin: perSecond(gaps.Max()), FramesP1: perSecond(gaps.ValueAtQuantile(99))}
	if opening != nil {
		s.Opened = opening.TotalCount()
	}
	return s
}

// perSecond returns the rate of events with a mean gap in ns. The longest gap that a histogram can
// hold stands for no event.
func perSecond(gap int64) float64 {
	if gap <= 0 || gap >= histHighest {
		return 0
	}
	return 1e9 / float64(gap)
}

// lostShare is the share of sessions that did not open or were lost.
func (s *Sessions) lostShare() float64 {
	if s == nil || s.Planned == 0 {
		return 0
	}
	return float64(s.Planned-s.Opened+s.Lost) / float64(s.Planned)
}
