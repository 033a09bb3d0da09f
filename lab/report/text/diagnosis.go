package text

import (
	"cmp"
	"fmt"
	"strings"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/report"
	"dyno/lab/report/format"
)

// Tables of a diagnosis as text, on a terminal and in Markdown.
var (
	placeHead           = []string{"share", "where", "in"}
	placeNumbers        = []bool{true, false, false}
	evidenceHead        = []string{"signal", "value", "meaning"}
	evidenceNumbers     = []bool{false, true, false}
	interventionHead    = []string{"changed", "predicted", "saw", "prediction"}
	interventionNumbers = []bool{false, false, false, false}
)

func placeCells(places []stacks.Site) (rows [][]string) {
	for _, p := range places {
		rows = append(rows, []string{format.Share(p), format.Place(p), p.Function})
	}
	return rows
}

func evidenceCells(evidence []findings.Evidence) (rows [][]string) {
	for _, e := range evidence {
		rows = append(rows, []string{format.Signal(e), format.Evidence(e), e.Means})
	}
	return rows
}

func interventionCells(tried []diagnose.Intervention) (rows [][]string) {
	for _, i := range tried {
		rows = append(rows, []string{i.Changed, i.Predicted, i.Saw, format.Held(i)})
	}
	return rows
}

// diagnosis prints a diagnosis in full.
func (t *terminal) diagnosis(r *report.Report) {
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		t.line(t.paint(bold, t.clean(r.NameOf(d)+": "+format.Verdict(d))))
		if !r.AnswerHolds(d) {
			t.line(t.clean(d.InWords))
		}
		if d.PeakPerS > 0 {
			t.line(t.clean(peakWords(d)))
		}
		if d.WhatIf != nil {
			t.line(t.paint(blue, "without this bound: ") + t.clean(d.WhatIf.InWords))
		}
		t.line("")
		t.cells(placeHead, placeNumbers, placeCells(d.Where))
		t.cells(evidenceHead, evidenceNumbers, evidenceCells(d.Evidence))
		t.cells(interventionHead, interventionNumbers, interventionCells(d.Interventions))
		for _, f := range d.Findings {
			t.line(t.paint(blue, "finding: ") + t.clean(f.InWords))
			if len(f.Where) > 0 {
				t.line("  in " + t.clean(f.Where[0].Function+format.Space(format.Place(f.Where[0]))))
			}
			if f.WhatIf != nil {
				t.line("  without it: " + t.clean(f.WhatIf.InWords))
			}
			if f.Next != "" {
				t.line("  next: " + t.clean(f.Next))
			}
		}
		for _, u := range d.Unseen {
			t.line(t.paint(dim, "not measured: "+t.clean(u)))
		}
		if len(d.Findings)+len(d.Unseen) > 0 {
			t.line("")
		}
	}
}

// peakWords state the highest throughput without regard to an SLO.
func peakWords(d *diagnose.Diagnosis) string {
	return "Peak with clients in a closed loop: " + format.Rate(format.Value(d.PeakPerS))
}

// cells prints a table without bars; nothing without rows.
func (t *terminal) cells(head []string, number []bool, cells [][]string) {
	if len(cells) == 0 {
		return
	}
	var rows []row
	for _, c := range cells {
		rows = append(rows, row{cells: c, share: -1})
	}
	t.table(append([]string(nil), head...), number, rows)
}

// why prints for each step its bottleneck, and why its throughput changed or did not.
func (t *terminal) why(r *report.Report) {
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		t.line(t.paint(blue, "why: ") + t.clean(whyWords(r, d)))
	}
	if len(r.Diagnoses) > 0 {
		t.line("")
	}
}

// whyWords state a step's bottleneck, and why its throughput changed or did not.
func whyWords(r *report.Report, d *diagnose.Diagnosis) string {
	said := r.NameOf(d)
	if d.Valid && d.Bound != rules.Unknown {
		said += ", bound by " + format.Verdict(d)
	}
	return said + ": " + cmp.Or(d.Moved, d.InWords, "unknown")
}

// diagnosisMarkdown writes a diagnosis in full.
func diagnosisMarkdown(b *strings.Builder, r *report.Report) {
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		fmt.Fprintf(b, "**%s: %s**\n\n", escapeMarkdown(r.NameOf(d)), escapeMarkdown(format.Verdict(d)))
		if !r.AnswerHolds(d) {
			fmt.Fprintf(b, "%s\n\n", escapeMarkdown(d.InWords))
		}
		if d.PeakPerS > 0 {
			fmt.Fprintf(b, "%s\n\n", escapeMarkdown(peakWords(d)))
		}
		if d.WhatIf != nil {
			fmt.Fprintf(b, "Without this bound: %s\n\n", escapeMarkdown(d.WhatIf.InWords))
		}
		for _, t := range []struct {
			head   []string
			number []bool
			rows   [][]string
		}{
			{placeHead, placeNumbers, placeCells(d.Where)},
			{evidenceHead, evidenceNumbers, evidenceCells(d.Evidence)},
			{interventionHead, interventionNumbers, interventionCells(d.Interventions)},
		} {
			if len(t.rows) > 0 {
				tableMarkdown(b, t.head, t.number, t.rows)
			}
		}
		for _, f := range d.Findings {
			fmt.Fprintf(b, "- %s", escapeMarkdown(f.InWords))
			if f.WhatIf != nil {
				fmt.Fprintf(b, " Without it: %s", escapeMarkdown(f.WhatIf.InWords))
			}
			if f.Next != "" {
				fmt.Fprintf(b, " Next: %s", escapeMarkdown(f.Next))
			}
			b.WriteByte('\n')
		}
		for _, u := range d.Unseen {
			fmt.Fprintf(b, "- not measured: %s\n", escapeMarkdown(u))
		}
		b.WriteByte('\n')
	}
}

// whyMarkdown writes for each step its bottleneck and the change of its throughput.
func whyMarkdown(b *strings.Builder, r *report.Report) {
	for i := range r.Diagnoses {
		fmt.Fprintf(b, "- %s\n", escapeMarkdown(whyWords(r, &r.Diagnoses[i])))
	}
	if len(r.Diagnoses) > 0 {
		b.WriteByte('\n')
	}
}
