package text

import (
	"strings"

	"dyno/lab/report"
	"dyno/lab/report/inside"
)

func databaseMarkdown(b *strings.Builder, r *report.Report) {
	if len(r.Databases) == 0 {
		return
	}
	var head []string
	var number []bool
	for _, c := range inside.DatabaseColumns(r.Databases) {
		head, number = append(head, c.Name()), append(number, c.Number)
	}
	b.WriteString("**Database**\n\n")
	tableMarkdown(b, head, number, databaseCells(r.Databases))
	for _, remark := range inside.DatabaseRemarks(r.Databases) {
		b.WriteString("- " + escapeMarkdown(remark) + "\n")
	}
	b.WriteByte('\n')
}

func databaseCells(of []inside.Database) (rows [][]string) {
	columns := inside.DatabaseColumns(of)
	for _, d := range of {
		var cells []string
		for _, c := range columns {
			cells = append(cells, c.Cell(d))
		}
		rows = append(rows, cells)
	}
	return rows
}

func (t *terminal) databases(r *report.Report) {
	if len(r.Databases) == 0 {
		return
	}
	var head []string
	var number []bool
	for _, c := range inside.DatabaseColumns(r.Databases) {
		head, number = append(head, c.Short), append(number, c.Number)
	}
	var rows []row
	for _, cells := range databaseCells(r.Databases) {
		rows = append(rows, row{share: -1, cells: cells})
	}
	t.line(t.paint(bold, "database"))
	t.table(head, number, rows)
	for _, remark := range inside.DatabaseRemarks(r.Databases) {
		t.line(t.paint(amber, "warning: ") + t.clean(remark))
	}
}
