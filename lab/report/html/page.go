// Package html writes a report as one HTML page that makes no network request, with charts as
// inline SVG and the scripts for series and flame graphs. Its style and scripts serve package
// live as well.
//
// It computes no result (package report does), and it serves nothing (live does). It starts no
// goroutines.
package html

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

//go:embed assets/page.html
var pageHTML string

//go:embed assets/page.css
var pageCSS string

//go:embed assets/page.js
var pageJS string

//go:embed assets/panels.js
var panelsJS string

//go:embed assets/uPlot.iife.min.js
var uPlotJS string

//go:embed assets/uPlot.min.css
var uPlotCSS string

//go:embed assets/uPlot.LICENSE
var uPlotLicense string

//go:embed assets/flame.js
var flameJS string

//go:embed assets/d3-flame-graph.min.js
var flameGraphJS string

//go:embed assets/d3-flame-graph.LICENSE
var flameGraphLicense string

// The page's style and scripts. Its content security policy names them by their hashes and permits
// nothing else: no request and no other script, whatever name a service or a scenario has.
var (
	style   = uPlotCSS + "\n" + pageCSS
	library = "/*\n" + uPlotLicense + "*/\n" + uPlotJS + "\n" + panelsJS
	flamer  = "/*\n" + flameGraphLicense + "*/\n" + flameGraphJS
	policy  = strings.Join([]string{
		"default-src 'none'",
		"script-src " + hash(library) + " " + hash(pageJS) + " " + hash(flamer) + " " + hash(flameJS),
		"style-src " + hash(style),
		"img-src data:", // the empty icon, so that browsers request none
		"base-uri 'none'",
		"form-action 'none'",
	}, "; ")
)

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

var page = template.Must(template.New("page").Funcs(templateWords).Funcs(template.FuncMap{
	"count": format.Count, "met": format.Met, "value": func(v float64) format.Value { return format.Value(v) },
	"tallies":  func(name, of string, rows []tally) tallyTable { return tallyTable{name, of, rows} },
	"evidence": format.Evidence, "signal": format.Signal, "where": format.Place, "share": format.Share, "held": format.Held,
	"pauses": func(n int64) string { return format.Plural(int(n), "pause") }, "pause": func(v format.Value) string { return format.Pause(float64(v)) },
	"scalingPlot": scalingPlot, "tailPlot": tailPlot, "hue": hueOf, "flowCells": flowCells, "scalingTable": newScalingTable, "crowdTable": newCrowdTable,
	"flameRoom": flameRoom, "stageIndent": stageIndent, "stageSVG": stageSVG, "pausesSVG": pausesSVG,
	"rowColumns": func() []format.Column[view.Row] { return view.RowColumns },
	"pointer":    func(s report.Step) *report.Step { return &s }, // the form that columns read
	"seconds":    func(v float64) string { return format.Digits(v, 4) + " s" },
}).Parse(pageHTML))

