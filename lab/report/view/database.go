package view

import (
	"slices"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/findings"
	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Database is the figures that a variant reported for one of its connection pools, or for its
// statements.
type Database struct {
	Variant string
	Run     string // source run
	facts.Database
	Remarks []string // problems, in words
}

// DatabasesOf returns each variant's figures at its capacity, or else at its highest load, or else
// from any run; each from its last run with figures.
func DatabasesOf(e *record.Experiment, atCapacity func(variant string) []*record.Run) (out []Database) {
	for _, name := range e.VariantNames() {
		for _, runs := range [][]*record.Run{atCapacity(name), saturated(e, name), counting(e, name)} {
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
		return r.Spec.Variant == variant && r.Invalid == "" && r.Spec.Role != record.RoleProfile
	})
}

func databasesOf(variant string, runs []*record.Run) (out []Database) {
	for _, r := range slices.Backward(runs) {
		for _, reported := range facts.Databases(r) {
			d := Database{Variant: variant, Run: format.Run(r), Database: reported}
			for _, f := range findings.Database(r, reported) {
				d.Remarks = append(d.Remarks, f.Text)
			}
			out = append(out, d)
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// DatabaseFigure is a figure of a database. Terminal, Markdown, page and JSON show every figure
// of the table DatabaseFigures.
type DatabaseFigure struct {
	Key        string // in the JSON
	Name, Unit string
	Short      string // name and unit for narrow tables
	read       func(Database) float64
	write      func(format.Value) string
}

// DatabaseFigures are the figures of a database, in the order of the columns and of the JSON.
var DatabaseFigures = []DatabaseFigure{
	{"connections_in_use", "in use", "connections, mean", "in use", func(d Database) float64 { return d.InUse }, format.Format},
	{"connections_open", "open", "connections, mean", "open", func(d Database) float64 { return d.Open }, format.Format},
	{"connections_max", "at most", "connections", "at most", func(d Database) float64 { return d.Max }, format.Format},
	{"waits_per_s", "waits", "per second", "waits/s", func(d Database) float64 { return d.WaitsPerS }, format.Format},
	{"wait_mean_ms", "wait", "mean, ms", "wait ms", func(d Database) float64 { return 1000 * d.MeanWait }, format.Format},
	{"connection_reuse", "reused", "of acquires", "reused", func(d Database) float64 { return d.Reuse }, format.Percent},
	{"statements_per_request", "statements", "per request", "stmts/req", func(d Database) float64 { return d.PerRequest }, format.Format},
	{"statement_cache_hits", "cached", "of statements", "cached", func(d Database) float64 { return d.Prepared }, format.Percent},
	{"statements_with_deadline", "with a deadline", "of statements", "deadline", func(d Database) float64 { return d.Dated }, format.Percent},
}

// Of is the figure of one database.
func (f *DatabaseFigure) Of(d Database) format.Value { return format.Value(f.read(d)) }

// DatabaseColumns are the columns of the table of databases that have content.
func DatabaseColumns(of []Database) []format.Column[Database] {
	all := []format.Column[Database]{
		{Head: "variant", Short: "variant", Cell: func(d Database) string { return d.Variant }},
		{Head: "pool", Short: "pool", Cell: func(d Database) string { return d.Name }},
	}
	for i := range DatabaseFigures {
		f := &DatabaseFigures[i]
		all = append(all, format.Column[Database]{Head: f.Name, Unit: f.Unit, Short: f.Short, Number: true,
			Cell: func(d Database) string { return f.write(f.Of(d)) }})
	}
	return format.Shown(all, of)
}

// DatabaseRemarks are the remarks of all databases, each with the database's name.
func DatabaseRemarks(of []Database) (out []string) {
	for _, d := range of {
		for _, remark := range d.Remarks {
			if d.Variant != "" {
				remark = d.Variant + ": " + remark
			}
			out = append(out, remark)
		}
	}
	return out
}
