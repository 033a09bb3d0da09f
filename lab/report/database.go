package report

import (
	"slices"
	"strings"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/findings"
	"dyno/lab/record"
)

// Database is the figures that a variant reported for one of its connection pools, or for its
// statements.
type Database struct {
	Variant string
	Run     string // source run
	facts.Database
	Remarks []string // problems, in words
}

// databases returns each variant's figures at its capacity, or else at its highest load, or else
// from any run; each from its last run with figures.
func databases(e *record.Experiment, a analysis) (out []Database) {
	for _, name := range variantNames(e) {
		for _, runs := range [][]*record.Run{atCapacity(e, a, name), saturated(e, name), counting(e, name)} {
			if found := databasesOf(name, runs); len(found) > 0 {
				out = append(out, found...)
				break
			}
		}
	}
	return out
}

// counting returns a variant's valid runs without profiles.
func counting(e *record.Experiment, variant string) []*record.Run {
	return e.Select(func(r *record.Run) bool {
		return r.Step.Variant == variant && r.Invalid == "" && r.Step.Role != record.RoleProfile
	})
}

func databasesOf(variant string, runs []*record.Run) (out []Database) {
	for _, r := range slices.Backward(runs) {
		for _, told := range facts.Databases(r) {
			d := Database{Variant: variant, Run: runLabel(r), Database: told}
			for _, f := range findings.Database(r, told) {
				d.Remarks = append(d.Remarks, f.InWords)
			}
			out = append(out, d)
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// databaseColumn is a column of the table of databases, the same in every form of the report.
type databaseColumn struct {
	Head, Unit string
	Short      string // head and unit for narrow tables
	Number     bool
	Cell       func(Database) string
}

// databaseColumns are the columns that have content.
func (r *Report) databaseColumns() []databaseColumn {
	text := func(head string, cell func(Database) string) databaseColumn {
		return databaseColumn{Head: head, Short: head, Cell: cell}
	}
	value := func(head, unit, short string, read func(Database) float64, write func(Value) string) databaseColumn {
		return databaseColumn{head, unit, short, true, func(d Database) string { return write(Value(read(d))) }}
	}
	all := []databaseColumn{
		text("variant", func(d Database) string { return d.Variant }),
		text("pool", func(d Database) string { return d.Name }),
		value("in use", "connections, mean", "in use", func(d Database) float64 { return d.InUse }, figure),
		value("open", "connections, mean", "open", func(d Database) float64 { return d.Open }, figure),
		value("at most", "connections", "at most", func(d Database) float64 { return d.Max }, figure),
		value("waits", "per second", "waits/s", func(d Database) float64 { return d.WaitsPerS }, figure),
		value("wait", "mean, ms", "wait ms", func(d Database) float64 { return 1000 * d.MeanWait }, figure),
		value("reused", "of acquires", "reused", func(d Database) float64 { return d.Reuse }, percent),
		value("statements", "per request", "stmts/req", func(d Database) float64 { return d.PerRequest }, figure),
		value("cached", "of statements", "cached", func(d Database) float64 { return d.Prepared }, percent),
		value("with a deadline", "of statements", "deadline", func(d Database) float64 { return d.Dated }, percent),
	}
	return slices.DeleteFunc(all, func(c databaseColumn) bool {
		return !slices.ContainsFunc(r.Databases, func(d Database) bool { return c.Cell(d) != "" && c.Cell(d) != dash })
	})
}

func (r *Report) databaseMarkdown(b *strings.Builder) {
	if len(r.Databases) == 0 {
		return
	}
	var head []string
	var number []bool
	for _, c := range r.databaseColumns() {
		name := c.Head
		if c.Unit != "" {
			name += ", " + c.Unit
		}
		head, number = append(head, name), append(number, c.Number)
	}
	b.WriteString("**Database**\n\n")
	tableMarkdown(b, head, number, r.databaseCells())
	for _, remark := range r.databaseRemarks() {
		b.WriteString("- " + escapeMarkdown(remark) + "\n")
	}
	b.WriteByte('\n')
}

func (r *Report) databaseCells() (rows [][]string) {
	for _, d := range r.Databases {
		var cells []string
		for _, c := range r.databaseColumns() {
			cells = append(cells, c.Cell(d))
		}
		rows = append(rows, cells)
	}
	return rows
}

// databaseRemarks are the remarks of all databases, each with the database's name.
func (r *Report) databaseRemarks() (out []string) {
	for _, d := range r.Databases {
		for _, remark := range d.Remarks {
			if d.Variant != "" {
				remark = d.Variant + ": " + remark
			}
			out = append(out, remark)
		}
	}
	return out
}

func (t *terminal) databases(r *Report) {
	if len(r.Databases) == 0 {
		return
	}
	var head []string
	var number []bool
	for _, c := range r.databaseColumns() {
		head, number = append(head, c.Short), append(number, c.Number)
	}
	var rows []row
	for _, cells := range r.databaseCells() {
		rows = append(rows, row{share: -1, cells: cells})
	}
	t.line(t.paint(bold, "database"))
	t.table(head, number, rows)
	for _, remark := range r.databaseRemarks() {
		t.line(t.paint(amber, "warning: ") + t.clean(remark))
	}
}

type jsonDatabase struct {
	Variant    string   `json:"variant"`
	Run        string   `json:"run"`
	Name       string   `json:"name"`
	InUse      Value    `json:"connections_in_use"`
	Open       Value    `json:"connections_open"`
	Max        Value    `json:"connections_max"`
	WaitsPerS  Value    `json:"waits_per_s"`
	WaitMs     Value    `json:"wait_mean_ms"`
	Reuse      Value    `json:"connection_reuse"`
	PerRequest Value    `json:"statements_per_request"`
	Prepared   Value    `json:"statement_cache_hits"`
	Dated      Value    `json:"statements_with_deadline"`
	Remarks    []string `json:"remarks"`
}

func (r *Report) jsonDatabases() (out []jsonDatabase) {
	for _, d := range r.Databases {
		out = append(out, jsonDatabase{d.Variant, d.Run, d.Name, Value(d.InUse), Value(d.Open), Value(d.Max), Value(d.WaitsPerS), Value(1000 * d.MeanWait),
			Value(d.Reuse), Value(d.PerRequest), Value(d.Prepared), Value(d.Dated), list(d.Remarks)})
	}
	return out
}
