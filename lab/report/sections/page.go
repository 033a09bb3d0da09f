package sections

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// flames is the section with the flame graphs of the profiles.
func flames(r *report.Report) Section {
	if r.Flames == nil {
		return Section{}
	}
	s := Section{ID: "flames", Title: "Flame graphs"}
	if len(r.Flames.Graphs) > 0 {
		s.Blocks = append(s.Blocks, Chart{r.Flames})
	}
	if of := r.Flames.Missing; len(of) > 0 {
		s.Blocks = append(s.Blocks, Group{As: Fold, Title: plain("Profiles not taken"), Blocks: []Block{List{Class: Dim, Items: lines(of)}}})
	}
	return s
}

// Curves are the load curves of the variants, which share their scales.
type Curves struct {
	Of    []view.Curve
	Turns bool         // the dots are slices, not runs
	Bound format.Value // of the SLO on p99, ms
}

// curves is the section with latencies over the offered rate.
func curves(r *report.Report) Section {
	s := Section{ID: "curve", Title: "Load curves"}
	if len(r.Curves) > 0 {
		s.Blocks = append(s.Blocks, Chart{Curves{r.Curves, r.Turns != nil, format.P99Bound(r.SLO)}})
	}
	for _, c := range r.Charts {
		s.Blocks = append(s.Blocks, Chart{c})
	}
	return s
}

// Series are the time series of the runs.
type Series struct {
	Traces  []view.Trace
	Left    int // number of runs that have no trace here
	Initial int // index of the trace that is shown first
}

// series is the section with client and server over time.
func series(r *report.Report) Section {
	if len(r.Traces) == 0 {
		return Section{}
	}
	return Section{ID: "series", Title: "Client and server over time", Nav: "Over time", Blocks: []Block{Chart{Series{r.Traces, r.TracesLeft, initial(r)}}}}
}

// initial returns the index of the trace that is shown first: that of the last measured run that
// met its SLO, or else of the last measured run, or else of the last run that saturated the
// service.
func initial(r *report.Report) (best int) {
	rank := map[string]int{}
	for _, run := range r.Runs {
		measured := run.Role == record.RoleMeasure || run.Role == record.RoleSweep || run.Role == record.RoleSingle
		switch {
		case run.Invalid != "":
		case measured && run.Met:
			rank[run.ID] = 3
		case measured:
			rank[run.ID] = 2
		case run.Role == record.RoleSaturate:
			rank[run.ID] = 1
		}
	}
	for i, t := range r.Traces {
		if rank[t.Run] >= rank[r.Traces[best].Run] {
			best = i
		}
	}
	return best
}

// Pauses are the histograms of GC pauses of the variants.
type Pauses []view.Pauses

// pauses is the section with the GC pauses of the variants.
func pauses(r *report.Report) Section {
	if len(r.Pauses) == 0 {
		return Section{}
	}
	return Section{ID: "pauses", Title: "GC pauses", Blocks: []Block{Chart{Pauses(r.Pauses)}}}
}

func runs(r *report.Report) Section {
	if len(r.Runs) == 0 {
		return Section{}
	}
	return Section{ID: "runs", Title: "Runs", Blocks: []Block{Runs(r.Runs)}}
}

// Runs makes the table of runs, also for package live.
func Runs(of []view.Run) Table {
	value := func(head, unit string, read func(view.Run) format.Value) format.Column[view.Run] {
		return figure(head, unit, "", func(r view.Run) string { return format.Format(read(r)) })
	}
	t := tableOf("runs", []format.Column[view.Run]{
		words("run", func(r view.Run) string { return r.ID }),
		words("role", func(r view.Run) string { return format.Role(r.Role) }),
		figure("round", "", "", func(r view.Run) string {
			if r.Round == 0 {
				return ""
			}
			return fmt.Sprint(r.Round)
		}),
		value("offered", "per second", func(r view.Run) format.Value { return r.Offered }),
		value("achieved", "per second", func(r view.Run) format.Value { return r.Throughput }),
		value("p50", "ms", func(r view.Run) format.Value { return r.P50 }),
		value("p99", "ms", func(r view.Run) format.Value { return r.P99 }),
		figure("errors", "", "", func(r view.Run) string { return format.Percent(r.Errors) }),
		value("CPU", "us per request", func(r view.Run) format.Value { return r.CPU }),
		words("SLO", func(r view.Run) string {
			switch {
			case !r.Judged:
				return ""
			case r.Inconclusive != "" && !r.Met:
				return "not judged"
			}
			return format.Met(r.Met, "")
		}),
		words("remarks", func(r view.Run) string {
			text := strings.Join(slices.Concat(r.Misses, r.Warnings), ". ")
			if text != "" {
				text += "."
			}
			return text
		}),
	}, of)
	t.Class, t.Columns[10].Class = "tall", "remarks"
	for i, r := range of {
		row := &t.Rows[i]
		row.Cells[9].Title = r.Inconclusive
		if r.Invalid != "" {
			row.Class, row.Cells[10].Strong = "invalid", "invalid: "+r.Invalid
		}
	}
	return t
}

