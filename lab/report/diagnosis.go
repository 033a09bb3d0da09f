package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dyno/lab/diagnose"
	"dyno/lab/report/figure"
	"dyno/lab/report/words"
)

// complete prepares diagnoses for JSON, in which this schema has no null lists and no NaN.
func complete(ds []diagnose.Diagnosis) []diagnose.Diagnosis {
	out := slices.Clone(ds)
	for i := range out {
		d := &out[i]
		d.Also, d.Where, d.Evidence = figure.Filled(d.Also), finitePlaces(d.Where), finiteEvidence(d.Evidence)
		d.Interventions, d.Unseen, d.Warnings = figure.Filled(d.Interventions), figure.Filled(d.Unseen), figure.Filled(d.Warnings)
		d.CapacityPerS, d.PeakPerS = figure.Finite(d.CapacityPerS), figure.Finite(d.PeakPerS)
		d.Findings = slices.Clone(figure.Filled(d.Findings))
		for j := range d.Findings {
			f := &d.Findings[j]
			f.Evidence, f.Where = finiteEvidence(f.Evidence), finitePlaces(f.Where)
		}
		signals := diagnose.Signals{}
		for name, v := range d.Signals {
			if figure.Value(v).Known() {
				signals[name] = v
			}
		}
		d.Signals = signals
	}
	return out
}

func finiteEvidence(in []diagnose.Evidence) []diagnose.Evidence {
	return slices.DeleteFunc(slices.Clone(figure.Filled(in)), func(e diagnose.Evidence) bool { return !figure.Value(e.Value).Known() })
}

func finitePlaces(in []diagnose.Place) []diagnose.Place {
	out := slices.Clone(figure.Filled(in))
	for i := range out {
		out[i].Share = figure.Finite(out[i].Share)
	}
	return out
}

// diagnosis is the diagnosis of a variant; nil when it has none.
func (r *Report) Diagnosis(variant string) *diagnose.Diagnosis {
	for i := range r.Diagnoses {
		if r.Diagnoses[i].Variant == variant {
			return &r.Diagnoses[i]
		}
	}
	return nil
}

// told reports whether the answer already contains the verdict.
func (r *Report) Told(d *diagnose.Diagnosis) bool { return strings.Contains(r.Answer, d.InWords) }

// nameOf is the subject of a diagnosis: the variant, or the report's subject.
func (r *Report) NameOf(d *diagnose.Diagnosis) string { return cmp.Or(d.Variant, r.subject()) }

// diagnosisAnswer is the verdict in a sentence or two: the capacity, if it was measured, and the
// bottleneck.
func (r *Report) diagnosisAnswer() string {
	if len(r.Diagnoses) == 0 {
		return "Nothing was diagnosed."
	}
	d := &r.Diagnoses[0]
	said := cmp.Or(d.InWords, "It is bound by "+words.Verdict(d)+".")
	if r.Capacity != nil && r.Capacity.Valid {
		return fmt.Sprintf("%s carries %s%s. %s", r.NameOf(d), figure.Rate(figure.Value(d.CapacityPerS)), figure.At(words.Latency(r.SLO)), said)
	}
	return said
}

// whyUndiagnosed is the reason why no variant has a verdict; empty when one has.
func (r *Report) whyUndiagnosed() string {
	why := "nothing was diagnosed"
	for _, d := range r.Diagnoses {
		if d.Valid {
			return ""
		}
		why = cmp.Or(d.Reason, "there is no verdict")
	}
	return why
}
