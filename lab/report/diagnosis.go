package report

import (
	"cmp"
	"fmt"
	"strings"

	"dyno/lab/diagnose"
	"dyno/lab/report/figure"
	"dyno/lab/report/words"
)

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