// Turns makes the table of the variants that take turns, with the results so far, for package
// live.
func Turns(of []view.VariantSoFar) Table {
	value := func(head, unit string, read func(view.VariantSoFar) format.Value) format.Column[view.VariantSoFar] {
		return figure(head, unit, "", func(v view.VariantSoFar) string { return format.Format(read(v)) })
	}
	return tableOf("turns", []format.Column[view.VariantSoFar]{
		words("variant", func(v view.VariantSoFar) string { return v.Variant }),
		figure("slices", "", "", func(v view.VariantSoFar) string { return fmt.Sprint(v.Slices) }),
		value("work rate", "per second, peak", func(v view.VariantSoFar) format.Value { return v.Work }),
		value("CPU", "us per request", func(v view.VariantSoFar) format.Value { return v.CPU }),
		figure("met the SLO", "slices", "", func(v view.VariantSoFar) string {
			if v.Judged == 0 {
				return ""
			}
			return fmt.Sprintf("%d of %d", v.Met, v.Judged)
		}),
		value("offered last", "per second", func(v view.VariantSoFar) format.Value { return v.Rate }),
		value("p99", "ms, last", func(v view.VariantSoFar) format.Value { return v.P99 }),
	}, of)
}

// conditions is the section with what a reader needs to run the experiment again.
func conditions(r *report.Report) Section {
	s := Section{ID: "conditions", Title: "Conditions"}
	if len(r.Command) > 0 {
		s.Blocks = append(s.Blocks, Heading{"Run it again"}, Pre{format.Command(r.Command), "card"})
	}
	settings := tableOf("the machine's settings", []format.Column[string]{
		words("", func(name string) string { return name }),
		words("", func(name string) string { return r.Machine.Settings[name] }),
	}, slices.Sorted(maps.Keys(r.Machine.Settings)))
	settings.Class = "narrow"
	s.Blocks = append(s.Blocks, Group{As: Fold, Title: plain("Machine: " + r.Machine.String()), Blocks: []Block{settings}})
	if len(r.Assemblies) > 0 {
		s.Blocks = append(s.Blocks, Heading{"Assemblies"})
	}
	for _, a := range r.Assemblies {
		s.Blocks = append(s.Blocks, assembly(a))
	}
	if r.Scenario != "" {
		s.Blocks = append(s.Blocks, Heading{"Scenario"}, Group{As: Fold, Title: plain("The scenario's text"), Blocks: []Block{Pre{Text: r.Scenario}}})
	}
	return s
}

// assembly makes the block of how a variant was started, and of the settings that it reported.
func assembly(a view.Assembly) Block {
	g := Group{As: Fold, Title: plain(cmp.Or(a.Variant, "target"))}
	if a.Args != "" {
		g.Title = append(g.Title, Span{S: a.Args, Class: Code})
	}
	if a.Command != "" {
		g.Blocks = append(g.Blocks, Text{Spans: plain("Started as")}, Pre{Text: a.Command})
	}
	if a.JSON != nil {
		g.Blocks = append(g.Blocks, Text{Spans: plain("Resolved to")}, Pre{Text: string(a.JSON)})
	} else {
		g.Blocks = append(g.Blocks, Text{Class: Dim, Spans: plain("Its resolved settings are unknown: the target has no agent.")})
	}
	return g
}
