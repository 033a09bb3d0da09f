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

// load is the section of a single load: its latencies, what became of its requests, and how it
// was sent.
func load(r *report.Report) Section {
	l := r.Load
	if l == nil {
		return Section{}
	}
	s := Section{ID: "load", Title: "Frames"}
	if len(l.Latencies()) > 0 {
		s.Title = "Latency"
	}
	s.Blocks = []Block{For{Page, judged(l)}, quantiles(l)}
	if len(l.Tails) > 0 {
		s.Blocks = append(s.Blocks, Heading{"Percentile curve"}, Chart{l})
	}
	if classes := l.Classes(); len(classes) > 0 {
		s.Blocks = append(s.Blocks, For{Terminal | Page, classTable(l, classes)})
	}
	of, ofStatus := "of offers", "of offers"
	if l.Run.Load.Steps != nil {
		of, ofStatus = "of flows", "of answers"
	}
	t := l.Run.Totals
	return Section{s.ID, s.Title, s.Nav, append(s.Blocks,
		For{Terminal, counted(l)},
		For{Markdown, []Block{Text{Spans: plain(completed(l))}}},
		Heading{"Answers and errors"},
		For{Page, []Block{Group{As: Split, Blocks: []Block{
			tallies("status", "statuses", ofStatus, answered(l), t.Status), tallies("error", "errors", of, t.Offered, t.Errors),
		}}}},
		For{Page, changePoints(r)},
	)}
}

// judged makes the blocks that say whether a load met its SLO, and what a closed loop hides.
func judged(l *view.SingleLoad) (out []Block) {
	if l.Run.Load.Model == "closed" {
		out = append(out, Text{Class: "note", Spans: plain(view.ClosedNote + ": while the server stalls no requests are sent to it, so their waits are missing from these figures. Use -r RATE for the open model.")})
	}
	switch v := l.Verdict; {
	case v == nil:
		return out
	case v.Met:
		return append(out, Text{Spans: plain("The SLO was met.")})
	case format.Inconclusive(*v) != "":
		return append(out, Text{Spans: plain("The SLO was not judged: " + format.Inconclusive(*v) + ".")})
	}
	return append(out, Text{Spans: plain("The SLO was missed:")}, List{Items: lines(format.Missed(l.Verdict))})
}

// quantiles makes the block of a load's latencies and of how it was sent.
func quantiles(l *view.SingleLoad) Block {
	run, t := l.Run, l.Run.Totals
	flows := run.Load.Steps != nil
	of := Table{Name: "percentiles", ShortHeads: true, Columns: []Column{{Head: "ms", Short: "ms"}}}
	for _, latency := range l.Latencies() {
		of.Columns = append(of.Columns, Column{Head: latency.Name, Unit: latency.Note, Short: latency.Name, Number: true})
	}
	for _, q := range format.Quantiles {
		row := Row{Cells: []Cell{{Text: q.Label}}, Share: -1}
		for _, latency := range l.Latencies() {
			ms, _ := latency.Quantiles.At(q.Name)
			row.Cells = append(row.Cells, Cell{Text: number(ms)})
		}
		of.Rows = append(of.Rows, row)
	}
	out := Group{As: Split}
	if len(of.Columns) > 1 {
		out.Blocks = append(out.Blocks, of)
	}
	facts := Facts{Class: "card"}
	add := func(name, value, note string) {
		if value != "" {
			facts.Pairs = append(facts.Pairs, Pair{name, value, note})
		}
	}
	add("Model", run.Load.Model+comma(run.Load.Schedule), "")
	add("URL", run.Load.URL, "")
	engine, request := run.Load.Engine, "request"
	if n := run.Load.Connections; n > 0 && flows {
		engine += ", at most " + format.Plural(n, "flow") + " concurrently"
	} else if n > 0 {
		engine += ", " + format.Plural(n, "connection")
	}
	add("Engine", engine, "")
	add("Protocol", run.Load.Protocol, "")
	if t.ReceiveOnly() {
		add("Received", number(t.FramesPerS())+" frames/s", "all sessions together")
		add("In total", l.Counts(), "")
		add("Generator", number(t.Generator.CPUSeconds)+" s of CPU", "")
		out.Blocks = append(out.Blocks, facts)
		return out
	}
	offered := number(t.OfferedPerS) + "/s"
	if flows {
		offered, request = number(t.OfferedPerS)+" flows/s", "flow"
	}
	add("Offered", offered, "")
	add("Achieved", number(t.ThroughputPerS)+"/s", "standard deviation "+share(t.Variation)+" between windows of 1 s")
	add("Sent, completed", format.Count(t.Sent)+", "+format.Count(t.Completed), "")
	add("Unfinished", format.Count(t.Unfinished), "")
	add("Send-lag p50, p99", number(t.Lag.P50)+", "+number(t.Lag.P99)+" us", "the generator's own")
	add("Generator", number(t.Generator.CPUPerMillion)+" us CPU per "+request, "")
	out.Blocks = append(out.Blocks, facts)
	return out
}

