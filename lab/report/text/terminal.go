// Package text prints a report for people: as tables on a terminal, and as Markdown for a pull
// request.
//
// It computes no result and chooses none: packages report and sections do. It starts no goroutines.
package text

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/sections"
)

// Style describes the terminal. The zero Style is for a pipe: plain ASCII, no limit on width.
type Style struct {
	Color bool // use escape codes, and bars of Unicode blocks
	Width int  // in columns; 0: unknown, so that nothing is left out
	// Explain shows all of a diagnosis, which otherwise is three lines and some evidence.
	Explain bool
}

// Terminal prints the result for the user of the command.
func Terminal(w io.Writer, r *report.Report, s Style) error {
	t := &terminal{style: s}
	head := t.paint(sections.Strong, t.clean(r.Title))
	if r.Outcome.Status == record.OutcomeFailed {
		head += t.clean(": failed: " + r.Outcome.Reason)
	}
	t.line(head)
	if !s.Explain && r.Invalid == "" && r.IsDiagnosis() && len(r.Diagnoses) > 0 && r.Diagnoses[0].Valid {
		walk(t, r, sections.Brief)
		t.close(r)
		_, err := io.WriteString(w, t.b.String())
		return err
	}
	if r.Invalid == "" { // otherwise end prints the reason
		t.prose("", "", t.clean(r.Answer), string(r.Badge().Tone))
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

// colors are the escape codes (ECMA-48 SGR) of the classes and tones.
var colors = map[string]string{
	sections.Strong: "1", sections.Dim: "2", sections.Warning: "33", label: "34",
	string(report.Good): "32", string(report.Part): "33", string(report.Bad): "31",
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

// prose prints a text with its label, in lines no wider than the terminal. The lines after the
// first are indented.
func (t *terminal) prose(what, whatClass, text, class string) {
	if what != "" {
		what += ": "
	}
	lines := Wrapped(what+text, t.style.Width)
	for i, s := range lines {
		switch {
		case i > 0:
			t.line("  " + t.paint(class, s))
		case len(s) >= len(what):
			t.line(t.paint(whatClass, what) + t.paint(class, s[len(what):]))
		default: // the label itself is wrapped
			t.line(t.paint(whatClass, s))
		}
	}
}

// Wrapped divides a text into lines of at most width columns, between words; the lines after the
// first leave room for an indent of two. A word that is wider has a line of its own. Width 0 is
// unlimited.
func Wrapped(text string, width int) (lines []string) {
	const indent, least = 2, 20
	if width < least {
		return []string{text}
	}
	line := ""
	for _, word := range strings.SplitAfter(text, " ") {
		room := width
		if len(lines) > 0 {
			room -= indent
		}
		if line != "" && utf8.RuneCountInString(line)+utf8.RuneCountInString(strings.TrimSuffix(word, " ")) > room {
			lines, line = append(lines, line), ""
		}
		line += word
	}
	return append(lines, line)
}

func (t *terminal) text(of sections.Text) {
	t.prose(of.Label, label, t.clean(joined(of.Spans)), of.Class)
}

func (t *terminal) endTexts() { t.line("") }

func (t *terminal) item(l sections.List, i sections.Item) {
	s := t.clean(joined(i.Spans))
	switch {
	case l.Label == sections.Warning:
		t.prose(l.Label, sections.Warning, s, "")
	case l.Label != "":
		t.prose(l.Label, label, s, "")
	default:
		t.prose("", "", s, l.Class)
	}
	for _, b := range i.Blocks {
		switch b := b.(type) {
		case sections.Text:
			t.below(labelled(b.Label, joined(b.Spans)))
		case sections.List:
			for _, item := range b.Items {
				t.below(joined(item.Spans))
			}
		}
	}
}

// below prints a text that explains the one above it.
func (t *terminal) below(text string) {
	for _, s := range Wrapped(t.clean(text), t.style.Width-2) {
		t.line("  " + s)
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
		t.prose("warning", sections.Warning, t.clean(w), "")
	}
	left := r.LeftOut()
	if more := len(left) - mostLeftOut; more > 0 {
		left = append(left[:mostLeftOut:mostLeftOut], "more runs, for "+format.Plural(more, "other reason"))
	}
	for _, why := range left {
		t.prose("left out", sections.Warning, t.clean(why), "")
	}
	t.close(r)
}

// close prints where the full report is, and whether the result is valid.
func (t *terminal) close(r *report.Report) {
	if r.Out != "" {
		t.line("report: " + t.clean(r.Out) + "/" + report.PageFile)
	}
	b := r.Badge()
	if b.Word == record.OutcomeFailed { // the first line has printed the reason
		b.Text = "until then " + r.EvidenceText()
	}
	t.prose(b.Word, string(b.Tone), t.clean(b.Text), "")
}
