package gobench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"dyno/lab/compare"
	"dyno/lab/report/format"
	"dyno/lab/report/text"
)

// lines is the number of benchmarks that the terminal shows unless all are asked for.
const lines = 10

// service is what a benchmark does not say.
const service = "A benchmark is not the service: dyno compare measures that."

// Print writes the result for people, in lines of a width; 0: of any. First three lines: the verdicts,
// what the worst is, and how sure. Then all benchmarks, or the worst ten.
func Print(w io.Writer, r *Result, all bool, width int) error {
	var b strings.Builder
	line := func(said string) {
		for i, s := range text.Wrapped(format.Visible(said), width) {
			if i > 0 {
				s = "  " + s
			}
			b.WriteString(strings.TrimRight(s, " ") + "\n")
		}
	}
	if !r.Valid {
		line(r.Reason)
	}
	for _, s := range []string{r.Answer, r.What, r.Sure} {
		if s != "" {
			line(s + ".")
		}
	}
	b.WriteByte('\n')
	if len(r.Benchmarks) > 0 {
		r.printTable(&b, all, width)
	}
	for _, s := range r.remarks(all) {
		line(s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printTable prints the table. Where what the other units show would not fit beside a row, it is below.
func (r *Result) printTable(b *strings.Builder, all bool, width int) {
	rows := r.table(all)
	last := len(rows[0]) - 1
	var lines strings.Builder
	t := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row[:last], "\t")+"\t")
	}
	t.Flush()
	left := strings.Split(strings.TrimSuffix(lines.String(), "\n"), "\n")
	beside := true
	for i, row := range rows {
		beside = beside && (width == 0 || utf8.RuneCountInString(left[i]+row[last]) <= width)
	}
	for i, row := range rows {
		also := row[last]
		switch {
		case beside:
			b.WriteString(strings.TrimRight(left[i]+also, " ") + "\n")
			continue
		case i == 0:
			also = ""
		}
		b.WriteString(strings.TrimRight(left[i], " ") + "\n")
		if also == "" {
			continue
		}
		for _, s := range text.Wrapped(also, width-2) {
			b.WriteString("  " + strings.TrimRight(s, " ") + "\n")
		}
	}
}

