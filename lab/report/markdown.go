package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"dyno/lab/record"
)

// Markdown writes the result and its conditions for a pull request.
func Markdown(w io.Writer, r *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", escapeMarkdown(r.Title))
	if r.Invalid == "" {
		fmt.Fprintf(&b, "%s\n\n", escapeMarkdown(r.Answer))
	}
	if word, text := r.standing(); r.Outcome.Status != record.OutcomeComplete {
		fmt.Fprintf(&b, "**%s**: %s\n\n", word, escapeMarkdown(text))
	}
	switch {
	case r.Scaling != nil && (r.Kind == record.KindCapacity || r.Kind == record.KindSweep):
		// the table of its points follows below
	case r.Kind == record.KindLoad && r.Load != nil:
		r.loadMarkdown(&b)
	case r.Kind == record.KindCapacity && r.Capacity != nil:
		r.capacityMarkdown(&b)
	case r.Kind == record.KindDiagnose:
		r.diagnosisMarkdown(&b)
	case r.Sweep != nil:
		r.sweepMarkdown(&b)
	case len(r.Steps) > 0:
		r.stepsMarkdown(&b)
	}
	r.Scaling.markdown(&b)
	if r.Kind != record.KindDiagnose {
		r.whyMarkdown(&b)
	}
	r.databaseMarkdown(&b)
	r.conditionsMarkdown(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) stepsMarkdown(b *strings.Builder) {
	cols := r.narrow()
	var head []string
	var align []bool
	for _, c := range cols {
		name := c.Head
		if c.Unit != "" {
			name += ", " + c.Unit
		}
		head, align = append(head, name), append(align, c.Number)
	}
	var rows [][]string
	for i := range r.Steps {
		var row []string
		for _, c := range cols {
			cell := c.Cell(&r.Steps[i])
			if c.Detail != nil {
				cell += space(c.Detail(&r.Steps[i]))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	tableMarkdown(b, head, align, rows)
	if undecided := r.undecidedWords(); undecided != "" {
		fmt.Fprintf(b, "%s\n\n", escapeMarkdown(undecided))
	}
	for _, s := range r.Steps {
		if s.Change != "" {
			fmt.Fprintf(b, "- **%s**: %s\n", escapeMarkdown(s.Name), escapeMarkdown(s.Change))
		}
	}
	b.WriteByte('\n')
}

func (r *Report) capacityMarkdown(b *strings.Builder) {
	if cells := r.voteCells(); len(cells) > 0 {
		tableMarkdown(b, voteHead, voteNumbers, cells)
	}
	if len(r.Capacity.Steps) == 0 {
		return
	}
	var rows [][]string
	for _, s := range r.Capacity.Steps {
		rows = append(rows, []string{figure(Value(s.OfferedPerS)), figure(Value(s.AchievedPerS)), figure(Value(s.P50Ms)), figure(Value(s.P99Ms)), percent(Value(s.Errors)), metWords(s.Met, s.Invalid)})
	}
	tableMarkdown(b, []string{"offered, per second", "achieved, per second", "p50, ms", "p99, ms", "errors", "SLO"}, []bool{true, true, true, true, true, false}, rows)
}

// markdown writes a job's throughput over concurrency, and the model that fits it best.
func (s *Scaling) markdown(b *strings.Builder) {
	if s == nil || len(s.Curves) == 0 {
		return
	}
	head, number, rows := s.scalingTable()
	tableMarkdown(b, head, number, rows)
	for _, c := range s.Curves {
		for i, line := range c.words() {
			fmt.Fprintf(b, "%s- %s\n", strings.Repeat("  ", min(i, 1)), escapeMarkdown(line))
		}
	}
	if s.Joint != "" {
		fmt.Fprintf(b, "\n%s\n", escapeMarkdown(s.Joint))
	}
	b.WriteByte('\n')
}

func (r *Report) sweepMarkdown(b *strings.Builder) {
	var rows [][]string
	for _, s := range r.Sweep.Rows {
		rows = append(rows, []string{s.Variant, figure(s.Offered), figure(s.Accepted), figure(s.Delivered), figure(s.Refused), figure(s.P50), figure(s.P99)})
	}
	tableMarkdown(b, []string{"variant", "offered, per second", "accepted, per second", "delivered, per second", "refused, per second", "p50, ms", "p99, ms"},
		[]bool{false, true, true, true, true, true, true}, rows)
	if len(r.Sweep.Ramps) > 0 {
		tableMarkdown(b, rampHead, rampNumbers, r.Sweep.rampCells())
	}
}

func (r *Report) loadMarkdown(b *strings.Builder) {
	t := r.Load.Run.Totals
	var rows [][]string
	for _, q := range quantiles {
		row := []string{q.label}
		for _, of := range r.Load.latencies() {
			v, _ := of.Quantiles.At(q.name)
			row = append(row, figure(Value(v)))
		}
		rows = append(rows, row)
	}
	head, align := []string{"ms"}, []bool{false}
	for _, of := range r.Load.latencies() {
		head, align = append(head, of.Name), append(align, true)
	}
	tableMarkdown(b, head, align, rows)
	fmt.Fprintf(b, "%s completed, %s unfinished, %s failed.\n\n", count(t.Completed), count(t.Unfinished), count(t.Failed))
}

// conditionsMarkdown writes the conditions of the measurement in a folded section.
func (r *Report) conditionsMarkdown(b *strings.Builder) {
	all, valid := r.Count()
	b.WriteString("<details><summary>Conditions</summary>\n\n")
	item := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "- %s: %s\n", name, text)
		}
	}
	item("SLO", escapeMarkdown(sloWords(r.SLO)))
	item("measured", clock(r.Started))
	item("machine", escapeMarkdown(r.Machine.String()))
	if all > 0 {
		item("runs", countWords(all, valid))
	}
	if r.Turns != nil {
		item("measured", r.Turns.Words()+"; "+escapeMarkdown(r.sureWords()))
		item("disturbance", r.Turns.MachineWords())
	}
	item("noise floor", r.floorWords())
	if len(r.Command) > 0 {
		item("again", codeSpan(commandLine(r.Command)))
	}
	for _, w := range r.allWarnings() {
		item("warning", escapeMarkdown(w))
	}
	b.WriteString("\n</details>\n")
}

// allWarnings are the warnings of the report and its analyses without duplicates. A warning that
// several steps share names them together.
func (r *Report) allWarnings() []string {
	out := slices.Clone(r.Warnings)
	if r.Load != nil && r.Load.Run.Disturbed != "" {
		out = append(out, r.Load.Run.Disturbed)
	}
	if r.Capacity != nil {
		out = append(out, r.Capacity.Warnings...)
	}
	if r.Comparison != nil {
		out = append(out, r.Comparison.Warnings...)
	}
	var order []string
	names := map[string][]string{}
	of := func(variant string, warnings []string) {
		for _, w := range warnings {
			if slices.Contains(out, w) {
				continue
			}
			if names[w] == nil {
				order = append(order, w)
			}
			names[w] = append(names[w], variant)
		}
	}
	for _, s := range r.Steps {
		of(s.Name, s.Warnings)
	}
	for i := range r.Diagnoses {
		of(r.nameOf(&r.Diagnoses[i]), r.Diagnoses[i].Warnings)
	}
	for _, w := range order {
		out = append(out, strings.Join(slices.Compact(names[w]), ", ")+": "+w)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(w string) bool {
		again := seen[w]
		seen[w] = true
		return again
	})
}

// countWords state how many runs count.
func countWords(all, valid int) string {
	switch {
	case all == 1 && valid == 1:
		return "the run counts"
	case all == valid:
		return "all " + plural(all, "run") + " count"
	}
	return fmt.Sprintf("%d of %s count", valid, plural(all, "run"))
}

func metWords(met bool, invalid string) string {
	switch {
	case invalid != "":
		return "invalid: " + invalid
	case met:
		return "met"
	}
	return "missed"
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

func escapeMarkdown(s string) string { return markdownEscapes.Replace(visible(s)) }

// codeSpan encloses a text in more backticks than it contains.
func codeSpan(s string) string {
	s = visible(s)
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
