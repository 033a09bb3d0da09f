package compare

import (
	"math"
	"slices"

	"dyno/lab/record"
)

// Row is one variant of a ladder or a comparison.
type Row struct {
	Name   string    `json:"name"`
	Change string    `json:"change,omitempty"`
	Data   []float64 `json:"data"`   // samples: one per round, or by turns one per batch of blocks
	Median float64   `json:"median"` // median of Data; 0 without samples
	// ToBaseline compares the variant with its reference: the first variant, unless it names
	// another. That of the first variant is the noise floor, which compares it with itself.
	ToBaseline Comparison `json:"to_baseline"`
	// ToBefore compares a ladder's step with the previous one. In a comparison, whose variants have
	// no order, it equals ToBaseline. Nil for the first.
	ToBefore *Comparison `json:"to_before"`
	// compares a ladder's last step without this one's change (a) with the last step (b)
	Ablation *Comparison `json:"leave_out,omitempty"`
}

// Ladder compares each of an experiment's variants with its reference, and a ladder's with the
// previous one as well.
func Ladder(exp *record.Experiment, metric string, sample Sample) []Row {
	rows := make([]Row, 0, len(exp.Variants))
	base := noiseFloor(exp, metric, sample)
	for i, v := range exp.Variants {
		row := Row{Name: v.Name, Change: v.Change, Data: []float64{}}
		row.Data = append(row.Data, data(exp, metric, Arm{measured(exp), v.Name}, sample)...)
		row.Median = Median(row.Data)
		if i == 0 {
			row.ToBaseline = itself(base, metric, v.Name)
		} else {
			row.ToBaseline = Between(exp, metric, exp.Reference(i), v.Name, sample)
			before := row.ToBaseline
			if exp.Kind != record.KindCompare {
				before = Between(exp, metric, exp.Variants[i-1].Name, v.Name, sample)
			}
			row.ToBefore = &before
		}
		row.Ablation = ablation(exp, metric, v.Name, sample)
		rows = append(rows, row)
	}
	return rows
}

func data(exp *record.Experiment, metric string, self Arm, sample Sample) (out []float64) {
	if byTurns(exp, metric) {
		for _, log := range turnsOf(exp.Slices, metric, self, self).batches() {
			out = append(out, math.Exp(log))
		}
		return out
	}
	for _, round := range rounds(exp, self, self) {
		if x, ok := sample(self.Role, self.Variant, round); ok {
			out = append(out, x)
		}
	}
	return out
}

// itself returns the comparison in the baseline's own row: the noise floor if it was measured,
// otherwise a ratio of 1.
func itself(floor Comparison, metric, name string) Comparison {
	if floor.Schema == "" || floor.A != name {
		return Comparison{Schema: Schema, Metric: metric, A: name, B: name, Ratio: 1, Verdict: NotDecided,
			Warnings: []string{"the baseline was not compared with itself"}}
	}
	floor.NoiseFloor = floor.Interval
	return floor
}

// ablation compares the last step without one step's change with the last step itself; nil: it was
// not measured.
func ablation(exp *record.Experiment, metric, name string, sample Sample) *Comparison {
	without := Arm{record.RoleAblation, name}
	if !without.ran(exp) {
		return nil
	}
	last := exp.Variants[len(exp.Variants)-1].Name
	c := withNoiseFloor(exp, metric, without, Arm{record.RoleMeasure, last}, sample)
	c.A, c.B = last+" without "+name, last
	return &c
}

// Median returns the median of values; 0 without values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// MedianInterval returns two of the values, between which the median of what they were drawn from lies in at least
// 95% of all cases, however that is distributed. It returns nil for fewer than six values.
func MedianInterval(values []float64) *[2]float64 {
	n, rank := len(values), 0
	chance := (1 - float64(n)) * math.Ln2 // that rank values lie on one side of the median, on either: its logarithm
	for outside := math.Exp(chance); outside <= 1-0.95; outside += math.Exp(chance) {
		rank++
		chance += math.Log(float64(n-rank+1) / float64(rank))
	}
	if rank == 0 {
		return nil
	}
	s := slices.Sorted(slices.Values(values))
	return &[2]float64{s[rank-1], s[n-rank]}
}
