package report

import (
	"html/template"
	"maps"
)

// StyleSheet is the page's style, for pages of the same look.
func StyleSheet() string { return style }

// ChartLibrary is the script that draws charts (uPlot), with its licence.
func ChartLibrary() string { return library }

// PageScript is the page's own script. It draws the charts that the element #data describes, each
// in the element with its ID, so it works on other pages too.
func PageScript() string { return pageJS }

// Words are the functions with which the page formats figures, for templates of the same look.
func Words() template.FuncMap { return maps.Clone(words) }

// words are the functions that need no report.
var words = template.FuncMap{
	"figure": figure, "rate": rate, "times": times, "percent": percent, "size": size, "clock": clock,
	"between": between, "betweenRatios": betweenRatios, "plural": plural, "command": commandLine,
	"slo": sloWords, "kind": func(kind string) string { return kindWords[kind] }, "role": roleWords,
}
