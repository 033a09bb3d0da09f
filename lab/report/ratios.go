package report

import (
	"dyno/lab/record"
	"dyno/lab/report/figure"
	"dyno/lab/report/turns"
)

// ratios collects the pairs of a comparison: blocks of turns, or rounds.
func (r *Report) ratios(e *record.Experiment, a Analysis) (out []turns.Ratios) {
	c := r.Comparison
	if c == nil {
		return nil
	}
	if r.Turns == nil {
		over := c.B + " over " + c.A
		one := turns.Ratios{Metric: c.Metric, Rows: []turns.RatioRow{{Name: over, Ratios: nil, Ratio: figure.Measured(c.Ratio), Interval: figure.IntervalOf(c.Interval), Verdict: c.Verdict}}}
		floor := turns.RatioRow{Name: c.A + " over itself", Ratio: figure.Unknown, Interval: figure.IntervalOf(c.Floor)}
		for _, p := range r.Pairs {
			if p.Ratio.Known() {
				one.Rows[0].Ratios = append(one.Rows[0].Ratios, float64(p.Ratio))
			}
			if again, ok := a.Sample(record.RoleFloor, c.A, p.Round); ok && p.A > 0 {
				floor.Ratios = append(floor.Ratios, again/float64(p.A))
			}
		}
		if len(floor.Ratios) > 0 || floor.Interval != nil {
			one.Rows = append(one.Rows, floor)
		}
		return []turns.Ratios{one}
	}
	return turns.BlockRatios(e, r.Metrics)
}
