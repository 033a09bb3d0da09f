// Package text prints a report for people: as tables on a terminal, and as Markdown for a pull
// request.
//
// It computes no result: package report does. It starts no goroutines.
package text

import (
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// Style describes the terminal. The zero Style suits a pipe: plain ASCII of any width.
type Style struct {
	Color bool // escape codes, and bars of Unicode blocks
	Width int  // columns; 0: unknown, so nothing is cut
}

// Terminal prints the result for the user of the command.
func Terminal(w io.Writer, r *report.Report, s Style) error {
	t := &terminal{style: s}
	head := t.paint(bold, t.clean(r.Title))
	if r.Outcome.Status == record.OutcomeFailed {
		head += t.clean(": failed: " + r.Outcome.Reason)
	}
	t.line(head)
	if r.Invalid == "" { // otherwise the reason is printed once, last
		t.line(t.paint(green, t.clean(r.Answer)))
	}
	t.line("")
	switch {
	case (r.Scaling != nil || r.Crowd != nil) && (r.Kind == record.KindCapacity || r.Kind == record.KindSweep):
		// the table of its points follows below
	case r.Kind == record.KindLoad && r.Load != nil:
		t.load(r)
	case r.Kind == record.KindCapacity && r.Capacity != nil:
		t.capacity(r)
	case r.Kind == record.KindDiagnose:
		t.diagnosis(r)
	case r.Sweep != nil:
		t.sweep(r)
	case len(r.Steps) > 0:
		t.steps(r)
	}
	t.scaling(r.Scaling)
	if r.Crowd != nil {
		head, number, cells := r.Crowd.Table()
		t.cells(head, number, cells)
	}
	if r.Kind != record.KindDiagnose {
		t.why(r)
	}
	if r.Changes != nil {
		for _, line := range r.Changes.Lines() {
			t.line(t.paint(blue, "changed: ") + t.clean(line))
		}
		t.line("")
	}
	t.databases(r)
	t.end(r)
	_, err := io.WriteString(w, t.b.String())
	return err
}

type terminal struct {
	style Style
	b     strings.Builder
}

// Escape codes (ECMA-48 SGR).
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	amber = "33"
	blue  = "34"
)

