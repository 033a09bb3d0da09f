package html

import (
	"html/template"
	"maps"

	"dyno/lab/report/format"
)

// StyleSheet is the page's style, for pages of the same style.
func StyleSheet() string { return style }

// ChartLibrary is the script that draws charts (uPlot), with its licence, and what the charts of a
// report share with those of a run in progress.
func ChartLibrary() string { return library }

// Funcs are the functions with which the page formats figures, for templates of the same style.
func Funcs() template.FuncMap { return maps.Clone(funcs) }

// funcs are the functions that need no report.
var funcs = template.FuncMap{
	"rate": format.Rate, "clock": format.Clock, "plural": format.Plural, "command": format.Command, "slo": format.SLO,
	"kind": func(kind string) string { return format.Kinds[kind] },
}
