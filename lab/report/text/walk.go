package text

import (
	"strings"

	"dyno/lab/report"
	"dyno/lab/report/sections"
)

// writer writes blocks in one of the text outputs.
type writer interface {
	text(t sections.Text)
	endTexts() // after the last of successive texts
	item(l sections.List, i sections.Item)
	endList(l sections.List) // after the last of successive lists
	table(t sections.Table)
}

// walk writes the sections of a report. It leaves out charts, facts and headings, which only the
// page shows.
func walk(w writer, r *report.Report, medium sections.Medium) {
	for _, s := range sections.Of(r, medium) {
		blocks := flat(s.Blocks)
		for i, b := range blocks {
			last := i == len(blocks)-1
			switch b := b.(type) {
			case sections.Text:
				w.text(b)
				if last || !is[sections.Text](blocks[i+1]) {
					w.endTexts()
				}
			case sections.List:
				for _, item := range b.Items {
					w.item(b, item)
				}
				if last || !is[sections.List](blocks[i+1]) {
					w.endList(b)
				}
			case sections.Table:
				w.table(b)
			}
		}
	}
}

// flat returns the texts, lists and tables in their order, without the groups around them.
func flat(blocks []sections.Block) (out []sections.Block) {
	for _, b := range blocks {
		switch b := b.(type) {
		case sections.Group:
			out = append(out, flat(b.Blocks)...)
		case sections.Text, sections.List:
			out = append(out, b)
		case sections.Table:
			if len(b.Rows) > 0 {
				out = append(out, b)
			}
		}
	}
	return out
}

func is[T sections.Block](b sections.Block) bool {
	_, ok := b.(T)
	return ok
}

// joined returns a text without the styles of its spans.
func joined(spans []sections.Span) string {
	var b strings.Builder
	for i, s := range spans {
		b.WriteString(sections.Gap(i, s) + s.S)
	}
	return b.String()
}

// narrow returns a table without the columns that only the page shows.
func narrow(t sections.Table) sections.Table {
	columns, rows := t.Columns, t.Rows
	t.Columns, t.Rows = nil, nil
	for _, c := range columns {
		if !c.Roomy {
			t.Columns = append(t.Columns, c)
		}
	}
	for _, row := range rows {
		var cells []sections.Cell
		for i, cell := range row.Cells {
			if !columns[i].Roomy {
				cells = append(cells, cell)
			}
		}
		row.Cells = cells
		t.Rows = append(t.Rows, row)
	}
	return t
}
