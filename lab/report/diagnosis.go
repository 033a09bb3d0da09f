package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/report/format"
)

// Diagnosis is the diagnosis of a variant; nil when it has none.
func (r *Report) Diagnosis(variant string) *diagnose.Diagnosis {
	for i := range r.Diagnoses {
		if r.Diagnoses[i].Variant == variant {
			return &r.Diagnoses[i]
		}
	}
	return nil
}

// AnswerHolds reports whether the answer already contains the verdict.
func (r *Report) AnswerHolds(d *diagnose.Diagnosis) bool {
	return strings.Contains(r.Answer, d.Text)
}

// NameOf is the subject of a diagnosis: the variant, or the report's subject.
func (r *Report) NameOf(d *diagnose.Diagnosis) string { return cmp.Or(d.Variant, r.subject()) }

// diagnosisAnswer is the verdict in a sentence or two: the capacity, if it was measured, and the
// bottleneck.
func (r *Report) diagnosisAnswer() string {
	if len(r.Diagnoses) == 0 {
		return "Nothing was diagnosed."
	}
	d := &r.Diagnoses[0]
	text := cmp.Or(d.Text, "It is bound by "+format.Verdict(d)+".")
	if r.Capacity != nil && r.Capacity.Valid {
		return fmt.Sprintf("%s carries %s%s. %s", r.NameOf(d), r.carried(format.Value(d.CapacityPerS)), format.At(format.Latency(r.SLO)), text)
	}
	return text
}

// CarriesText says how much a diagnosed service carries: the capacity under the SLO with its
// interval, and the peak.
func (r *Report) CarriesText(d *diagnose.Diagnosis) string {
	text := ""
	switch c := r.Capacity; {
	case c == nil || !r.SLO.Bounded():
	case c.Valid:
		text = r.carried(format.Value(c.CapacityPerS))
		if len(r.Steps) > 0 {
			text += format.Space(format.Between(r.Steps[0].Interval))
		}
		text += format.At(format.SLO(r.SLO))
	case c.AtLeast:
		text = "at least " + r.carried(format.Value(c.CapacityPerS)) + format.At(format.SLO(r.SLO)) + " (" + c.Reason + ")"
	case c.Reason != "":
		text = "no capacity under the SLO was found (" + c.Reason + ")"
	}
	if d.PeakPerS > 0 {
		if text != "" {
			text += "; "
		}
		text += format.Rate(format.Value(d.PeakPerS)) + " at its peak"
	}
	return cmp.Or(text, "nothing: no request was answered")
}

// explain sets for each step why its throughput changed against the previous step, or did not.
func (r *Report) explain() {
	if r.Turns == nil && r.Metric != compare.MetricCapacity || len(r.Steps) == 0 || r.Steps[0].Verdict != Baseline {
		return
	}
	for i := 1; i < len(r.Steps); i++ {
		before, after := &r.Steps[i-1], &r.Steps[i]
		if at := slices.IndexFunc(r.Steps, func(s VariantResult) bool { return s.Name == after.Reference }); at >= 0 {
			before = &r.Steps[at]
		}
		if d := r.Diagnosis(after.Name); d != nil && d.Moved == "" {
			d.Moved = diagnose.Explain(r.Diagnosis(before.Name), d, stepChange(before, after, before == &r.Steps[0]))
		}
	}
}

// stepChange is the change of a step against the one before it, which may be the baseline or the
// reference of a variant that is compared with it alone.
func stepChange(before, after *VariantResult, baseline bool) diagnose.StepChange {
	ratio, between := after.StepRatio, after.StepInterval
	if baseline || after.Reference != "" {
		ratio, between = after.Ratio, after.RatioInterval
	}
	m := diagnose.StepChange{
		Ratio:  ratio.OrZero(),
		CPU:    [2]float64{before.Figure(FigureCPU).OrZero(), after.Figure(FigureCPU).OrZero()},
		Allocs: [2]float64{before.Figure(FigureAllocs).OrZero(), after.Figure(FigureAllocs).OrZero()},
		Bytes:  [2]float64{before.Figure(FigureAllocBytes).OrZero(), after.Figure(FigureAllocBytes).OrZero()},
	}
	if between != nil {
		m.Low, m.High = between.Lo, between.Hi
	}
	return m
}
