package live

import (
	"fmt"
	"strings"
	"text/template"

	"dyno/lab/report"
)

// Names of rows used elsewhere.
const (
	rowCapacity = "capacity"
	rowWork     = "peak work rate"
	rowP99      = "p99"
	rowCPU      = "CPU"
)

// figureRows returns the figures that at least one side has.
func figureRows(a, b figures) (out []figureRow) {
	add := func(name, unit, format string, va, vb report.Value) *figureRow {
		if !va.Known() && !vb.Known() {
			return &figureRow{} // not shown
		}
		out = append(out, figureRow{Name: name, Unit: unit, A: write(format, va), B: write(format, vb), Ratio: ratio(va, vb)})
		return &out[len(out)-1]
	}
	c := add(rowCapacity, "requests per second", "figure", a.capacity, b.capacity)
	c.DetailA, c.DetailB = capacityDetail(a), capacityDetail(b)
	add(rowWork, "requests per second", "figure", a.work, b.work)
	add("offered", "requests per second", "figure", a.offered, b.offered)
	add("achieved", "requests per second", "figure", a.achieved, b.achieved)
	add(rowP99, "ms", "figure", a.p99, b.p99)
	add("errors", "of offers", "percent", a.errors, b.errors)
	add(rowCPU, "us per request", "figure", a.cpu, b.cpu)
	add("allocations", "per request", "figure", a.allocs, b.allocs)
	add("allocated", "per request", "size", a.bytes, b.bytes)
	add("peak RSS", "", "size", a.rss, b.rss)
	add("goroutines", "highest seen", "figure", a.goroutines, b.goroutines)
	add("GC pause p99", "ms", "figure", a.pause, b.pause)
	add("machine", "MB/s at a fixed amount of work, before the runs", "figure", a.speed, b.speed)
	return out
}

// capacityDetail is the data behind a capacity.
func capacityDetail(f figures) string {
	switch {
	case !f.capacity.Known():
		return ""
	case f.interval != nil && f.votes > 0:
		return fmt.Sprintf("[%s, %s], %d slices", write("figure", report.Value(f.interval.Lo)), write("figure", report.Value(f.interval.Hi)), f.votes)
	case f.interval != nil:
		return fmt.Sprintf("[%s, %s], %d rounds", write("figure", report.Value(f.interval.Lo)), write("figure", report.Value(f.interval.Hi)), f.rounds)
	}
	return "no interval"
}

// ratio is B over A.
func ratio(a, b report.Value) report.Value {
	if a > 0 && b > 0 {
		return b / a
	}
	return report.Unknown
}

// formats format a value as reports do.
var formats = template.Must(template.New("").Funcs(report.Words()).Parse(
	`{{define "figure"}}{{figure .}}{{end}}{{define "percent"}}{{percent .}}{{end}}{{define "size"}}{{size .}}{{end}}` +
		`{{define "slo"}}{{slo .}}{{end}}{{define "kind"}}{{kind .}}{{end}}{{define "role"}}{{role .}}{{end}}`))

func write(format string, v any) string {
	var b strings.Builder
	if err := formats.ExecuteTemplate(&b, format, v); err != nil {
		return "" // a builder accepts everything, and the formats are constants
	}
	return b.String()
}
