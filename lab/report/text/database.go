package text

import (
	"strings"

	"dyno/lab/report"
	"dyno/lab/report/view"
)

// databaseMarkdown writes the table of databases, and what is wrong with them.
func databaseMarkdown(b *strings.Builder, r *report.Report) {
	if len(r.Databases) == 0 {
		return
	}
	columns := view.DatabaseColumns(r.Databases)
	head, number := fullHeads(columns)
	b.WriteString("**Database**\n\n")
	tableMarkdown(b, head, number, cellsOf(columns, r.Databases))
	for _, remark := range view.DatabaseRemarks(r.Databases) {
		b.WriteString("- " + escapeMarkdown(remark) + "\n")
	}
	b.WriteByte('\n')
}

func (t *terminal) databases(r *report.Report) {
	if len(r.Databases) == 0 {
		return
	}
	columns := view.DatabaseColumns(r.Databases)
	head, number := shortHeads(columns)
	t.line(t.paint(bold, "database"))
	t.cells(head, number, cellsOf(columns, r.Databases))
	for _, remark := range view.DatabaseRemarks(r.Databases) {
		t.line(t.paint(amber, "warning: ") + t.clean(remark))
	}
}
