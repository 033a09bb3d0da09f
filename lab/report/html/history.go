package html

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"dyno/lab/report/format"
	"dyno/lab/report/history"
)

var historyPage = template.Must(template.New("history").Funcs(funcs).Parse(asset("history.html")))

// historyOf is the part of the page for one program.
type historyOf struct {
	Name    string
	Plots   []historyPlot
	Changes []string
	worse   bool // a plot has a regression
}

type historyPlot struct {
	ID    string // of a plot with a regression, to which the head of the page links
	Title string
	SVG   template.HTML
}

// regression is what the head of the page says of a figure that is worse.
type regression struct{ Plot, Text string }

// historyTitles are the titles of the figures in a history.
var historyTitles = map[string]string{history.Capacity: "Capacity, per second within the SLO", history.Work: "Peak work rate, per second",
	history.CPU: "CPU per request, us", history.Allocs: "Allocations per request"}

// historyTitle is the title of a figure: units of benchmarks have only their heads.
func historyTitle(key string) string { return cmp.Or(historyTitles[key], history.Heads[key]) }

// History writes the page of a history: each figure over the commits, with its change points. What
// is worse comes first, so that it is in view when the page is opened. The page has no script.
func History(w io.Writer, entries []history.Entry) error {
	var programs []historyOf
	var regressions []regression
	for _, name := range history.Names(entries) {
		lines := history.Lines(entries, name)
		of := historyOf{Name: name, Changes: history.Changes(lines)}
		var rest []historyPlot
		for _, l := range lines {
			one := historyPlot{Title: historyTitle(l.Key), SVG: plotHistory(name, l).SVG()}
			at := l.Regression()
			if at == nil {
				rest = append(rest, one)
				continue
			}
			one.ID, of.worse = fmt.Sprintf("worse-%d", len(regressions)+1), true
			of.Plots = append(of.Plots, one)
			regressions = append(regressions, regression{one.ID, name + ": " + at.ChangeText(l.Key)})
		}
		of.Plots = append(of.Plots, rest...)
		programs = append(programs, of)
	}
	slices.SortStableFunc(programs, func(a, b historyOf) int {
		switch {
		case a.worse == b.worse:
			return 0
		case a.worse:
			return -1
		}
		return 1
	})
	var b bytes.Buffer
	err := historyPage.Execute(&b, map[string]any{"Programs": programs, "Regressions": regressions, "Entries": len(entries), "Style": template.CSS(style),
		"Policy": strings.Join([]string{"default-src 'none'", "style-src " + hash(style), "img-src data:", "base-uri 'none'", "form-action 'none'"}, "; ")})
	if err != nil {
		return fmt.Errorf("writing the page of the history: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// Bounds on the names of commits below a plot: on a narrow screen every other one is hidden.
const (
	mostCommits = 8
	mostName    = 7 // bytes of a hash
)

// nameBelow is the name of a commit below a plot.
func nameBelow(c history.Commit) string {
	if c.Hash == "" {
		return c.Short()
	}
	return c.Hash[:min(mostName, len(c.Hash))]
}

// plotHistory draws a figure over the commits: a dot for each, with its interval.
func plotHistory(name string, l history.Line) plot {
	pl := plot{title: fmt.Sprintf("%s: %s over %s", name, historyTitle(l.Key), format.Plural(len(l.Points), "commit")), xLabel: "commit"}
	var ys []float64
	line := polyline{class: "history"}
	for i, p := range l.Points {
		x, y := float64(i), p.Figure.Value
		ys = append(ys, y)
		line.xs, line.ys = append(line.xs, x), append(line.ys, y)
		if in := p.Figure.Interval; in != nil {
			ys = append(ys, in[1])
			pl.lines = append(pl.lines, polyline{"pull", []float64{x, x}, in[:]})
		}
	}
	pl.lines = append(pl.lines, line)
	pl.x, pl.y = axis{lo: -0.5, hi: float64(len(l.Points)) - 0.5}, newAxis(false, ys...)
	every := int(math.Ceil(float64(len(l.Points)) / mostCommits))
	first := 0 // so that a regression has a name
	if at := l.Regression(); at != nil {
		first = slices.IndexFunc(l.Points, func(p history.Point) bool { return p.Entry == at.Entry }) % every
	}
	pl.xTicks = []tick{}
	for i, p := range l.Points {
		if i%every == first {
			pl.xTicks = append(pl.xTicks, tick{float64(i), nameBelow(p.Entry.Revision)})
		}
		d := dot{x: float64(i), y: p.Figure.Value, class: "measured",
			title: fmt.Sprintf("%s %s: %s%s", p.Entry.Revision.Short(), p.Entry.Revision.Subject, format.Format(format.Value(p.Figure.Value)), format.Space(format.Between(format.IntervalOf(p.Figure.Interval))))}
		if p.Change != nil {
			d.class, d.label = "measured best", fmt.Sprintf("%.2fx", p.Change.Ratio)
			if p.Change.Worse(l.Key) {
				d.class = "measured worse"
			}
		}
		pl.dots = append(pl.dots, d)
	}
	return pl
}
