package html

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// kindsOf are the flame graphs that may show the cause of a verdict, the likeliest first.
func kindsOf(b rules.Bound) []string {
	switch b {
	case rules.GC:
		return []string{record.ProfileHeap, "objects", record.ProfileCPU}
	case rules.Lock:
		return []string{record.ProfileMutex, record.ProfileBlock, record.ProfileCPU}
	case rules.Wait:
		return []string{record.ProfileBlock, record.ProfileMutex, record.ProfileGoroutine, record.ProfileCPU}
	}
	return []string{record.ProfileCPU, record.ProfileHeap, record.ProfileBlock}
}

// linkedPlace is a place in the code with the flame graph that shows it.
type linkedPlace struct {
	stacks.Site
	Variant string
	Flame   string // kind of flame graph; empty: none
}

func linked(r *report.Report, variant string, kinds []string, places []stacks.Site) (out []linkedPlace) {
	for _, p := range places {
		out = append(out, linkedPlace{p, variant, r.Flames.Showing(variant, kinds, p.Function)})
	}
	return out
}

// diagnosisView is a diagnosis as the page's template reads it.
type diagnosisView struct {
	diagnose.Diagnosis
	report *report.Report
}

// Places are the places of the verdict.
func (v diagnosisView) Places() []linkedPlace {
	return linked(v.report, v.Variant, kindsOf(v.Bound), v.Where)
}

// Name is the variant's name, or the report's subject.
func (v diagnosisView) Name() string { return v.report.NameOf(&v.Diagnosis) }

// BoundBy is the verdict in a few words.
func (v diagnosisView) BoundBy() string { return format.Verdict(&v.Diagnosis) }

// InAnswer reports whether the page's head already contains the verdict.
func (v diagnosisView) InAnswer() bool { return v.report.AnswerHolds(&v.Diagnosis) }

// Class is the CSS class of the verdict's colour.
func (v diagnosisView) Class() string {
	switch {
	case !v.Valid:
		return "bad"
	case v.Bound == rules.Unknown || v.Bound == rules.NotLoaded || v.Bound == rules.Generator || v.Bound == rules.Environment,
		v.Disturbed != "" && !v.Confirmed:
		return "part"
	}
	return "good"
}

// findingView is a finding as the page's template reads it.
type findingView struct {
	findings.Finding
	Variant string
	Places  []linkedPlace
	Flame   string // kind of the flame graph that shows it; empty: none
}

// Found returns the findings with links to their flame graphs.
func (v diagnosisView) Found() (out []findingView) {
	for _, f := range v.Findings {
		kinds := kindsOf(v.Bound)
		if f.Profile != "" {
			kinds = []string{f.Profile}
		}
		one := findingView{Finding: f, Variant: v.Variant, Places: linked(v.report, v.Variant, kinds, f.Where)}
		if v.report.Flames.Has(v.Variant, f.Profile) {
			one.Flame = f.Profile
		}
		out = append(out, one)
	}
	return out
}

// KindWords format the finding's kind: hot path.
func (f findingView) KindWords() string { return strings.ReplaceAll(f.Kind, "-", " ") }

// Diagnosed returns the diagnoses with links to their flame graphs.
func (v pageView) Diagnosed() (out []diagnosisView) {
	for _, d := range v.Diagnoses {
		out = append(out, diagnosisView{d, v.Report})
	}
	return out
}

// Quadrant is the chart of the verdicts, with the variants that could not be placed.
func (v pageView) Quadrant() (q struct {
	SVG  template.HTML
	Left []string
}) {
	q.SVG, q.Left = quadrant(v.Report)
	return q
}

// FlameKinds are the available kinds of flame graph.
func (v pageView) FlameKinds() (out []view.FlameKind) {
	for _, k := range view.FlameKinds {
		if slices.ContainsFunc(v.Flames.Graphs, func(g view.Flame) bool { return g.Kind == k.Key }) {
			out = append(out, k)
		}
	}
	return out
}

// FlameVariants are the variants that have a flame graph.
func (v pageView) FlameVariants() (out []string) {
	for _, g := range v.Flames.Graphs {
		if !slices.Contains(out, g.Variant) {
			out = append(out, g.Variant)
		}
	}
	return out
}

// flameRoom reserves the space of the graph until the script draws it, so that the page does not
// shift.
func flameRoom(f view.Flame) template.HTML {
	const frame, frames = 19, 3 // px, as flame.js draws them; the root and the free space below
	return template.HTML(fmt.Sprintf(`<svg width="100%%" height="%d" aria-hidden="true"></svg>`, (f.Deepest+frames)*frame))
}
