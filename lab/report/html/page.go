// Package html writes a report as one HTML page that makes no network request: charts are inline
// SVG, and the page contains the scripts for series and flame graphs. Package live uses the same
// style and scripts.
//
// It computes no results (package report does) and serves no pages (live does). It starts no
// goroutines.
package html

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/sections"
	"dyno/lab/report/view"
)

//go:embed assets/*.html assets/*.css assets/*.js assets/*.LICENSE
var assets embed.FS

// asset returns the text of an embedded file.
func asset(name string) string {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return string(b)
}

// The page's style and scripts. The page's content security policy permits exactly these, by
// their hashes, and nothing else: no request and no other script, whatever the names of services
// and scenarios contain.
var (
	style       = asset("uPlot.min.css") + "\n" + asset("page.css")
	library     = licensed("uPlot.LICENSE", "uPlot.iife.min.js") + "\n" + asset("charts.js")
	script      = asset("page.js")
	flamer      = licensed("d3-flame-graph.LICENSE", "d3-flame-graph.min.js")
	flameScript = asset("flame.js")
	policy      = strings.Join([]string{
		"default-src 'none'",
		"script-src " + hash(library) + " " + hash(script) + " " + hash(flamer) + " " + hash(flameScript),
		"style-src " + hash(style),
		"img-src data:", // the empty icon, so that browsers request none
		"base-uri 'none'",
		"form-action 'none'",
	}, "; ")
)

// licensed returns a library with its licence in front of it.
func licensed(license, name string) string { return "/*\n" + asset(license) + "*/\n" + asset(name) }

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

var page = parse()

// parse parses the templates: there is one for each kind of block, and one for each type that a
// chart draws.
func parse() *template.Template {
	t := template.New("page")
	draw := func(b any) (template.HTML, error) {
		if c, ok := b.(sections.Chart); ok {
			b = c.Of
		}
		var out bytes.Buffer
		err := t.ExecuteTemplate(&out, fmt.Sprintf("%T", b), b)
		return template.HTML(out.String()), err // the template has escaped the text
	}
	return template.Must(t.Funcs(funcs).Funcs(template.FuncMap{
		"draw": draw, "gap": sections.Gap, "classOf": classOf,
		"bars": newBars, "strips": newStrips, "curveCells": curveCells, "flowCells": flowCells, "quadrant": quadrant,
		"loadPlot": loadPlot, "closedNote": closedNote, "scalingPlot": scalingPlot, "tailPlot": tailPlot, "hue": hueOf,
		"stageSVG": stageSVG, "pausesSVG": pausesSVG, "flameRoom": flameRoom, "flameKinds": flameKinds, "flameVariants": flameVariants,
		"pauses": func(n int64) string { return format.Plural(int(n), "pause") }, "pause": func(v format.Value) string { return format.Pause(float64(v)) },
	}).Parse(asset("page.html")))
}

// Table draws a table for other pages that look the same.
func Table(t sections.Table) (template.HTML, error) { return drawn("sections.Table", t) }

// Ratios draws a chart of ratios for other pages that look the same.
func Ratios(of view.Ratios) (template.HTML, error) { return drawn("view.Ratios", of) }

// Rows draws only the rows of a table.
func Rows(t sections.Table) (template.HTML, error) { return drawn("rows", t) }

func drawn(name string, of any) (template.HTML, error) {
	var out bytes.Buffer
	err := page.ExecuteTemplate(&out, name, of)
	return template.HTML(out.String()), err // the template has escaped the text
}

// Page writes the page: one file that makes no network requests.
func Page(w io.Writer, r *report.Report) error {
	data, err := json.Marshal(struct {
		Charts []view.Chart   `json:"charts"`
		Traces []view.Trace   `json:"traces"`
		Flames *view.Profiles `json:"flames,omitempty"`
		// the page's script iterates over both, so neither may be null
	}{append([]view.Chart{}, r.Charts...), append([]view.Trace{}, r.Traces...), r.Flames})
	if err != nil {
		return fmt.Errorf("encoding the charts: %w", err)
	}
	v := pageView{
		Report: r, Policy: policy, Style: template.CSS(style), Library: template.JS(library), Script: template.JS(script),
		Flamer: template.JS(flamer), FlameScript: template.JS(flameScript),
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

// pageView is what the template receives: the report, and the parts of the page.
type pageView struct {
	*report.Report
	Policy  string
	Style   template.CSS
	Library template.JS
	Script  template.JS
	Data    template.JS

	Flamer, FlameScript template.JS
}

// Sections returns what the page shows below its head.
func (v pageView) Sections() []sections.Section { return sections.Of(v.Report, sections.Page) }

// Banner returns the badge; its tone is its class.
func (v pageView) Banner() report.Badge {
	b := v.Badge()
	b.Word = strings.ToUpper(b.Word[:1]) + b.Word[1:]
	return b
}

// classOf returns the CSS classes of a column's head, or of one of its cells.
func classOf(c sections.Column, cells ...sections.Cell) string {
	classes := []string{c.Class}
	if c.Number {
		classes = append(classes, "n")
	}
	for _, cell := range cells {
		classes = append(classes, cell.Class)
	}
	return strings.TrimSpace(strings.Join(classes, " "))
}
