package text

import (
	"fmt"
	"io"
	"strings"

	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// Markdown writes the result and its conditions for a pull request.
func Markdown(w io.Writer, r *report.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", escapeMarkdown(r.Title))
	if r.Invalid == "" {
		fmt.Fprintf(&b, "%s\n\n", escapeMarkdown(r.Answer))
	}
	if word, text := r.Standing(); r.Outcome.Status != record.OutcomeComplete {
		fmt.Fprintf(&b, "**%s**: %s\n\n", word, escapeMarkdown(text))
	}
	switch {
	case (r.Scaling != nil || r.Crowd != nil) && (r.Kind == record.KindCapacity || r.Kind == record.KindSweep):
		// the table of its points follows below
	case r.Kind == record.KindLoad && r.Load != nil:
		loadMarkdown(&b, r)
	case r.Kind == record.KindCapacity && r.Capacity != nil:
		capacityMarkdown(&b, r)
	case r.Kind == record.KindDiagnose:
		diagnosisMarkdown(&b, r)
	case r.Sweep != nil:
		sweepMarkdown(&b, r)
	case len(r.Steps) > 0:
		stepsMarkdown(&b, r)
	}
	scalingMarkdown(&b, r.Scaling)
	if r.Crowd != nil {
		head, number, rows := r.Crowd.Table()
		tableMarkdown(&b, head, number, rows)
	}
	if r.Kind != record.KindDiagnose {
		whyMarkdown(&b, r)
	}
	if r.Changes != nil {
		for _, line := range r.Changes.Lines() {
			fmt.Fprintf(&b, "- %s\n", escapeMarkdown(line))
		}
		b.WriteByte('\n')
	}
	databaseMarkdown(&b, r)
	conditionsMarkdown(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}

func stepsMarkdown(b *strings.Builder, r *report.Report) {
	cols := format.Narrow(r.Columns())
	head, align := fullHeads(cols)
	var rows [][]string
	for i := range r.Steps {
		var row []string
		for _, c := range cols {
			cell := c.Cell(&r.Steps[i])
			if c.Detail != nil {
				cell += format.Space(c.Detail(&r.Steps[i]))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	tableMarkdown(b, head, align, rows)
	if undecided := r.UndecidedWords(); undecided != "" {
		fmt.Fprintf(b, "%s\n\n", escapeMarkdown(undecided))
	}
	for _, s := range r.Steps {
		if s.Change != "" {
			fmt.Fprintf(b, "- **%s**: %s\n", escapeMarkdown(s.Name), escapeMarkdown(s.Change))
		}
	}
	b.WriteByte('\n')
}

func capacityMarkdown(b *strings.Builder, r *report.Report) {
	if cells := voteCells(r.Votes); len(cells) > 0 {
		tableMarkdown(b, voteHead, voteNumbers, cells)
	}
	if len(r.Capacity.Steps) == 0 {
		return
	}
	var rows [][]string
	for _, s := range r.Capacity.Steps {
		rows = append(rows, []string{format.Format(format.Value(s.OfferedPerS)), format.Format(format.Value(s.AchievedPerS)), format.Format(format.Value(s.P50Ms)), format.Format(format.Value(s.P99Ms)), format.Percent(format.Value(s.Errors)), format.Met(s.Met, s.Invalid)})
	}
	tableMarkdown(b, []string{"offered, per second", "achieved, per second", "p50, ms", "p99, ms", "errors", "SLO"}, []bool{true, true, true, true, true, false}, rows)
}

// scalingMarkdown writes a job's throughput over concurrency, and the model that fits it best.
func scalingMarkdown(b *strings.Builder, s *view.Scaling) {
	if s == nil || len(s.Curves) == 0 {
		return
	}
	head, number, rows := s.Table()
	tableMarkdown(b, head, number, rows)
	for _, c := range s.Curves {
		for i, line := range c.Words() {
			fmt.Fprintf(b, "%s- %s\n", strings.Repeat("  ", min(i, 1)), escapeMarkdown(line))
		}
	}
	b.WriteByte('\n')
}

func sweepMarkdown(b *strings.Builder, r *report.Report) {
	columns := format.Narrow(view.RowColumns)
	head, number := fullHeads(columns)
	tableMarkdown(b, head, number, cellsOf(columns, r.Sweep.Rows))
	if len(r.Sweep.Ramps) > 0 {
		tableMarkdown(b, rampHead, rampNumbers, rampCells(r.Sweep.Ramps))
	}
}

func loadMarkdown(b *strings.Builder, r *report.Report) {
	t := r.Load.Run.Totals
	if t.ReceiveOnly() {
		fmt.Fprintf(b, "%s.\n\n", r.Load.Counts())
		return
	}
	var rows [][]string
	for _, q := range format.Quantiles {
		row := []string{q.Label}
		for _, of := range r.Load.Latencies() {
			v, _ := of.Quantiles.At(q.Name)
			row = append(row, format.Format(format.Value(v)))
		}
		rows = append(rows, row)
	}
	head, align := []string{"ms"}, []bool{false}
	for _, of := range r.Load.Latencies() {
		head, align = append(head, of.Name), append(align, true)
	}
	tableMarkdown(b, head, align, rows)
	fmt.Fprintf(b, "%s completed, %s unfinished, %s failed.\n\n", format.Count(t.Completed), format.Count(t.Unfinished), format.Count(t.Failed))
}

// conditionsMarkdown writes the conditions of the measurement in a folded section.
func conditionsMarkdown(b *strings.Builder, r *report.Report) {
	all, valid := r.Count()
	b.WriteString("<details><summary>Conditions</summary>\n\n")
	item := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "- %s: %s\n", name, text)
		}
	}
	item("SLO", escapeMarkdown(format.SLO(r.SLO)))
	item("measured", format.Clock(r.Started))
	item("machine", escapeMarkdown(r.Machine.String()))
	if all > 0 {
		item("runs", format.Runs(all, valid))
	}
	if r.Turns != nil {
		item("measured", r.Turns.Words()+"; "+escapeMarkdown(r.SureWords()))
		item("disturbance", r.Turns.MachineWords())
	}
	item("noise floor", r.FloorWords())
	if len(r.Command) > 0 {
		item("again", codeSpan(format.Command(r.Command)))
	}
	for _, w := range r.AllWarnings() {
		item("warning", escapeMarkdown(w))
	}
	b.WriteString("\n</details>\n")
}

func tableMarkdown(b *strings.Builder, head []string, number []bool, rows [][]string) {
	line := func(cells []string) {
		b.WriteByte('|')
		for _, c := range cells {
			b.WriteString(" " + escapeMarkdown(c) + " |")
		}
		b.WriteByte('\n')
	}
	line(head)
	b.WriteByte('|')
	for _, n := range number {
		if n {
			b.WriteString("---:|")
		} else {
			b.WriteString("---|")
		}
	}
	b.WriteByte('\n')
	for _, row := range rows {
		line(row)
	}
	b.WriteByte('\n')
}

// markdownEscapes makes names inert: no table cell, tag, link, mention or emphasis starts in them.
var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`,
	"](", `]\(`, "@", "&#64;", "#", `\#`, "~", `\~`)

func escapeMarkdown(s string) string { return markdownEscapes.Replace(format.Visible(s)) }

// codeSpan encloses a text in more backticks than it contains.
func codeSpan(s string) string {
	s = format.Visible(s)
	longest, run := 0, 0
	for _, c := range s {
		if c == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}
