package report

import "dyno/lab/record"

// kind is what differs between the reports of kinds of experiment: how one is built, and how its
// answer is stated.
type kind struct {
	build  func(*Report, *record.Experiment, Results)
	answer func(*Report) string
}

var kinds = map[string]kind{
	record.KindLoad:     {(*Report).load, (*Report).loadAnswer},
	record.KindLadder:   {(*Report).steps, (*Report).ladderAnswer},
	record.KindCompare:  {(*Report).compare, (*Report).compareAnswer},
	record.KindCapacity: {(*Report).capacity, (*Report).capacityAnswer},
	record.KindSweep:    {(*Report).sweep, (*Report).sweepAnswer},
	record.KindDiagnose: {(*Report).diagnosed, (*Report).diagnosisAnswer},
}

// kindOf is a kind by its name; one of a later version is shown as a ladder.
func kindOf(name string) kind {
	if k, ok := kinds[name]; ok {
		return k
	}
	return kinds[record.KindLadder]
}

func single(e *record.Experiment) bool { return e.Kind == record.KindLoad }

// declared reports whether the loads of an experiment were given, so that no capacity is searched.
func declared(e *record.Experiment) bool { return single(e) || e.Kind == record.KindSweep }

// climbs reports whether each variant of an experiment is compared with the one before as well.
func climbs(e *record.Experiment) bool { return e.Kind == record.KindLadder }

// compares reports whether each variant of an experiment is compared with its reference alone.
func compares(e *record.Experiment) bool { return e.Kind == record.KindCompare }

// several reports whether an experiment compares more than two variants.
func several(e *record.Experiment) bool { return compares(e) && len(e.Variants) > 2 }

// IsDiagnosis reports whether a diagnosis was asked for, and nothing else.
func (r *Report) IsDiagnosis() bool { return r.Kind == record.KindDiagnose }

// isCapacity reports whether the capacity of one variant was searched.
func (r *Report) isCapacity() bool { return r.Kind == record.KindCapacity }

// Several reports whether it compares more than two variants, so that there is no single
// comparison.
func (r *Report) Several() bool {
	return r.Kind == record.KindCompare && r.Comparison == nil && len(r.Steps) > 2
}

// StepsTitle names the table of steps, and reports whether the outputs in text have it too: where
// they do not, the rates or the diagnosis say more. The title is empty if there is no such table: the
// variants are curves, or rows of the sweep.
func (r *Report) StepsTitle() (title string, inText bool) {
	switch r.Kind {
	case record.KindLadder:
		return "The ladder", true
	case record.KindCompare:
		return "Both sides", true
	case record.KindCapacity:
		return "Capacity", false
	case record.KindDiagnose:
		return "Variants", false
	case record.KindSweep:
		if r.Scaling != nil || r.Sweep != nil && (len(r.Sweep.Panels) != 1 || r.Sweep.Panels[0].Flows != nil) {
			return "", false
		}
		return "Variants", false
	}
	return "Variants", true
}

func (r *Report) isLadder() bool { return r.Kind == record.KindLadder }

// previousText names the step that a verdict in the table of steps compares with; empty: the table
// names it in another column.
func (r *Report) previousText() string {
	if r.isLadder() {
		return "against the previous step"
	}
	return ""
}

// AgainstText names the step with which a verdict by turns compares.
func (r *Report) AgainstText() string {
	if r.Kind == record.KindCompare && len(r.Steps) > 0 {
		return "against " + r.referenceText()
	}
	return "against the step before"
}
