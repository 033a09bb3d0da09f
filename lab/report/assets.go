package report

import (
	"html/template"
	"maps"
)

// StyleSheet is the page's style, for pages of the same look.
func StyleSheet() string { return style }

// ChartLibrary is the script that draws charts (uPlot), with its licence.
func ChartLibrary() string { return library }

// PageScript is the page's own script. It draws the charts that the element #data describes, each in the
// element with its ID, and so works on other pages as well.
func PageScript() string { return pageJS }

// Words are the functions by which the page writes figures, for templates of the same look.
func Words() template.FuncMap { return maps.Clone(words) }

// words need no report to be understood.
var words = template.FuncMap{
	"figure": figure, "rate": rate, "times": times, "percent": percent, "size": size, "clock": clock,
	"between": between, "betweenRatios": betweenRatios, "plural": plural, "command": commandLine,
	"slo": sloWords, "kind": func(kind string) string { return kindWords[kind] }, "role": roleWords,
}
