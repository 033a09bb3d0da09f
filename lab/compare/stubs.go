package compare

import "dyno/lab/record"

// Ratio compares paired data, one pair per round, in the order of the rounds.
func Ratio(metric string, a, b []float64) Comparison { return Comparison{} }

// Between compares two variants of an experiment, with the floor and the runs' warnings.
func Between(exp *record.Experiment, metric, a, b string, datum Datum) Comparison {
	return Comparison{}
}

// AtEqualRate is the Datum of runs that were driven at one rate: the metric's mean over a slot's runs.
func AtEqualRate(exp *record.Experiment, metric string) Datum { return nil }

// Ladder compares each variant to the first and to the one before.
func Ladder(exp *record.Experiment, metric string, datum Datum) []Row { return nil }

// Rotation orders fresh measurements of several variants over rounds so that drift cancels.
type Rotation struct {
	Variants []string // in ladder order
	Rounds   int      // rounds count from 1
	Floor    string   // the variant measured twice a round (record.RoleFloor); empty: none
	Leave    []string // steps to leave out of the last variant (record.RoleLeave, Variant names what is left out)
	// Inner plans the runs of one slot: role, variant, round and pair are set in slot; runs are those of
	// this slot so far, invalid ones included. It returns the next step, or done.
	Inner func(slot record.Step, runs []*record.Run) (record.Step, bool)
}

// Next returns the next step of the rotation, or done.
func (r Rotation) Next(exp *record.Experiment) (step record.Step, done bool) {
	return record.Step{}, true
}

// Gate is a condition on a comparison, such as capacity>=0.97.
type Gate struct {
	Metric string
	Op     string // >= or <=
	Bound  float64
}

// What a gate can say.
const (
	Pass      = "pass"
	Fail      = "fail"
	Undecided = "undecided"
)

// Outcome is what a gate said of a comparison.
type Outcome struct {
	Gate    string `json:"gate"`
	Verdict string `json:"verdict"` // pass | fail | undecided
	InWords string `json:"in_words"`
}

// ParseGate reads metric>=bound or metric<=bound.
func ParseGate(s string) (Gate, error) { return Gate{}, nil }

// Judge applies the gate to the whole interval.
func (g Gate) Judge(c Comparison) Outcome { return Outcome{} }
