package live

import (
	"fmt"
	"strings"
	"text/template"

	"dyno/lab/compare"
	"dyno/lab/report"
	"dyno/lab/report/figure"
	"dyno/lab/report/html"
)

// figureRows returns the figures that at least one side has.
func figureRows(a, b figures) (out []figureRow) {
	add := func(key, name, unit string, write func(figure.Value) string, va, vb figure.Value) *figureRow {
		if !va.Known() && !vb.Known() {
			return &figureRow{} // not shown
		}
		out = append(out, figureRow{key: key, Name: name, Unit: unit, A: write(va), B: write(vb), Ratio: ratio(va, vb)})
		return &out[len(out)-1]
	}
	plain, share := func(v figure.Value) string { return write("figure", v) }, func(v figure.Value) string { return write("percent", v) }
	c := add(compare.MetricCapacity, "capacity", "requests per second", plain, a.capacity, b.capacity)
	c.DetailA, c.DetailB = capacityDetail(a), capacityDetail(b)
	add(compare.MetricWork, "peak work rate", "requests per second", plain, a.work, b.work)
	add("offered", "offered", "requests per second", plain, a.offered, b.offered)
	add("achieved", "achieved", "requests per second", plain, a.achieved, b.achieved)
	add("errors", "errors", "of offers", share, a.errors, b.errors)
	for _, f := range report.Figures {
		add(f.Key, f.Name, f.Unit, f.Write, a.figure(f.Key), b.figure(f.Key))
	}
	add("machine", "machine", "MB/s at a fixed amount of work, before the runs", plain, a.speed, b.speed)
	return out
}

// capacityDetail is the data behind a capacity.
func capacityDetail(f figures) string {
	switch {
	case !f.capacity.Known():
		return ""
	case f.interval != nil && f.votes > 0:
		return fmt.Sprintf("[%s, %s], %d slices", write("figure", figure.Value(f.interval.Lo)), write("figure", figure.Value(f.interval.Hi)), f.votes)
	case f.interval != nil:
		return fmt.Sprintf("[%s, %s], %d rounds", write("figure", figure.Value(f.interval.Lo)), write("figure", figure.Value(f.interval.Hi)), f.rounds)
	}
	return "no interval"
}

// ratio is B over A.
func ratio(a, b figure.Value) figure.Value {
	if a > 0 && b > 0 {
		return b / a
	}
	return figure.Unknown
}

// formats format a value as reports do.
var formats = template.Must(template.New("").Funcs(html.Words()).Parse(
	`{{define "figure"}}{{figure .}}{{end}}{{define "percent"}}{{percent .}}{{end}}{{define "size"}}{{size .}}{{end}}` +
		`{{define "slo"}}{{slo .}}{{end}}{{define "kind"}}{{kind .}}{{end}}{{define "role"}}{{role .}}{{end}}`))

func write(format string, v any) string {
	var b strings.Builder
	if err := formats.ExecuteTemplate(&b, format, v); err != nil {
		return "" // a builder accepts everything, and the formats are constants
	}
	return b.String()
}
