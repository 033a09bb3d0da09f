package debugpage

import (
	"encoding/json"
	"html"
	"net/http"
	"strings"
)

// Board is what a page shows of a service's metrics.
type Board struct {
	Name    string   `json:"name"` // of the service
	Figures []Figure `json:"figures"`
	Tables  []Table  `json:"tables,omitempty"`
}

// Kind is what is said of a metric.
type Kind string

// Kinds. Quantiles, means and shares are of the last ten seconds.
const (
	Now   Kind = "now"   // the value; of several series, their sum
	Rate  Kind = "rate"  // by how much it grows in a second
	Share Kind = "share" // the growth of Metric divided by that of Of
	Mean  Kind = "mean"  // of a histogram or summary
	P50   Kind = "p50"   // of a histogram
	P99   Kind = "p99"
)

// Unit is how a value is written; "": as a number.
type Unit string

// Units.
const (
	Seconds      Unit = "seconds"
	Milliseconds Unit = "milliseconds"
	Bytes        Unit = "bytes"
	Part         Unit = "share" // 1 is all of it
)

// Figure is a chart, or a column of a table.
type Figure struct {
	Title  string            `json:"title"`
	Kind   Kind              `json:"kind"`
	Metric string            `json:"metric"` // without _bucket, _count or _sum
	Of     string            `json:"of,omitempty"`
	Labels map[string]string `json:"labels,omitempty"` // that its series must have
	Unit   Unit              `json:"unit,omitempty"`
	Note   string            `json:"note,omitempty"` // below a chart's value
}

// Table has a row for each value of a label.
type Table struct {
	Title   string   `json:"title"`
	Row     string   `json:"row"` // what a row is, above the first column
	Label   string   `json:"label"`
	Columns []Figure `json:"columns"`
	None    string   `json:"none"` // in place of a table without rows
}

// Handler serves the board's page.
func (b Board) Handler() http.Handler {
	text, err := json.Marshal(b) // which leaves no markup in it
	if err != nil {
		panic(err) // there are only texts
	}
	page := strings.ReplaceAll(asset("board.html"), "/*name*/", html.EscapeString(b.Name))
	return Handler(page, asset("board.css"), "const board = "+string(text)+";\n", asset("metrics.js"), asset("board.js"))
}

// Metrics returns the metrics that the page asks for, each once, so that a test can hold them
// against those that the service has.
func (b Board) Metrics() (names []string) {
	seen := map[string]bool{"": true}
	add := func(figures []Figure) {
		for _, f := range figures {
			for _, name := range []string{f.Metric, f.Of} {
				if !seen[name] {
					seen[name], names = true, append(names, name)
				}
			}
		}
	}
	add(b.Figures)
	for _, t := range b.Tables {
		add(t.Columns)
	}
	return names
}
