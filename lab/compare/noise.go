package compare

import (
	"fmt"
	"math"

	"dyno/lab/record"
)

// This file holds the noise floor: how much two processes of one program differ, which the A/A
// control (a second process of the baseline) shows. They differ most while other programs use the
// machine: by a third in work rate, and by a tenth in CPU per request.

// noise holds the batches of the A/A control against the baseline. They show what the samples of
// two variants cannot: how much their processes would differ if their programs were the same.
type noise struct {
	of   string // the baseline
	logs []float64
}

// noiseOf returns the noise that a comparison must allow for; nil if there is no control, if the
// comparison is that of the control, or if every sample is of new processes, since the scatter of
// those contains the noise already.
func noiseOf(all []record.Slice, metric string, t turns, b Arm, batches func(turns) []float64) *noise {
	if b.Role == record.RoleControl || t.size == 1 {
		return nil
	}
	for i := range all {
		if s := &all[i]; s.Role == record.RoleControl {
			of := turnsOf(all, metric, Arm{record.RoleMeasure, s.Variant}, Arm{s.Role, s.Variant})
			return &noise{s.Variant, batches(of)}
		}
	}
	return nil
}

// floor returns the interval of the first n batches; nil: too few, or no control.
func (x *noise) floor(n int, alpha float64) *[2]float64 {
	if x == nil {
		return nil
	}
	return interval(x.logs[:min(n, len(x.logs))], alpha)
}

// widen makes an interval wider on both sides, by the most that the baseline differs from itself.
func widen(in, floor *[2]float64) *[2]float64 {
	if in == nil || floor == nil {
		return in
	}
	by := spread(*floor)
	return &[2]float64{in[0] / by, in[1] * by}
}

// spread returns the largest ratio of two processes of one program, by their interval.
func spread(floor [2]float64) float64 { return max(floor[1], 1/floor[0]) }

// allow widens a comparison's interval by the noise floor, and reads the verdict from the wider one.
func (c *Comparison) allow(x *noise) {
	if x == nil {
		return
	}
	c.NoiseFloor = x.floor(len(x.logs), alphaAt(len(x.logs)))
	if c.NoiseFloor == nil || c.Interval == nil {
		return
	}
	c.Interval = widen(c.Interval, c.NoiseFloor)
	c.Noise = fmt.Sprintf("the interval includes a noise floor of %.1f%%: two processes of %s, the same program, may differ by that (%s)",
		(spread(*c.NoiseFloor)-1)*100, x.of, span(*c.NoiseFloor))
	c.Verdict = verdict(better(c.Metric), c.Interval)
	c.warnOfNoise()
}

// warnOfNoise warns if the baseline differs from itself, or if the observed difference is within
// the noise.
func (c *Comparison) warnOfNoise() {
	f := c.NoiseFloor
	if f == nil {
		return
	}
	if f[0] > 1 || f[1] < 1 {
		c.warn("the baseline differs from itself (%s): the machine was not steady enough, or it is the false alarm expected once in twenty", span(*f))
	}
	if (c.Verdict == Faster || c.Verdict == Slower) && c.Ratio >= f[0] && c.Ratio <= f[1] {
		c.warn("the ratio %.3f is within the range of the baseline against itself (%s)", c.Ratio, span(*f))
	}
}

func span(in [2]float64) string { return fmt.Sprintf("%.3f to %.3f", in[0], in[1]) }

// half is the half-width of an interval, as a logarithm.
func half(in [2]float64) float64 { return math.Log(in[1]/in[0]) / 2 }
