package sections

import (
	"cmp"
	"fmt"
	"strings"

	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// scaling is the section with a job's throughput over concurrency.
func scaling(r *report.Report) Section {
	of := r.Scaling
	if of == nil || len(of.Curves) == 0 {
		return Section{}
	}
	s := Section{ID: "scaling", Title: "Throughput over concurrency"}
	models := List{}
	for i := range of.Curves {
		s.Blocks = append(s.Blocks, Chart{of.Curves[i]})
		texts := of.Curves[i].Lines()
		models.Items = append(models.Items, Item{Spans: plain(texts[0]), Blocks: []Block{List{Items: lines(texts[1:])}}})
	}
	s.Blocks = append(s.Blocks, Chart{of}, pointTable(of), For{printed, []Block{models}})
	return s
}

// pointTable makes the table of all points of the curves.
func pointTable(of *view.Scaling) Table {
	type point struct {
		variant string
		view.ScalingPoint
	}
	var points []point
	for _, c := range of.Curves {
		for _, p := range c.Points {
			points = append(points, point{c.Variant, p})
		}
	}
	ms := func(head string, read func(point) format.Value) format.Column[point] {
		return figure(head, "", head, func(p point) string { return format.Format(read(p)) })
	}
	between := func(head string, read func(point) (format.Value, *format.Interval)) format.Column[point] {
		return figure(head, "", head, func(p point) string {
			v, i := read(p)
			return format.Format(v) + format.Space(format.Between(i))
		})
	}
	t := tableOf("throughput over concurrency", []format.Column[point]{
		words("variant", func(p point) string { return p.variant }),
		figure("concurrency", "", "concurrency", func(p point) string { return format.Count(int64(p.Concurrency)) }),
		between("done/s", func(p point) (format.Value, *format.Interval) { return p.PerS, p.PerSInterval }),
		ms("p50 ms", func(p point) format.Value { return p.P50 }),
		between("p95 ms", func(p point) (format.Value, *format.Interval) { return p.P95, p.P95Interval }),
		ms("p99 ms", func(p point) format.Value { return p.P99 }),
		words("SLO", func(p point) string {
			if !p.Judged {
				return ""
			}
			return format.Met(p.Met, "")
		}),
		words("waits for", func(p point) string { return cmp.Or(p.Waits, format.Dash) }),
	}, points)
	t.Class = "tall"
	return t
}

func sessions(r *report.Report) Section {
	if r.SessionRuns == nil {
		return Section{}
	}
	t := tableOf("sessions", r.SessionRuns.Columns(), r.SessionRuns)
	t.Class = "tall"
	return Section{ID: "sessions", Title: "Sessions", Blocks: []Block{t,
		For{Page, []Block{Text{Class: "note", Spans: plain("Frames and bytes received are those of a session: the mean, and p1, which 99% of the sessions reach. Opening times count from the first step of a connection until the session is open.")}}}}}
}

// sweep is the section of the variants at each declared rate, and under a rising rate.
func sweep(r *report.Report) Section {
	of := r.Sweep
	if of == nil {
		return Section{}
	}
	s := Section{ID: "sweep", Title: "Sweep"}
	for _, p := range of.Panels {
		if p.Name != "" {
			s.Blocks = append(s.Blocks, Heading{p.Name})
		}
		if p.Flows != nil {
			s.Blocks = append(s.Blocks, Chart{p})
		}
	}
	t := tableOf("the sweep", view.RowColumns, of.Rows)
	most := 0.0
	for _, row := range of.Rows {
		if row.Accepted.Known() {
			most = max(most, float64(row.Accepted))
		}
	}
	for i := range t.Rows {
		t.Rows[i].Share = float64(of.Rows[i].Accepted) / most
	}
	t.Class = "tall"
	onPage := append(changePoints(r), Heading{"Constant rates"}, t)
	if len(of.Ramps) == 0 {
		s.Blocks = append(s.Blocks, For{Page, onPage}, For{printed, []Block{t}})
		return s
	}
	rising := rampTable(of.Ramps)
	s.Blocks = append(s.Blocks,
		For{Page, append([]Block{
			Heading{"Under a rising rate"},
			Text{Class: Dim, Spans: plain("The highest offered rate at which all offers were accepted and delivered, within 2%; and the rate at which rate, p99 and GC pauses exceeded their thresholds: together (an inflection), or one alone.")},
			rising,
		}, onPage...)},
		For{printed, []Block{t, rising}})
	return s
}

func rampTable(of []view.Ramp) Table {
	t := tableOf("ramps", []format.Column[view.Ramp]{
		{Head: "variant", Short: "rising rate", Cell: func(r view.Ramp) string { return r.Variant }},
		figure("offered", "per second", "offered/s", func(r view.Ramp) string { return format.Format(r.From) + " to " + format.Format(r.To) }),
		figure("accepted follows", "up to", "accepted follows to", func(r view.Ramp) string { return r.FollowedText(r.Accepted) }),
		figure("delivered follows", "up to", "delivered follows to", func(r view.Ramp) string { return r.FollowedText(r.Delivered) }),
		words("inflection", func(r view.Ramp) string {
			if len(r.Moments) == 0 {
				return "none"
			}
			var texts []string
			for _, m := range r.Moments {
				texts = append(texts, m.Line())
			}
			return strings.Join(texts, "; ")
		}),
	}, of)
	t.ShortHeads, t.Class = true, "tall"
	t.Columns[4].Class = "remarks"
	return t
}

// stages is the section that shows where the requests of each variant spent their time.
func stages(r *report.Report) Section {
	s := Section{ID: "stages", Title: "Where requests spend their time", Nav: "Stages"}
	for _, of := range r.Stages {
		s.Blocks = append(s.Blocks, Heading{of.Run}, stageTable(of))
	}
	if len(s.Blocks) > 0 {
		s.Blocks = append(s.Blocks, Text{Class: Dim, Spans: plain("From the spans that the service sent.")})
	}
	return s
}

// deepestIndent is the number of levels to which stages are indented.
const deepestIndent = 6

func stageTable(of view.Staged) Table {
	ms := func(head, unit string, read func(view.StageRow) float64) format.Column[view.StageRow] {
		return figure(head, unit, "", func(s view.StageRow) string { return number(read(s)) })
	}
	name := "stages"
	if of.Variant != "" {
		name += " of " + of.Variant
	}
	t := tableOf(name, []format.Column[view.StageRow]{
		words("stage", func(s view.StageRow) string { return s.Name }),
		{Head: "mean", Unit: "and its self time", Cell: func(view.StageRow) string { return "" }},
		ms("mean", "ms", func(s view.StageRow) float64 { return s.Latency.Mean }),
		ms("self", "mean, ms", func(s view.StageRow) float64 { return s.Self }),
		ms("p50", "ms", func(s view.StageRow) float64 { return s.Latency.P50 }),
		ms("p99", "ms", func(s view.StageRow) float64 { return s.Latency.P99 }),
		figure("count", "", "", func(s view.StageRow) string { return format.Count(s.Count) }),
		figure("errors", "", "", func(s view.StageRow) string {
			if s.Errors == 0 {
				return ""
			}
			return format.Count(s.Errors)
		}),
	}, of.Rows)
	t.Class, t.Columns[1].Class = "stages", "bar-cell"
	for i, s := range of.Rows {
		row := &t.Rows[i]
		row.Cells[0].Class = fmt.Sprintf("depth-%d", max(0, min(s.Depth, deepestIndent)))
		row.Cells[1].Chart = s
		if s.Depth == 0 {
			row.Class = "root"
			if s.Transaction != s.Name {
				row.Cells[0].Details = []string{s.Transaction}
			}
		}
	}
	return t
}

// databases is the section of the connection pools and statements that the variants reported,
// with remarks on them.
func databases(r *report.Report) Section {
	if len(r.Databases) == 0 {
		return Section{}
	}
	t := tableOf("connection pools and statements", view.DatabaseColumns(r.Databases), r.Databases)
	t.Caption = "Database"
	for i, d := range r.Databases {
		t.Rows[i].Title = d.Run
	}
	remarks := List{Label: Warning, Class: Warning, Items: lines(view.DatabaseRemarks(r.Databases))}
	return Section{ID: "database", Title: "Database", Blocks: []Block{t, remarks,
		For{Page, []Block{Text{Class: Dim, Spans: plain("The service's own counts over the measured time of a variant's last run at its capacity: requests that found no free connection, reused connections, statements already prepared, and statements with a deadline.")}}}}}
}
