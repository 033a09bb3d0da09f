// Package text prints a report for people: as tables on a terminal, and as Markdown for a pull
// request.
//
// It computes no result and chooses none: packages report and sections do. It starts no goroutines.
package text

import (
	"io"
	"strings"
	"unicode"

	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/sections"
)

// Style describes the terminal. The zero Style is for a pipe: plain ASCII, no limit on width.
type Style struct {
	Color bool // use escape codes, and bars of Unicode blocks
	Width int  // in columns; 0: unknown, so that nothing is left out
}

// Terminal prints the result for the user of the command.
func Terminal(w io.Writer, r *report.Report, s Style) error {
	t := &terminal{style: s}
	head := t.paint(sections.Strong, t.clean(r.Title))
	if r.Outcome.Status == record.OutcomeFailed {
		head += t.clean(": failed: " + r.Outcome.Reason)
	}
	t.line(head)
	if r.Invalid == "" { // otherwise end prints the reason
		t.line(t.paint(record.OutcomeComplete, t.clean(r.Answer)))
	}
	t.line("")
	walk(t, r, sections.Terminal)
	t.end(r)
	_, err := io.WriteString(w, t.b.String())
	return err
}

type terminal struct {
	style Style
	b     strings.Builder
}

// label is the class of the words that name what a line is.
const label = "label"

// colors are the escape codes (ECMA-48 SGR) of the classes and outcomes.
var colors = map[string]string{
	sections.Strong: "1", sections.Dim: "2", sections.Warning: "33", label: "34",
	record.OutcomeComplete: "32", record.OutcomeInvalid: "31", record.OutcomeInterrupted: "33", record.OutcomeFailed: "33",
}

func (t *terminal) paint(class, s string) string {
	code := colors[class]
	if !t.style.Color || s == "" || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// line prints a line. Texts from files or services must have passed clean, so that they cannot
// control the terminal.
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

// labelled puts the name of what a text is before it.
func labelled(what, text string) string {
	if what == "" {
		return text
	}
	return what + ": " + text
}

func (t *terminal) text(of sections.Text) {
	s := t.paint(of.Class, t.clean(joined(of.Spans)))
	if of.Label != "" {
		s = t.paint(label, of.Label+": ") + s
	}
	t.line(s)
}

func (t *terminal) endTexts() { t.line("") }

func (t *terminal) item(l sections.List, i sections.Item) {
	s := t.clean(joined(i.Spans))
	switch {
	case l.Label == sections.Warning:
		s = t.paint(sections.Warning, l.Label+": ") + s
	case l.Label != "":
		s = t.paint(label, l.Label+": ") + s
	default:
		s = t.paint(l.Class, s)
	}
	t.line(s)
	for _, b := range i.Blocks {
		switch b := b.(type) {
		case sections.Text:
			t.line("  " + t.clean(labelled(b.Label, joined(b.Spans))))
		case sections.List:
			for _, item := range b.Items {
				t.line("  " + t.clean(joined(item.Spans)))
			}
		}
	}
}

// endList separates a list from what follows. Warnings are not separated, since those of the
// whole experiment follow them.
func (t *terminal) endList(l sections.List) {
	if l.Label != sections.Warning {
		t.space()
	}
}

// space prints an empty line, unless the last line is empty.
func (t *terminal) space() {
	if !strings.HasSuffix(t.b.String(), "\n\n") {
		t.line("")
	}
}

// mostLeftOut bounds the reasons for invalid runs that are printed, so that the verdict stays
// visible.
const mostLeftOut = 3

// end prints the conditions, the warnings, where the full report is, and finally whether the
// result is valid.
func (t *terminal) end(r *report.Report) {
	if slo := format.SLO(r.SLO); slo != "" {
		t.line("SLO: " + t.clean(slo))
	}
	if floor := r.NoiseFloorText(); floor != "" {
		t.line("noise floor: " + floor)
	}
	if r.Turns != nil {
		t.line("measured: " + r.Turns.Text())
		if machine := r.Turns.MachineText(); machine != "" {
			t.line("machine: " + machine)
		}
	}
	for _, w := range r.AllWarnings() {
		t.line(t.paint(sections.Warning, "warning: ") + t.clean(w))
	}
	left := r.LeftOut()
	if more := len(left) - mostLeftOut; more > 0 {
		left = append(left[:mostLeftOut:mostLeftOut], "more runs, for "+format.Plural(more, "other reason"))
	}
	for _, why := range left {
		t.line(t.paint(sections.Warning, "left out: ") + t.clean(why))
	}
	if r.Out != "" {
		t.line("report: " + t.clean(r.Out) + "/" + report.PageFile)
	}
	word, text := r.Status()
	if word == record.OutcomeFailed { // the first line has printed the reason
		text = "until then " + r.EvidenceText()
	}
	t.line(t.paint(word, word+": ") + t.clean(text))
}
