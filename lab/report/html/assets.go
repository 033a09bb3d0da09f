package html

import (
	"html/template"
	"maps"

	"dyno/lab/report/format"
)

// StyleSheet returns the page's style, for other pages that look the same.
func StyleSheet() string { return style }

// ChartLibrary returns the script that draws charts (uPlot), with its licence, and the code that
// charts of a report and charts of a run in progress share.
func ChartLibrary() string { return library }

// Funcs returns the functions with which the page formats figures, for the templates of other
// pages.
func Funcs() template.FuncMap { return maps.Clone(funcs) }

// funcs are the template functions that need no report.
var funcs = template.FuncMap{
	"rate": format.Rate, "clock": format.Clock, "plural": format.Plural, "command": format.Command, "slo": format.SLO,
	"kind": func(kind string) string { return format.Kinds[kind] },
}
