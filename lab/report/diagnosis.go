package report

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/diagnose"
)

// complete prepares diagnoses for JSON, in which this schema has no null lists and no NaN.
func complete(ds []diagnose.Diagnosis) []diagnose.Diagnosis {
	out := slices.Clone(ds)
	for i := range out {
		d := &out[i]
		d.Also, d.Where, d.Evidence = filled(d.Also), finitePlaces(d.Where), finiteEvidence(d.Evidence)
		d.Interventions, d.Unseen, d.Warnings = filled(d.Interventions), filled(d.Unseen), filled(d.Warnings)
		d.CapacityPerS, d.PeakPerS = finite(d.CapacityPerS), finite(d.PeakPerS)
		d.Findings = slices.Clone(filled(d.Findings))
		for j := range d.Findings {
			f := &d.Findings[j]
			f.Evidence, f.Where = finiteEvidence(f.Evidence), finitePlaces(f.Where)
		}
		signals := diagnose.Signals{}
		for name, v := range d.Signals {
			if Value(v).Known() {
				signals[name] = v
			}
		}
		d.Signals = signals
	}
	return out
}

// filled returns an empty list instead of nil.
func filled[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func finiteEvidence(in []diagnose.Evidence) []diagnose.Evidence {
	return slices.DeleteFunc(slices.Clone(filled(in)), func(e diagnose.Evidence) bool { return !Value(e.Value).Known() })
}

func finitePlaces(in []diagnose.Place) []diagnose.Place {
	out := slices.Clone(filled(in))
	for i := range out {
		out[i].Share = finite(out[i].Share)
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

// boundWords name the bottlenecks.
var boundWords = map[diagnose.Bound]string{
	diagnose.CPU: "CPU", diagnose.GC: "allocation and GC", diagnose.Lock: "a lock", diagnose.Syscall: "system calls",
	diagnose.Wait: "waiting", diagnose.Generator: "the load generator", diagnose.Environment: "other processes",
	diagnose.NotLoaded: "none yet: it was not loaded", diagnose.Unknown: "unknown",
}

// boundBy names a verdict briefly: a lock (mutex).
func boundBy(d *diagnose.Diagnosis) string {
	switch {
	case d == nil:
		return dash
	case !d.Valid:
		return "no verdict"
	}
	said := cmp.Or(boundWords[d.Bound], string(d.Bound), boundWords[diagnose.Unknown])
	if d.Kind != "" && d.Kind != string(d.Bound) {
		said += " (" + d.Kind + ")"
	}
	if !d.Confirmed && d.Disturbed != "" && d.Bound != diagnose.Environment {
		said += ", unconfirmed"
	}
	return said
}

// verdictWords name a verdict with the further bounds: a lock (mutex), also allocation and GC.
func verdictWords(d *diagnose.Diagnosis) string {
	said := boundBy(d)
	if d.Valid && len(d.Also) > 0 {
		var also []string
		for _, b := range d.Also {
			also = append(also, cmp.Or(boundWords[b], string(b)))
		}
		said += ", also " + strings.Join(also, ", ")
	}
	return said
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
	said := cmp.Or(d.InWords, "It is bound by "+verdictWords(d)+".")
	if r.Capacity != nil && r.Capacity.Valid {
		return fmt.Sprintf("%s carries %s%s. %s", r.NameOf(d), rate(Value(d.CapacityPerS)), at(latencyWords(r.SLO)), said)
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

// evidenceFigure formats a figure with its unit; a share as a percentage.
func evidenceFigure(e diagnose.Evidence) string {
	v := Value(e.Value)
	switch e.Unit {
	case "share":
		return percent(Value(significant(e.Value, 3)))
	case "of CPU time", "per doubling":
		return percent(Value(significant(e.Value, 3))) + " " + e.Unit
	case "1/s":
		return rate(v)
	}
	return figure(v) + space(e.Unit)
}

// signalWords format a signal's name: cpu per request.
func signalWords(e diagnose.Evidence) string { return strings.ReplaceAll(e.Signal, "_", " ") }

// placeWords format a place in a file, with its last folder.
func placeWords(p diagnose.Place) string {
	if p.File == "" {
		return ""
	}
	dir, name := path.Split(strings.ReplaceAll(p.File, `\`, "/"))
	said := name
	if last := path.Base(dir); last != "." && last != "/" {
		said = last + "/" + name
	}
	if p.Line > 0 {
		said += ":" + strconv.Itoa(p.Line)
	}
	return said
}

// shareWords format a place's share; empty if unknown.
func shareWords(p diagnose.Place) string {
	if p.Share <= 0 {
		return ""
	}
	return percent(Value(math.Round(p.Share*1000) / 1000))
}

// heldWords state whether the prediction came true.
func heldWords(i diagnose.Intervention) string {
	if i.Held {
		return "held"
	}
	return "failed"
}