// Markdown writes the result for a pull request: the gates first, then every benchmark.
func Markdown(w io.Writer, r *Result) error {
	var b strings.Builder
	if !r.Valid {
		fmt.Fprintf(&b, "**Not valid**: %s\n\n", text.EscapeMarkdown(r.Reason))
	}
	for _, g := range r.Gates {
		fmt.Fprintf(&b, "**Gate** `%s`: %s\n\n", g.Gate, text.EscapeMarkdown(g.Text))
	}
	for _, s := range []string{r.Answer, r.What, r.Sure} {
		if s != "" {
			fmt.Fprintf(&b, "%s.\n", text.EscapeMarkdown(s))
		}
	}
	if len(r.Benchmarks) > 0 {
		for i, row := range r.table(true) {
			for j := range row {
				row[j] = text.EscapeMarkdown(row[j])
			}
			if i == 0 {
				fmt.Fprintf(&b, "\n| %s |\n|%s\n", strings.Join(row, " | "), strings.Repeat("---|", len(row)))
				continue
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	}
	b.WriteByte('\n')
	for _, line := range r.remarks(true) {
		fmt.Fprintf(&b, "- %s\n", text.EscapeMarkdown(line))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table is a row for each benchmark, after the heads: its verdict and its units.
func (r *Result) table(all bool) [][]string {
	rows := [][]string{{"verdict", "benchmark", "unit", "A", "B", "B/A", "interval", "also"}}
	for i := range r.Benchmarks {
		if !all && i == lines {
			break
		}
		rows = append(rows, r.Benchmarks[i].row())
	}
	return rows
}

// row shows the unit that decides a benchmark's verdict, and what the others say.
func (b *Benchmark) row() []string {
	lead := b.lead()
	row := []string{b.word(), format.Visible(b.Title()), lead.Unit, lead.figure(lead.A), lead.figure(lead.B), "", ""}
	if c := lead.Comparison; c.Ratio > 0 {
		row[5] = fmt.Sprintf("%.3f", c.Ratio)
		switch {
		case lead.Exact:
			row[6] = "exact"
		case c.Interval != nil:
			row[6] = fmt.Sprintf("[%.3f, %.3f]", c.Interval[0], c.Interval[1])
		}
	}
	var also []string
	if lead.isUnlike() {
		also = append(also, unlikeCPU)
	}
	for i := range b.Metrics {
		m := &b.Metrics[i]
		if m != lead && m.Comparison.Verdict != compare.Invalid && !b.Repeats(m) {
			also = append(also, m.short())
		}
	}
	return append(row, strings.Join(also, ", "))
}

// Repeats reports whether the comparison of a unit is that of another, ns/op.
func (b *Benchmark) Repeats(m *Metric) bool {
	return b.Runs >= leastRuns && m.Unit == CPU && m.Comparison.Interval != nil
}

// figure formats a figure of the unit: exact ones in full.
func (m *Metric) figure(v float64) string {
	if m.Exact && v == math.Trunc(v) {
		return format.Whole(format.Value(v))
	}
	return format.Format(format.Value(v))
}

// lead is the unit that decides a benchmark's verdict.
func (b *Benchmark) lead() *Metric {
	for i := range b.Metrics {
		if b.Metrics[i].Comparison.Verdict == b.Verdict {
			return &b.Metrics[i]
		}
	}
	return &b.Metrics[0]
}

// isUnlike reports whether a unit has no interval since the processes are unlike.
func (m *Metric) isUnlike() bool { return slices.Contains(m.Comparison.Warnings, unlikeCPU) }

// short says what a unit shows in a few words.
func (m *Metric) short() string {
	c := m.Comparison
	say := m.Unit + " "
	switch {
	case c.Verdict == compare.Equal && m.Exact:
		return say + "same"
	case m.Exact || c.Ratio <= 0:
		say += m.figure(m.A) + " to " + m.figure(m.B)
	case c.Interval == nil:
		say += fmt.Sprintf("%.3f", c.Ratio)
	default:
		say += fmt.Sprintf("%.3f [%.3f, %.3f]", c.Ratio, c.Interval[0], c.Interval[1])
	}
	if c.Verdict == compare.Faster || c.Verdict == compare.Slower || c.Verdict == compare.Changed {
		say += " (" + word(c.Verdict, m.Unit) + ")"
	}
	if m.isUnlike() {
		say += " (" + unlikeCPU + ")"
	}
	return say
}

func (b *Benchmark) word() string { return word(b.Verdict, b.lead().Unit) }

// word is a verdict by a unit: fewer allocations are not faster.
func word(verdict, unit string) string {
	timed := unit == Time || unit == CPU
	if !timed && verdict == compare.Faster {
		return "better"
	}
	if !timed && verdict == compare.Slower {
		return "worse"
	}
	return verdict
}

// remarks are the lines below the table.
func (r *Result) remarks(all bool) (out []string) {
	if n := len(r.Benchmarks) - lines; !all && n > 0 {
		out = append(out, fmt.Sprintf("and %d more; --all lists them", n))
	}
	for i, s := range r.Skipped {
		if !all && i == lines {
			out = append(out, fmt.Sprintf("and %d more without a verdict; --all lists them", len(r.Skipped)-lines))
			break
		}
		out = append(out, "no verdict: "+s.what()+": "+s.Why)
	}
	for _, w := range r.Warnings {
		out = append(out, "warning: "+w)
	}
	if len(r.Benchmarks) == 0 {
		return out
	}
	l := r.Layouts
	switch {
	case !l.Random:
		out = append(out, "layouts: not random ("+l.Reason+"), so a change that only moves code about may count as a difference")
	case l.Median != nil:
		out = append(out, fmt.Sprintf("layouts: ns/op differs by %s from one generation to the next beyond what slices differ, %s of a slice's variance (medians): by the order of functions, and by other programs where they change. What moves code within a function remains",
			percent(l.Median.Layout), format.Percent(format.Value(l.Median.Share))))
	default:
		out = append(out, "layouts: random; the time did not suffice to separate what they move from what slices do")
	}
	short := 0
	for _, b := range r.Benchmarks {
		if b.Runs >= leastRuns {
			short++
		}
	}
	if short > 0 {
		out = append(out, fmt.Sprintf("runs: %d of %s keep one CPU busy: the fastest of several short runs counts, and cpu-ns/op is ns/op", short, format.Plural(len(r.Benchmarks), "benchmark")))
	}
	if l.Floor > 0 {
		out = append(out, fmt.Sprintf("noise: A's odd against its even layouts are known to be equal within %s (median)", percent(l.Floor)))
	}
	return append(out, service)
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", share*100) }