func comma(s string) string {
	if s == "" {
		return ""
	}
	return ", " + s
}

// classTable makes the table of latencies by request class, or by step of flows.
func classTable(l *view.SingleLoad, of []view.Latency) []Block {
	name, heading := "class", "By request class"
	if l.Run.Load.Steps != nil {
		name, heading = "step", "By step"
	}
	ms := func(head string, read func(record.Quantiles) float64) format.Column[view.Latency] {
		return figure(head, "ms", head, func(l view.Latency) string { return number(read(l.Quantiles)) })
	}
	t := tableOf("latencies by "+name, []format.Column[view.Latency]{
		{Head: name, Short: name + ", ms", Cell: func(l view.Latency) string { return l.Name }},
		ms("p50", func(q record.Quantiles) float64 { return q.P50 }),
		ms("p90", func(q record.Quantiles) float64 { return q.P90 }),
		ms("p99", func(q record.Quantiles) float64 { return q.P99 }),
		roomy(ms("p99.9", func(q record.Quantiles) float64 { return q.P999 })),
		ms("max", func(q record.Quantiles) float64 { return q.Max }),
		ms("mean", func(q record.Quantiles) float64 { return q.Mean }),
	}, of)
	return []Block{Heading{heading}, t}
}

// counted returns what became of a load's requests, for a terminal.
func counted(l *view.SingleLoad) (out []Block) {
	t := l.Run.Totals
	errors := maps.Clone(t.Errors)
	delete(errors, format.StatusError) // the line of answers names their statuses
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(errors)) {
		if errors[kind] > 0 {
			kinds = append(kinds, kind+" "+format.Count(errors[kind]))
		}
	}
	out = append(out, Text{Spans: plain(l.Counts())})
	for _, line := range [][2]string{
		{"answers", format.Statuses(t)}, {"protocol", l.Run.Load.Protocol}, {"errors", strings.Join(kinds, ", ")}, {"agents", format.Agents(t)},
	} {
		if line[1] != "" {
			out = append(out, Text{Spans: plain(line[0] + ": " + line[1])})
		}
	}
	return out
}

// completed returns what became of a load's requests, for Markdown.
func completed(l *view.SingleLoad) string {
	t := l.Run.Totals
	if t.ReceiveOnly() {
		return l.Counts() + "."
	}
	return fmt.Sprintf("%s completed, %s unfinished, %s failed.", format.Count(t.Completed), format.Count(t.Unfinished), format.Count(t.Failed))
}

// answered returns the number of which the counts of statuses are shares.
func answered(l *view.SingleLoad) (n int64) {
	if l.Run.Load.Steps == nil {
		return l.Run.Totals.Offered
	}
	for _, of := range l.Run.Totals.Status {
		n += of
	}
	return n
}

// tallies makes a table of kinds of failure or of statuses, the most frequent first.
func tallies(name, plural, ofWhat string, of int64, counts map[string]int64) Table {
	kinds := slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(kind string) bool { return counts[kind] <= 0 })
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	t := tableOf(plural, []format.Column[string]{
		words(name, func(kind string) string { return kind }),
		figure("count", "", "", func(kind string) string { return format.Count(counts[kind]) }),
		figure(ofWhat, "", "", func(kind string) string {
			if of == 0 {
				return format.Dash
			}
			return share(float64(counts[kind]) / float64(of))
		}),
	}, kinds)
	if len(kinds) == 0 {
		t.Rows = []Row{{Cells: []Cell{{Text: "none", Class: Dim}, {}, {}}}}
	}
	return t
}

// changePoints makes the blocks of the moments at which rate, p99 or GC pauses changed.
func changePoints(r *report.Report) []Block {
	l := List{Class: "inflections card"}
	for _, i := range r.Inflections {
		item := Item{Class: "joint", Spans: []Span{{S: i.Run, Class: Strong}, {S: "at " + format.Digits(i.AtS, 4) + " s: " + i.Text}}}
		if !i.Joint {
			item.Class, item.Spans = "alone", []Span{item.Spans[0], {S: "at " + format.Digits(i.AtS, 4) + " s"}, {S: "(one signal alone)", Class: Dim}, {S: ": " + i.Text}}
		}
		l.Items = append(l.Items, item)
	}
	if len(l.Items) == 0 {
		return []Block{Heading{"Change points"}, Text{Class: Dim, Spans: plain("None in rate, p99 or GC pauses.")}}
	}
	if r.InflectionsLeft > 0 {
		l.Items = append(l.Items, Item{Class: Dim, Spans: plain(fmt.Sprintf("and %d more", r.InflectionsLeft))})
	}
	return []Block{Heading{"Change points"}, l}
}