// Page writes the page: one file that makes no network requests.
func Page(w io.Writer, r *report.Report) error {
	data, err := json.Marshal(struct {
		Charts []view.Chart   `json:"charts"`
		Traces []view.Trace   `json:"traces"`
		Flames *view.Profiles `json:"flames,omitempty"`
		// the page iterates over both
	}{append([]view.Chart{}, r.Charts...), append([]view.Trace{}, r.Traces...), r.Flames})
	if err != nil {
		return fmt.Errorf("encoding the charts: %w", err)
	}
	v := pageView{
		Report: r, Policy: policy, Style: template.CSS(style), Library: template.JS(library), Script: template.JS(pageJS),
		Flamer: template.JS(flamer), FlameScript: template.JS(flameJS),
		// json.Marshal writes <, > and & as \u003c and so on, so the data cannot end its element.
		Data: template.JS(data),
	}
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// pageView is the template's input: the report with formatted values.
type pageView struct {
	*report.Report
	Policy  string
	Style   template.CSS
	Library template.JS
	Script  template.JS
	Data    template.JS

	Flamer, FlameScript template.JS
}

// KindWords names the kind of experiment.
func (v pageView) KindWords() string { return format.Kinds[v.Kind] }

// Heading names the subject of the measurement.
func (v pageView) Heading() string { return v.Title }

// Banner shows the outcome, and the certainty of the result.
func (v pageView) Banner() (b struct{ Class, Word, Text string }) {
	word, text := v.Standing()
	b.Class = map[string]string{record.OutcomeComplete: "good", record.OutcomeInvalid: "bad"}[word]
	b.Class, b.Word, b.Text = cmp.Or(b.Class, "part"), strings.ToUpper(word[:1])+word[1:], text
	return b
}

// Bars is the chart of the steps.
func (v pageView) Bars() bars { return newBars(v.Report) }

// ShowCurves reports whether the load curves are drawn: those of a sweep are in its own charts.
func (v pageView) ShowCurves() bool { return len(v.Curves) > 0 && v.Kind != record.KindSweep }

// ShowSteps reports whether the variants are drawn as steps. A crowded sweep draws them in panels.
func (v pageView) ShowSteps() bool {
	if v.Kind == record.KindSweep && v.Scaling != nil {
		return false // its variants are curves, not capacities
	}
	return len(v.Steps) > 0 && (v.Sweep == nil || len(v.Sweep.Panels) == 1 && v.Sweep.Panels[0].Flows == nil)
}

// LoadPlot is the percentile curve of a single load.
func (v pageView) LoadPlot() template.HTML { return loadPlot(v.Load) }

// Quantiles are the rows of a single load's table.
func (v pageView) Quantiles() (rows [][]string) {
	for _, q := range format.Quantiles {
		row := []string{q.Label}
		for _, of := range v.Load.Latencies() {
			ms, _ := of.Quantiles.At(q.Name)
			row = append(row, format.Format(format.Value(ms)))
		}
		rows = append(rows, row)
	}
	return rows
}

// Latencies are the columns of a single load's table.
func (v pageView) Latencies() []view.Latency { return v.Load.Latencies() }

// Classes are the latencies of a single load's request classes or steps.
func (v pageView) Classes() []view.Latency { return v.Load.Classes() }

// tally is one kind of failure or status.
type tally struct {
	Name  string
	Count int64
	Share format.Value // of offers; of flows, a status has a share of the answers
}

// tallyTable is a table of tallies under a name; Of says what they are shares of.
type tallyTable struct {
	Name, Of string
	Rows     []tally
}

// OfFlows reports whether the offers of a single load are flows.
func (v pageView) OfFlows() bool { return v.Load.Run.Load.Steps != nil }

// Statuses are the protocol statuses of a single load, the most frequent first.
func (v pageView) Statuses() []tally {
	t := v.Load.Run.Totals
	of := t.Offered
	if v.OfFlows() {
		of = 0
		for _, n := range t.Status {
			of += n
		}
	}
	return tallies(of, t.Status)
}

// Failures are the kinds of error of a single load, the most frequent first.
func (v pageView) Failures() []tally {
	return tallies(v.Load.Run.Totals.Offered, v.Load.Run.Totals.Errors)
}

func tallies(of int64, counts map[string]int64) (out []tally) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[name]; n > 0 {
			share := format.Unknown
			if of > 0 {
				share = format.Value(float64(n) / float64(of))
			}
			out = append(out, tally{name, n, share})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Count > out[j].Count })
	return out
}

// Missed lists the criteria that a single load missed.
func (v pageView) Missed() []string { return format.Missed(v.Load.Verdict) }

// Unjudged is the reason why a single load neither met nor missed its SLO; empty if it did.
func (v pageView) Unjudged() string { return format.Unjudged(*v.Load.Verdict) }

// Settings are the machine's settings, by name.
func (v pageView) Settings() (out [][2]string) {
	for _, k := range slices.Sorted(maps.Keys(v.Machine.Settings)) {
		out = append(out, [2]string{k, v.Machine.Settings[k]})
	}
	return out
}

// Initial is the trace shown first: the last measured run that met its SLO, or else the last
// measured one, or else the last that saturated the service.
func (v pageView) Initial() int {
	rank := map[string]int{}
	for _, run := range v.Runs {
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
	best := 0
	for i, t := range v.Traces {
		if rank[t.Run] >= rank[v.Traces[best].Run] {
			best = i
		}
	}
	return best
}

// ClosedNote is the note at the percentiles of a closed loop.
func (v pageView) ClosedNote() string {
	if v.Load != nil && v.Load.Run.Load.Model == "closed" {
		return view.ClosedNote
	}
	return ""
}

// DatabaseColumns are the columns of the table of databases.
func (v pageView) DatabaseColumns() []format.Column[view.Database] {
	return view.DatabaseColumns(v.Databases)
}

// DatabaseRemarks are the remarks below the table of databases.
func (v pageView) DatabaseRemarks() []string { return view.DatabaseRemarks(v.Databases) }