func (t *terminal) paint(code, s string) string {
	if !t.style.Color || s == "" || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// line prints a line. Texts from files or services have passed clean, so that they cannot control
// the terminal.
func (t *terminal) line(s string) {
	t.b.WriteString(strings.TrimRight(s, " "))
	t.b.WriteByte('\n')
}

// clean makes a text safe for a terminal: only visible characters, and plain ASCII in a pipe.
func (t *terminal) clean(s string) string {
	s = format.Visible(s)
	if t.style.Color {
		return s
	}
	return strings.Map(func(c rune) rune {
		switch {
		case string(c) == format.Dash:
			return '-'
		case c > unicode.MaxASCII:
			return '?'
		}
		return c
	}, s)
}

func (t *terminal) steps(r *report.Report) {
	cols := format.Narrow(r.Columns())
	var head []string
	var number []bool
	for _, c := range cols {
		head, number = append(head, c.Short), append(number, c.Number)
		if c.Detail != nil && !c.Brief {
			head, number = append(head, intervalHead), append(number, false)
		}
	}
	most := 0.0
	for _, s := range r.Steps {
		if s.Capacity.Known() {
			most = max(most, float64(s.Capacity))
		}
	}
	var rows []row
	for i := range r.Steps {
		s := &r.Steps[i]
		out := row{share: float64(s.Capacity) / most}
		if r.Turns != nil {
			out.share = -1 // the table is as wide as a terminal
		}
		for _, c := range cols {
			out.cells = append(out.cells, c.Cell(s))
			if c.Detail != nil && !c.Brief {
				out.cells = append(out.cells, c.Detail(s))
			}
		}
		rows = append(rows, out)
	}
	t.table(head, number, rows)
	if undecided := r.UndecidedWords(); undecided != "" {
		t.line(t.clean(undecided))
		t.line("")
	}
}

func (t *terminal) capacity(r *report.Report) {
	t.cells(voteHead, voteNumbers, voteCells(r.Votes))
	if len(r.Capacity.Steps) == 0 {
		return
	}
	var rows []row
	for _, s := range r.Capacity.Steps {
		rows = append(rows, row{share: -1, cells: []string{format.Format(format.Value(s.OfferedPerS)), format.Format(format.Value(s.AchievedPerS)), format.Format(format.Value(s.P50Ms)), format.Format(format.Value(s.P99Ms)), format.Percent(format.Value(s.Errors)), format.Met(s.Met, s.Invalid)}})
	}
	t.table([]string{"offered/s", "achieved/s", "p50 ms", "p99 ms", "errors", "SLO"}, []bool{true, true, true, true, true, false}, rows)
}

func (t *terminal) sweep(r *report.Report) {
	most := 0.0
	for _, s := range r.Sweep.Rows {
		if s.Accepted.Known() {
			most = max(most, float64(s.Accepted))
		}
	}
	var rows []row
	columns := format.Narrow(view.RowColumns)
	for i, cells := range cellsOf(columns, r.Sweep.Rows) {
		rows = append(rows, row{share: float64(r.Sweep.Rows[i].Accepted) / most, cells: cells})
	}
	head, number := shortHeads(columns)
	t.table(head, number, rows)
	if len(r.Sweep.Ramps) == 0 {
		return
	}
	t.cells(rampHead, rampNumbers, rampCells(r.Sweep.Ramps))
}

// scaling prints a job's throughput over concurrency, and the model that fits it best.
func (t *terminal) scaling(s *view.Scaling) {
	if s == nil || len(s.Curves) == 0 {
		return
	}
	head, number, cells := s.Table()
	t.cells(head, number, cells)
	for _, c := range s.Curves {
		for i, line := range c.Words() {
			if i > 0 {
				line = "  " + line
			}
			t.line(t.clean(line))
		}
	}
	t.line("")
}

func (t *terminal) load(r *report.Report) {
	run := r.Load.Run
	latencies := r.Load.Latencies()
	head, number := []string{"ms"}, []bool{false}
	for _, of := range latencies {
		head, number = append(head, of.Name), append(number, true)
	}
	var rows []row
	for _, q := range format.Quantiles {
		out := row{share: -1, cells: []string{q.Label}}
		for _, of := range latencies {
			v, _ := of.Quantiles.At(q.Name)
			out.cells = append(out.cells, format.Format(format.Value(v)))
		}
		rows = append(rows, out)
	}
	if len(latencies) > 0 {
		t.table(head, number, rows)
	}
	t.classes(r.Load)
	tot := run.Totals
	t.line(r.Load.Counts())
	if answers := format.Statuses(tot); answers != "" {
		t.line("answers: " + t.clean(answers))
	}
	if run.Load.Protocol != "" {
		t.line("protocol: " + t.clean(run.Load.Protocol))
	}
	errors := maps.Clone(tot.Errors)
	delete(errors, format.StatusError) // the line above names them
	t.counts("errors", errors)
	if agents := format.Agents(tot); agents != "" {
		t.line("agents: " + t.clean(agents))
	}
	t.line("")
}

// classes prints the latencies of request classes or steps.
func (t *terminal) classes(l *view.Load) {
	var rows []row
	for _, of := range l.Classes() {
		out := row{share: -1, cells: []string{t.clean(of.Name)}}
		for _, ms := range []float64{of.P50, of.P90, of.P99, of.Max, of.Mean} {
			out.cells = append(out.cells, format.Format(format.Value(ms)))
		}
		rows = append(rows, out)
	}
	name := "class, ms"
	if l.Run.Load.Steps != nil {
		name = "step, ms"
	}
	if len(rows) > 0 {
		t.table([]string{name, "p50", "p90", "p99", "max", "mean"}, []bool{false, true, true, true, true, true}, rows)
	}
}

// counts prints a map of counts on one line; nothing when all are 0.
func (t *terminal) counts(name string, m map[string]int64) {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if m[k] > 0 {
			parts = append(parts, t.clean(k)+" "+format.Count(m[k]))
		}
	}
	if len(parts) > 0 {
		t.line(name + ": " + strings.Join(parts, ", "))
	}
}

// mostLeftOut is the number of reasons for invalid runs that are printed, so that the verdict stays
// visible.
const mostLeftOut = 3

// end prints whether the result is valid, and where the rest is.
func (t *terminal) end(r *report.Report) {
	if slo := format.SLO(r.SLO); slo != "" {
		t.line("SLO: " + t.clean(slo))
	}
	if floor := r.FloorWords(); floor != "" {
		t.line("noise floor: " + floor)
	}
	if r.Turns != nil {
		t.line("measured: " + r.Turns.Words())
		if machine := r.Turns.MachineWords(); machine != "" {
			t.line("machine: " + machine)
		}
	}
	for _, w := range r.AllWarnings() {
		t.line(t.paint(amber, "warning: ") + t.clean(w))
	}
	left := r.LeftOut()
	if more := len(left) - mostLeftOut; more > 0 {
		left = append(left[:mostLeftOut:mostLeftOut], "more runs, for "+format.Plural(more, "other reason"))
	}
	for _, why := range left {
		t.line(t.paint(amber, "left out: ") + t.clean(why))
	}
	if r.Out != "" {
		t.line("report: " + t.clean(r.Out) + "/" + report.PageFile)
	}
	word, text := r.Standing()
	if word == record.OutcomeFailed { // the first line has the reason
		text = "until then " + r.SureWords()
	}
	t.line(t.paint(outcomeColor(word), word+": ") + t.clean(text))
}

func outcomeColor(status string) string {
	switch status {
	case record.OutcomeComplete:
		return green
	case record.OutcomeInvalid:
		return red
	}
	return amber
}
