package inside

import (
	"slices"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/places"
	"dyno/lab/diagnose/rules"
	"dyno/lab/report/figure"
)

// Complete prepares diagnoses for JSON, in which this schema has no null lists and no NaN.
func Complete(ds []diagnose.Diagnosis) []diagnose.Diagnosis {
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
		signals := rules.Signals{}
		for name, v := range d.Signals {
			if figure.Value(v).Known() {
				signals[name] = v
			}
		}
		d.Signals = signals
	}
	return out
}

func finiteEvidence(in []findings.Evidence) []findings.Evidence {
	return slices.DeleteFunc(slices.Clone(figure.Filled(in)), func(e findings.Evidence) bool { return !figure.Value(e.Value).Known() })
}

func finitePlaces(in []places.Place) []places.Place {
	out := slices.Clone(figure.Filled(in))
	for i := range out {
		out[i].Share = figure.Finite(out[i].Share)
	}
	return out
}
