package sections

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
)

// verdict is the section with the diagnosis of a diagnose command, in full.
func verdict(r *report.Report) Section {
	if !r.IsDiagnosis() {
		return Section{}
	}
	return diagnosis(r)
}

// causes is the section with the diagnoses of a measurement's variants: one line each in text, in
// full on the page.
func causes(r *report.Report) Section {
	if r.IsDiagnosis() || len(r.Diagnoses) == 0 {
		return Section{}
	}
	why := List{Label: "why"}
	for i := range r.Diagnoses {
		why.Items = append(why.Items, Item{Spans: plain(whyText(r, &r.Diagnoses[i]))})
	}
	s := diagnosis(r)
	s.Blocks = []Block{For{printed, []Block{why}}, For{Page, s.Blocks}}
	return s
}

// whyText returns a variant's bottleneck, and why its throughput changed or did not.
func whyText(r *report.Report, d *diagnose.Diagnosis) string {
	text := r.NameOf(d)
	if d.Valid && d.Bottleneck != rules.Unknown {
		text += ", bound by " + format.Verdict(d)
	}
	return text + ": " + cmp.Or(d.Moved, d.Text, "unknown")
}

// diagnosis makes a section of all diagnoses, with a chart of the variants by CPU use and
// waiting.
func diagnosis(r *report.Report) Section {
	s := Section{ID: "diagnosis", Title: "What bounds it", Nav: "Diagnosis"}
	for i := range r.Diagnoses {
		s.Blocks = append(s.Blocks, diagnosed(r, &r.Diagnoses[i]))
	}
	if len(s.Blocks) > 0 {
		s.Blocks = append(s.Blocks, Chart{Quadrant{r}})
	}
	return s
}

// Quadrant is the chart of the diagnosed variants by CPU use and waiting.
type Quadrant struct{ *report.Report }

// diagnosed makes the block of one diagnosis. Where there are several, the page folds each.
func diagnosed(r *report.Report, d *diagnose.Diagnosis) Block {
	g := stated(r, d)
	g.Blocks = slices.Concat(g.Blocks, throughputs(d), advice(r, d), proof(r, d), found(r, d))
	return g
}

// stated makes the group of a diagnosis, with the verdict and what it says.
func stated(r *report.Report, d *diagnose.Diagnosis) Group {
	badge := Span{S: format.Verdict(d), Class: "badge " + certainty(d)}
	g := Group{Class: "diagnosis"}
	var onPage []Block
	if len(r.Diagnoses) > 1 {
		g.As, g.Title = Fold, []Span{{S: r.NameOf(d), Class: Strong}, badge}
		if d.Moved != "" {
			g.Title = append(g.Title, Span{S: d.Moved, Class: "moved"})
		}
	} else {
		onPage = append(onPage, Text{Spans: []Span{badge}})
		if d.Moved != "" {
			onPage = append(onPage, Text{Spans: plain(d.Moved)})
		}
	}
	if !d.Valid {
		why := ""
		if d.Reason != "" {
			why = ": " + d.Reason
		}
		onPage = append(onPage, Text{Class: "bad-words", Spans: plain("No verdict" + why + ".")})
	}
	g.Blocks = []Block{For{Page, onPage}, For{printed, []Block{Text{Class: Strong, Spans: plain(r.NameOf(d) + ": " + format.Verdict(d))}}}}
	if !r.AnswerHolds(d) {
		g.Blocks = append(g.Blocks, Text{Class: "in-words", Spans: plain(d.Text)})
	}
	return g
}

// throughputs makes the blocks of the throughputs that were measured.
func throughputs(d *diagnose.Diagnosis) (out []Block) {
	var facts Facts
	if d.CapacityPerS > 0 {
		facts.Pairs = append(facts.Pairs, Pair{Name: "Capacity", Value: format.Rate(format.Value(d.CapacityPerS))})
	}
	if d.PeakPerS > 0 {
		peak := Pair{Name: "Peak with clients in a closed loop", Value: format.Rate(format.Value(d.PeakPerS))}
		facts.Pairs = append(facts.Pairs, peak)
		out = append(out, For{printed, []Block{Text{Spans: plain(peak.Name + ": " + peak.Value)}}})
	}
	return append(out, facts)
}

// advice makes the blocks of what can be gained and what to try, and of how sure the verdict is.
func advice(r *report.Report, d *diagnose.Diagnosis) (out []Block) {
	if d.WhatIf != nil {
		out = append(out, Text{Label: "without this bound", Spans: plain(d.WhatIf.Text)})
	}
	if !r.IsDiagnosis() {
		return out
	}
	if text := certaintyText(d); text != "" {
		out = append(out, Text{Label: "how sure", Spans: plain(text)})
	}
	if d.Next != "" {
		out = append(out, Text{Label: "try next", Spans: plain(d.Next)})
	}
	return out
}

// proof makes the blocks of what the verdict rests on: the sites, the signals and the experiments.
func proof(r *report.Report, d *diagnose.Diagnosis) (out []Block) {
	if len(d.Sites) > 0 {
		out = append(out, For{printed, []Block{siteTable(d.Sites)}}, For{Page, []Block{Heading{"Where"}, siteList(r, d, kindsOf(d.Bottleneck), d.Sites)}})
	}
	if len(d.Evidence) > 0 {
		out = append(out, Heading{"Evidence"}, evidence("evidence on "+r.NameOf(d), d.Evidence))
	}
	if len(d.Interventions) > 0 {
		out = append(out, Heading{"Experiments that test the verdict"}, interventions(r.NameOf(d), d.Interventions))
	}
	return out
}

