package compare

import (
	"math"
	"slices"

	"dyno/lab/record"
)

// Row is a ladder's step.
type Row struct {
	Name   string    `json:"name"`
	Change string    `json:"change,omitempty"`
	Data   []float64 `json:"data"`   // one per round, or of turns per batch of blocks
	Median float64   `json:"median"` // of Data; 0 when there are none
	// ToBaseline compares the step to the first. The first step's own is the floor: itself against itself.
	ToBaseline Comparison  `json:"to_baseline"`
	ToBefore   *Comparison `json:"to_before"`           // to the step before; nil for the first
	LeaveOut   *Comparison `json:"leave_out,omitempty"` // the last step without this one (a) and with it (b)
}

// Ladder compares each of an experiment's variants to the first and to the one before.
func Ladder(exp *record.Experiment, metric string, datum Datum) []Row {
	rows := make([]Row, 0, len(exp.Variants))
	base := floor(exp, metric, datum)
	for i, v := range exp.Variants {
		row := Row{Name: v.Name, Change: v.Change, Data: []float64{}}
		row.Data = append(row.Data, data(exp, metric, Side{measured(exp), v.Name}, datum)...)
		row.Median = median(row.Data)
		if i == 0 {
			row.ToBaseline = itself(base, metric, v.Name)
		} else {
			row.ToBaseline = Between(exp, metric, exp.Variants[0].Name, v.Name, datum)
			before := Between(exp, metric, exp.Variants[i-1].Name, v.Name, datum)
			row.ToBefore = &before
		}
		row.LeaveOut = leftOut(exp, metric, v.Name, datum)
		rows = append(rows, row)
	}
	return rows
}

// data are what one side showed.
func data(exp *record.Experiment, metric string, self Side, datum Datum) (out []float64) {
	if byTurns(exp, metric) {
		for _, log := range turnsOf(exp.Slices, metric, self, self).batches() {
			out = append(out, math.Exp(log))
		}
		return out
	}
	for _, round := range rounds(exp, self, self) {
		if x, ok := datum(self.Role, self.Variant, round); ok {
			out = append(out, x)
		}
	}
	return out
}

// itself is the baseline's own row: the floor when it was measured, else the trivial ratio.
func itself(floor Comparison, metric, name string) Comparison {
	if floor.Schema == "" || floor.A != name {
		return Comparison{Schema: Schema, Metric: metric, A: name, B: name, Ratio: 1, Verdict: NotDecided,
			Warnings: []string{"the baseline was not measured against itself"}}
	}
	floor.Floor = floor.Interval
	return floor
}

// leftOut compares the last step without one of its changes to the last step itself; nil when that was
// not measured.
func leftOut(exp *record.Experiment, metric, name string, datum Datum) *Comparison {
	without := Side{record.RoleAblation, name}
	if !without.ran(exp) {
		return nil
	}
	last := exp.Variants[len(exp.Variants)-1].Name
	c := paired(exp, metric, without, Side{record.RoleMeasure, last}, datum)
	c.A, c.B = last+" without "+name, last
	c.Floor = floor(exp, metric, datum).Interval
	c.judgeFloor()
	return &c
}

// median of values; 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
