package sections

import (
	"fmt"
	"strings"

	"dyno/lab/diagnose"
	"dyno/lab/report"
	"dyno/lab/report/format"
)

// mostEvidence bounds the lines that follow the three of a brief answer.
const mostEvidence = 10

// brief is a diagnosis as a terminal shows it first: what the service carries, what bounds it, what
// to try next, and a few lines of evidence.
func brief(r *report.Report) Section {
	if !r.IsDiagnosis() || len(r.Diagnoses) == 0 {
		return Section{}
	}
	d := &r.Diagnoses[0]
	var answer []Block
	if d.Sheds != "" {
		answer = append(answer, Text{Label: "sheds load", Class: Warning, Spans: plain(d.Sheds)})
	}
	answer = append(answer,
		Text{Label: "carries", Spans: plain(r.CarriesText(d))},
		Text{Label: "bound", Spans: append(plain(d.Headline), Span{S: certaintyText(d), Class: Dim})},
	)
	if c := r.Capacity; c != nil && c.Grows != "" {
		answer = append(answer, Text{Label: "latency", Spans: plain(c.Grows)})
	}
	if d.Next != "" {
		answer = append(answer, Text{Label: "try next", Spans: plain(d.Next)})
	}
	list := List{Items: evidenceLines(d)}
	for _, w := range r.AllWarnings() {
		list.Items = append(list.Items, Item{Spans: []Span{{S: "warning: " + w, Class: Warning}}})
	}
	list.Items = list.Items[:min(len(list.Items), mostEvidence)]
	return Section{ID: "brief", Blocks: append(answer, list)}
}

// certaintyText says how sure a verdict is.
func certaintyText(d *diagnose.Diagnosis) string {
	switch {
	case d.Confirmed && len(d.Interventions) > 0:
		return "Confirmed by an experiment."
	case d.Unconfirmed != "":
		return "Unconfirmed: " + d.Unconfirmed + "."
	}
	return ""
}

// evidenceLines are the places, the experiments, the findings and what was not seen, a line each.
func evidenceLines(d *diagnose.Diagnosis) (out []Item) {
	const places, findings = 3, 3
	add := func(label, text string) {
		out = append(out, Item{Spans: plain(label + ": " + text)})
	}
	for i, p := range d.Sites {
		if i < places {
			add("where", fmt.Sprintf("%s %s (%s)", format.Share(p), p.Function, format.Site(p)))
		}
	}
	for _, i := range d.Interventions {
		add("experiment", i.Changed+": "+i.Saw+"; the prediction "+format.Held(i))
	}
	for i, f := range d.Findings {
		if i < findings {
			add("also", f.Text)
		}
	}
	if len(d.Unseen) > 0 {
		more := ""
		if n := len(d.Unseen) - 1; n > 0 {
			more = fmt.Sprintf(" (and %s: --explain)", format.Plural(n, "more thing"))
		}
		first, _, _ := strings.Cut(d.Unseen[0], "; ")
		add("not measured", first+more)
	}
	return out
}
