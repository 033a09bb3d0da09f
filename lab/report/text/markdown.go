package text

import (
	"fmt"
	"io"
	"strings"

	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/sections"
)

// Markdown writes the result and its conditions for a pull request.
func Markdown(w io.Writer, r *report.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", EscapeMarkdown(r.Title))
	if r.Invalid == "" {
		fmt.Fprintf(&b, "%s\n\n", EscapeMarkdown(r.Answer))
	}
	if badge := r.Badge(); badge.Tone != report.Good {
		fmt.Fprintf(&b, "**%s**: %s\n\n", badge.Word, EscapeMarkdown(badge.Text))
	}
	walk(markdown{&b}, r, sections.Markdown)
	conditionsMarkdown(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}

type markdown struct{ b *strings.Builder }

func (m markdown) text(t sections.Text) {
	s := EscapeMarkdown(sentence(t))
	if t.Class == sections.Strong {
		s = "**" + s + "**"
	}
	m.b.WriteString(s + "\n\n")
}

func (m markdown) endTexts() {}

// item writes a list item, then the texts that explain it, and below it the items of its lists.
func (m markdown) item(_ sections.List, i sections.Item) {
	m.b.WriteString("- ")
	for n, s := range i.Spans {
		text := EscapeMarkdown(s.S)
		if s.Class == sections.Strong {
			text = "**" + text + "**"
		}
		m.b.WriteString(sections.Gap(n, s) + text)
	}
	var below []sections.Item
	for _, b := range i.Blocks {
		switch b := b.(type) {
		case sections.Text:
			m.b.WriteString(" " + EscapeMarkdown(sentence(b)))
		case sections.List:
			below = append(below, b.Items...)
		}
	}
	m.b.WriteByte('\n')
	for _, item := range below {
		m.b.WriteString("  - " + EscapeMarkdown(joined(item.Spans)) + "\n")
	}
}

func (m markdown) endList(sections.List) { m.b.WriteByte('\n') }

// sentence returns a text that begins with its label.
func sentence(t sections.Text) string {
	if t.Label == "" {
		return joined(t.Spans)
	}
	return labelled(t.Capital(), joined(t.Spans))
}

func (m markdown) table(t sections.Table) {
	t = narrow(t)
	if t.Caption != "" {
		m.b.WriteString("**" + t.Caption + "**\n\n")
	}
	line := func(cell func(i int) string) {
		m.b.WriteByte('|')
		for i := range t.Columns {
			m.b.WriteString(cell(i) + "|")
		}
		m.b.WriteByte('\n')
	}
	line(func(i int) string {
		if t.ShortHeads {
			return " " + EscapeMarkdown(t.Columns[i].Short) + " "
		}
		return " " + EscapeMarkdown(t.Columns[i].Name()) + " "
	})
	line(func(i int) string {
		if t.Columns[i].Number {
			return "---:"
		}
		return "---"
	})
	for _, row := range t.Rows {
		line(func(i int) string {
			text := row.Cells[i].Text
			if t.Columns[i].Detailed {
				text += format.Space(row.Cells[i].Details[0])
			}
			if i == len(t.Columns)-1 && row.Note != "" {
				text += "; " + row.Note
			}
			return " " + EscapeMarkdown(text) + " "
		})
	}
	m.b.WriteByte('\n')
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
	item("SLO", EscapeMarkdown(format.SLO(r.SLO)))
	item("measured", format.Clock(r.Started))
	item("machine", EscapeMarkdown(r.Machine.String()))
	if all > 0 {
		item("runs", format.Runs(all, valid))
	}
	if r.Turns != nil {
		item("measured", r.Turns.Text()+"; "+EscapeMarkdown(r.EvidenceText()))
		item("disturbance", r.Turns.MachineText())
	}
	item("noise floor", r.NoiseFloorText())
	if len(r.Command) > 0 {
		item("again", codeSpan(format.Command(r.Command)))
	}
	for _, w := range r.AllWarnings() {
		item("warning", EscapeMarkdown(w))
	}
	b.WriteString("\n</details>\n")
}

// markdownEscapes makes names inert: they cannot begin a table cell, tag, link, mention or
// emphasis.
var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`,
	"](", `]\(`, "@", "&#64;", "#", `\#`, "~", `\~`)

// EscapeMarkdown makes a text inert in Markdown, also as a cell of a table.
func EscapeMarkdown(s string) string { return markdownEscapes.Replace(format.Visible(s)) }

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
