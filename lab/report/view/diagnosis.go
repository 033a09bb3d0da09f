package view

import (
	"slices"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/report/format"
)

// Complete returns the diagnoses in the form of the published JSON, which has no null lists and no
// NaN.
func Complete(ds []diagnose.Diagnosis) []diagnose.Diagnosis {
	out := slices.Clone(ds)
	for i := range out {
		d := &out[i]
		d.Also, d.Sites, d.Evidence = format.Filled(d.Also), finiteSites(d.Sites), finiteEvidence(d.Evidence)
		d.Interventions, d.Unseen, d.Warnings = format.Filled(d.Interventions), format.Filled(d.Unseen), format.Filled(d.Warnings)
		d.CapacityPerS, d.PeakPerS = format.Finite(d.CapacityPerS), format.Finite(d.PeakPerS)
		d.Findings = slices.Clone(format.Filled(d.Findings))
		for j := range d.Findings {
			f := &d.Findings[j]
			f.Evidence, f.Sites = finiteEvidence(f.Evidence), finiteSites(f.Sites)
		}
		signals := rules.Signals{}
		for name, v := range d.Signals {
			if format.Value(v).Known() {
				signals[name] = v
			}
		}
		d.Signals = signals
	}
	return out
}

func finiteEvidence(in []findings.Evidence) []findings.Evidence {
	return slices.DeleteFunc(slices.Clone(format.Filled(in)), func(e findings.Evidence) bool { return !format.Value(e.Value).Known() })
}

func finiteSites(in []stacks.Site) []stacks.Site {
	out := slices.Clone(format.Filled(in))
	for i := range out {
		out[i].Share = format.Finite(out[i].Share)
	}
	return out
}
