package sections

import (
	"fmt"

	"dyno/lab/capacity"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// pairs is the section with the ratios of a comparison, pair by pair.
func pairs(r *report.Report) Section {
	s := Section{ID: "pairs", Title: "Pair by pair", Nav: "Pairs"}
	if r.Turns != nil {
		s.Title = "Block by block"
	}
	for _, of := range r.Ratios {
		s.Blocks = append(s.Blocks, Heading{format.Metrics[of.Metric]}, Chart{of})
	}
	if len(r.Ratios) > 0 && len(r.Pairs) > 0 {
		t := tableOf("pairs", []format.Column[report.Pair]{
			words("round", func(p report.Pair) string { return fmt.Sprint(p.Round) }),
			figure(r.Comparison.A, "", "", func(p report.Pair) string { return format.Format(p.A) }),
			figure(r.Comparison.B, "", "", func(p report.Pair) string { return format.Format(p.B) }),
			figure("ratio", "", "", func(p report.Pair) string { return format.Times(p.Ratio) }),
		}, r.Pairs)
		s.Blocks = append(s.Blocks, Group{As: Fold, Title: plain("The pairs as a table"), Blocks: []Block{t}})
	}
	return s
}

// steps is the section of the variants with their capacities, ratios and figures.
func steps(r *report.Report) Section {
	title, inText := r.StepsTitle()
	if title == "" || len(r.Steps) == 0 {
		return Section{}
	}
	s, medium := Section{ID: "steps", Title: title}, Page
	if inText {
		medium = all
	}
	columns := r.Columns()
	if inText || len(columns) > 2 {
		s.Blocks = append(s.Blocks, stepTable(r, columns))
	}
	s.Blocks = append([]Block{Chart{Bars{r}}}, s.Blocks...)
	if text := r.UndecidedText(); text != "" {
		s.Blocks = append(s.Blocks, For{printed, []Block{Text{Spans: plain(text)}}})
	}
	var did []Item
	for _, step := range r.Steps {
		if step.Change != "" {
			did = append(did, Item{Spans: []Span{{S: step.Name, Class: Strong}, {S: ": " + step.Change}}})
		}
	}
	s.Blocks = append(s.Blocks, For{Markdown, []Block{List{Items: did}}})
	if text := r.NoiseFloorText(); text != "" {
		s.Blocks = append(s.Blocks, For{Page, []Block{Text{Class: Dim, Spans: plain("Noise floor of this machine: " + text + ". A ratio within it is not a difference.")}}})
	}
	s.Blocks = []Block{For{medium, s.Blocks}}
	return s
}

// Bars is the chart of the steps.
type Bars struct{ *report.Report }

func stepTable(r *report.Report, columns []report.StepColumn) Table {
	most := 0.0
	var of []*report.VariantResult
	for i := range r.Steps {
		of = append(of, &r.Steps[i])
		if c := r.Steps[i].Capacity; c.Known() {
			most = max(most, float64(c))
		}
	}
	t := tableOf("steps", columns, of)
	for i := range t.Rows {
		t.Rows[i].Note = r.Steps[i].NoCapacityText()
	}
	if r.Turns == nil { // otherwise the table already fills a terminal's width
		for i := range t.Rows {
			t.Rows[i].Share = float64(r.Steps[i].Capacity) / most
		}
	}
	return t
}

// changed is the section of the functions whose cost differs between two variants.
func changed(r *report.Report) Section {
	c := r.Changes
	if c == nil {
		return Section{}
	}
	return Section{ID: "changes", Title: "Functions whose cost changed", Nav: "Functions", Blocks: []Block{Group{As: Card, Blocks: []Block{
		List{Label: "changed", Items: lines(c.Lines())},
		For{Page, []Block{Text{Class: Dim, Spans: plain(fmt.Sprintf("Per request, %s to %s, with the interval of the change: all intervals of a resource together hold at 95%%, as far as the number of samples goes. A function's cost includes what it calls in libraries, but not in other functions of the program.", c.A, c.B))}}},
	}}}}
}

// rates is the section of the rates that a search for the capacity tried.
func rates(r *report.Report) Section {
	if r.Capacity == nil || r.Scaling != nil || r.SessionRuns != nil {
		return Section{}
	}
	s := Section{ID: "rates", Title: "Rates tried", Nav: "Rates"}
	if len(r.Trials) > 0 {
		t := tableOf("rates of slices", []format.Column[view.TrialRow]{
			figure("offered", "per second", "offered/s", func(v view.TrialRow) string { return format.Format(v.Rate) }),
			figure("met the SLO", "slices", "slices that met the SLO", func(v view.TrialRow) string { return fmt.Sprintf("%d of %d", v.Met, v.Judged) }),
			figure("p99", "ms, median", "p99 ms (median)", func(v view.TrialRow) string { return format.Format(v.P99) }),
		}, r.Trials)
		t.ShortHeads, t.Class = true, "narrow"
		s.Blocks = append(s.Blocks, t)
	}
	if len(r.Capacity.Steps) > 0 {
		s.Blocks = append(s.Blocks, rateTable(r.Capacity.Steps))
	}
	if r.IsDiagnosis() {
		s.Blocks = []Block{For{Page, s.Blocks}}
	}
	return s
}

func rateTable(of []capacity.RatePoint) Table {
	rate := func(head, unit, short string, read func(capacity.RatePoint) float64) format.Column[capacity.RatePoint] {
		return figure(head, unit, short, func(s capacity.RatePoint) string { return number(read(s)) })
	}
	t := tableOf("rates", []format.Column[capacity.RatePoint]{
		rate("offered", "per second", "offered/s", func(s capacity.RatePoint) float64 { return s.OfferedPerS }),
		rate("achieved", "per second", "achieved/s", func(s capacity.RatePoint) float64 { return s.ThroughputPerS }),
		rate("p50", "ms", "p50 ms", func(s capacity.RatePoint) float64 { return s.P50Ms }),
		rate("p99", "ms", "p99 ms", func(s capacity.RatePoint) float64 { return s.P99Ms }),
		roomy(rate("p99.9", "ms", "", func(s capacity.RatePoint) float64 { return s.P999Ms })),
		figure("errors", "", "errors", func(s capacity.RatePoint) string { return share(s.Errors) }),
		roomy(rate("CPU", "cores", "", func(s capacity.RatePoint) float64 { return s.CPU })),
		roomy(figure("variation", "of the rate", "", func(s capacity.RatePoint) string { return share(s.Variation) })),
		words("SLO", func(s capacity.RatePoint) string { return format.Met(s.Met, s.Invalid) }),
	}, of)
	for i, s := range of {
		t.Rows[i].Cells[8].Details = s.Misses
	}
	return t
}