// found makes the blocks of a diagnosis's findings, and of what was not measured.
func found(r *report.Report, d *diagnose.Diagnosis) (out []Block) {
	briefly, onPage := List{Label: "finding"}, List{Class: "findings"}
	for i, f := range d.Findings {
		kinds := kindsOf(d.Bottleneck)
		if f.Profile != "" {
			kinds = []string{f.Profile}
		}
		var why []Block
		if len(f.Sites) > 0 {
			at := f.Sites[0]
			why = append(why, For{Terminal, []Block{Text{Spans: plain("in " + at.Function + format.Space(format.Site(at)))}}}, For{Page, []Block{siteList(r, d, kinds, f.Sites)}})
		}
		if len(f.Evidence) > 0 {
			why = append(why, For{Page, []Block{evidence(fmt.Sprintf("evidence of finding %d on %s", i+1, r.NameOf(d)), f.Evidence)}})
		}
		if f.WhatIf != nil {
			why = append(why, Text{Label: "without it", Spans: plain(f.WhatIf.Text)})
		}
		if f.Next != "" {
			why = append(why, Text{Label: "next", Spans: plain(f.Next)})
		}
		briefly.Items = append(briefly.Items, Item{Spans: plain(f.Text), Blocks: why})
		spans := []Span{{S: strings.ReplaceAll(f.Kind, "-", " "), Class: Strong}, {S: f.Text}}
		if r.Flames.Has(d.Variant, f.Profile) {
			spans = append(spans, flameLink(d.Variant, f.Profile, ""))
		}
		onPage.Items = append(onPage.Items, Item{Spans: spans, Blocks: why})
	}
	unseen := List{Class: Dim}
	for _, u := range d.Unseen {
		unseen.Items = append(unseen.Items, Item{Spans: plain("not measured: " + u)})
	}
	out = append(out, For{printed, []Block{briefly, unseen}})
	if len(d.Findings) > 0 {
		out = append(out, For{Page, []Block{Heading{"Findings"}, onPage}})
	}
	if len(d.Unseen) > 0 {
		out = append(out, For{Page, []Block{Heading{"Not measured"}, List{Class: Dim, Items: lines(d.Unseen)}}})
	}
	return out
}

// certainty returns the class of a verdict's badge.
func certainty(d *diagnose.Diagnosis) string {
	switch {
	case !d.Valid:
		return "bad"
	case d.Bottleneck == rules.Unknown || d.Bottleneck == rules.NotLoaded || d.Bottleneck == rules.Generator || d.Bottleneck == rules.Environment,
		d.Disturbed != "" && !d.Confirmed:
		return "part"
	}
	return "good"
}

// kindsOf returns the kinds of flame graph that may show the cause of a verdict, the likeliest
// first.
func kindsOf(b rules.Bottleneck) []string {
	switch b {
	case rules.GC:
		return []string{record.ProfileHeap, "objects", record.ProfileCPU}
	case rules.Lock:
		return []string{record.ProfileMutex, record.ProfileBlock, record.ProfileCPU}
	case rules.Wait:
		return []string{record.ProfileBlock, record.ProfileMutex, record.ProfileGoroutine, record.ProfileCPU}
	}
	return []string{record.ProfileCPU, record.ProfileHeap, record.ProfileBlock}
}

// siteList makes a list of sites in the code, each with a link to a flame graph that shows it.
func siteList(r *report.Report, d *diagnose.Diagnosis, kinds []string, of []stacks.Site) List {
	l := List{Class: "places"}
	for _, p := range of {
		item := Item{Spans: []Span{{S: p.Function, Class: Code}}}
		if at := format.Site(p); at != "" {
			item.Spans = append(item.Spans, Span{S: at, Class: Dim})
		}
		if s := format.Share(p); s != "" {
			item.Spans = append(item.Spans, Span{S: s, Class: Strong})
		}
		if kind := r.Flames.Showing(d.Variant, kinds, p.Function); kind != "" {
			link := flameLink(d.Variant, kind, p.Function)
			link.About = p.Function + " in the flame graph"
			item.Spans = append(item.Spans, link)
		}
		l.Items = append(l.Items, item)
	}
	return l
}

// flameLink makes a link that opens a flame graph at a function; the page's script handles it. It
// escapes colons, too, since html/template takes what precedes one for the scheme of a URL.
func flameLink(variant, kind, function string) Span {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	return Span{S: "flame graph", Link: "#flame=" + escape(variant) + "," + escape(kind) + "," + escape(function)}
}

func siteTable(of []stacks.Site) Table {
	return tableOf("places", []format.Column[stacks.Site]{
		figure("share", "", "share", format.Share),
		words("where", format.Site),
		words("in", func(p stacks.Site) string { return p.Function }),
	}, of)
}

func evidence(name string, of []findings.Evidence) Table {
	t := tableOf(name, []format.Column[findings.Evidence]{
		words("signal", format.Signal),
		figure("value", "", "value", format.Evidence),
		words("meaning", func(e findings.Evidence) string { return e.Means }),
	}, of)
	t.Class = "evidence"
	return t
}

func interventions(name string, of []diagnose.Intervention) Table {
	t := tableOf("experiments on "+name, []format.Column[diagnose.Intervention]{
		words("changed", func(i diagnose.Intervention) string { return i.Changed }),
		words("predicted", func(i diagnose.Intervention) string { return i.Predicted }),
		words("saw", func(i diagnose.Intervention) string { return i.Saw }),
		words("prediction", format.Held),
	}, of)
	for i, one := range of {
		badge := "bad"
		if one.Held {
			badge = "held"
		}
		t.Rows[i].Cells[3].Badge = badge
	}
	return t
}
