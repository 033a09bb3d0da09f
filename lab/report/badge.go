package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Tone is what a colour means; colours have no other meaning.
type Tone string

// Tones.
const (
	Good Tone = "good" // the result is there, and nothing is worse; green
	Part Tone = "part" // a part of the result is missing; amber
	Bad  Tone = "bad"  // there is no result, requests failed, or it is worse; red
)

// Badge is what a report shows first: whether there is a result, and how certain it is.
type Badge struct {
	Tone Tone
	Word string
	Text string // certainty of the result, or why there is none
}

// Words of badges that are no outcomes of an experiment.
const (
	failures = "failures"
	partial  = "partial"
	worse    = "worse"
)

// Badge returns the outcome of the experiment, unless the result says more: that requests failed,
// that something is worse, or that a part of it is missing.
func (r *Report) Badge() Badge {
	switch o := r.Outcome; o.Status {
	case record.OutcomeComplete:
	case record.OutcomeInvalid:
		return Badge{Bad, o.Status, o.Reason}
	default:
		return Badge{Part, o.Status, cmp.Or(o.Reason, "it ended early") + "; until then " + r.EvidenceText()}
	}
	switch failed := r.FailuresText(); {
	case failed != "":
		return Badge{Bad, failures, failed + "; " + r.EvidenceText()}
	case r.isWorse():
		return Badge{Bad, worse, r.EvidenceText()}
	case r.LacksText() != "":
		return Badge{Part, partial, r.EvidenceText()}
	}
	return Badge{Good, record.OutcomeComplete, r.EvidenceText()}
}

// isWorse reports whether the compared variant is slower: one of several than its reference, or the
// last step of a ladder than the baseline.
func (r *Report) isWorse() bool {
	slower := func(s VariantResult) bool { return s.BaseVerdict == compare.Slower }
	switch {
	case r.Comparison != nil:
		return r.Comparison.Verdict == compare.Slower
	case r.Several():
		return slices.ContainsFunc(r.Steps, slower)
	}
	return len(r.Steps) > 0 && slower(r.Steps[len(r.Steps)-1])
}

// FailuresText says how many requests of a single load failed, if that is more than the SLO permits,
// or what a diagnosed service refused; empty: neither.
func (r *Report) FailuresText() string {
	if r.IsDiagnosis() && len(r.Diagnoses) > 0 {
		return r.Diagnoses[0].Sheds
	}
	if r.Load == nil {
		return ""
	}
	if share := r.Load.Run.Totals.ErrorShare(); share > r.SLO.Errors {
		return format.Percent(format.Value(share)) + " of the requests failed"
	}
	return ""
}

// LacksText says what is missing of the result: intervals, capacities, or the verdict. It is empty
// if nothing is.
func (r *Report) LacksText() string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	switch {
	case r.IsDiagnosis():
		add(r.lacksVerdict())
	case r.isCapacity():
		add(r.lacksCapacity())
	case len(r.Steps) < 2 || r.Kind == record.KindSweep:
	default:
		base, rest := &r.Steps[0], r.Steps[1:]
		against := " against " + base.Name
		if r.Several() {
			against = ""
		}
		if c := r.Comparison; c != nil && c.Interval == nil {
			add("the ratio of " + strings.TrimPrefix(format.Metrics[c.Metric], "peak ") + " has no interval")
		} else if c == nil {
			add(without(rest, r.thing(), against, "an interval", func(s *VariantResult) bool { return s.RatioInterval == nil }))
		}
		add(without(r.Steps, r.thing(), "", "a capacity", func(s *VariantResult) bool { return s.NoCapacity != "" }))
		add(without(r.Steps, r.thing(), "", "a result", func(s *VariantResult) bool { return s.Invalid != "" }))
	}
	return strings.Join(parts, ", ")
}

// thing names a row of the table of steps.
func (r *Report) thing() string {
	if r.Kind == record.KindCompare {
		return "variant"
	}
	return "step"
}

// without says how many steps lack what; empty: none does.
func without(steps []VariantResult, thing, against, what string, lacks func(*VariantResult) bool) string {
	n := 0
	for i := range steps {
		if lacks(&steps[i]) {
			n++
		}
	}
	verb := "have"
	if n == 1 {
		verb = "has"
	}
	switch {
	case n == 0:
		return ""
	case n == len(steps):
		return "no " + thing + against + " has " + what
	}
	_, bare, _ := strings.Cut(what, " ")
	return fmt.Sprintf("%d of %s%s %s no %s", n, format.Plural(len(steps), thing), against, verb, bare)
}

// lacksVerdict says why a diagnosis names nothing that bounds the service; empty: it does.
func (r *Report) lacksVerdict() string {
	if len(r.Diagnoses) == 0 {
		return "nothing was diagnosed"
	}
	d := &r.Diagnoses[0]
	switch {
	case !d.Valid:
		return "there is no verdict"
	case d.Kind == rules.Refused && d.Sheds != "": // the limit at which it refuses bounds it
	case d.Bottleneck == rules.Unknown || d.Bottleneck == rules.NotLoaded || d.Bottleneck == rules.Generator || d.Bottleneck == rules.Environment:
		return "nothing was found in the service that bounds it"
	case d.Disturbed != "" && !d.Confirmed:
		return "the verdict is unconfirmed"
	}
	return ""
}

// lacksCapacity says why the result of a search is no capacity with an interval; empty: it is.
func (r *Report) lacksCapacity() string {
	if len(r.Steps) == 0 {
		return "nothing was measured"
	}
	s := &r.Steps[0]
	switch {
	case r.Capacity != nil && r.Capacity.AtLeast:
		return "only a lower bound of the capacity was found"
	case !s.Capacity.Known():
		return "no capacity was found"
	case s.Interval == nil:
		return "the capacity has no interval"
	}
	return ""
}

// NoCapacityText says why a step has no capacity; empty: it has one, or none was searched for.
func (s *VariantResult) NoCapacityText() string {
	switch {
	case s.NoCapacity == "":
		return ""
	case s.AtLeast.Known():
		return "capacity at least " + format.Rate(s.AtLeast) + ": " + s.NoCapacity
	}
	return "no capacity: " + s.NoCapacity
}
