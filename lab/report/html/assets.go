package html

import (
	"html/template"
	"maps"

	"dyno/lab/report/figure"
	"dyno/lab/report/words"
)

// StyleSheet is the page's style, for pages of the same look.
func StyleSheet() string { return style }

// ChartLibrary is the script that draws charts (uPlot), with its licence, and the list of a run's
// panels.
func ChartLibrary() string { return library }

// Words are the functions with which the page formats figures, for templates of the same look.
func Words() template.FuncMap { return maps.Clone(templateWords) }

// templateWords are the functions that need no report.
var templateWords = template.FuncMap{
	"figure": figure.Format, "rate": figure.Rate, "times": figure.Times, "percent": figure.Percent, "size": figure.Size, "clock": figure.Clock,
	"between": figure.Between, "betweenRatios": figure.BetweenRatios, "plural": figure.Plural, "command": figure.Command,
	"slo": words.SLO, "kind": func(kind string) string { return words.Kinds[kind] }, "role": words.Role,
}
