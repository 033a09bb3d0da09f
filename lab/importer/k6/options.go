package k6

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/grafana/sobek/ast"
)

// options reads export const options.
func (r *reader) options() {
	bound := r.bound["options"]
	if len(bound) != 1 || bound[0] == nil {
		return
	}
	var terms []string
	for _, p := range r.properties(bound[0]) {
		switch p.name {
		case "thresholds":
			for _, t := range r.properties(p.value) {
				terms = append(terms, r.threshold(t)...)
			}
		case "vus", "duration", "iterations", "rps":
			if v, ok := r.text(p.value); ok {
				r.load.Leave(r.line(p.value), p.name+": "+v, "dyno capacity finds the rate; for this load alone use dyno load")
			}
		case "stages", "scenarios":
			r.load.Leave(r.line(p.value), p.name, "dyno capacity finds the rate; for steps and ramps write mode: load with a schedule")
		case "insecureSkipTLSVerify":
			v, _ := r.value(p.value)
			r.load.Insecure = v == true
		}
	}
	r.load.SLO = strings.Join(terms, ",")
	if r.load.SLO != "" && !strings.Contains(r.load.SLO, "errors=") {
		r.load.SLO += ",errors=1%"
	}
	if strings.HasPrefix(r.load.SLO, "errors=") && len(terms) == 1 { // an objective needs a latency
		r.load.SLO = "p99=100ms," + r.load.SLO
	}
}

var (
	latencyBound = regexp.MustCompile(`^(p\(([0-9.]+)\)|avg|med|max)<=?([0-9.]+)$`)
	errorBound   = regexp.MustCompile(`^rate<=?(0?\.[0-9]+|0|1)$`)
	percentiles  = map[string]string{"50": "p50", "90": "p90", "95": "p95", "99": "p99", "99.9": "p999"}
	statistics   = map[string]string{"avg": "mean", "med": "p50", "max": "max"}
)

// threshold turns the thresholds of a metric into terms of an SLO.
func (r *reader) threshold(t property) (terms []string) {
	for _, e := range r.members(t.value) {
		expression, ok := r.text(e)
		if !ok {
			for _, p := range r.properties(e) {
				if p.name == "threshold" {
					expression, ok = r.text(p.value)
				}
			}
		}
		term := ""
		if ok {
			term = termOf(t.name, strings.ReplaceAll(expression, " ", ""))
		}
		if term == "" {
			r.load.Leave(r.line(e), fmt.Sprintf("threshold %s %s", t.name, expression), "an SLO bounds p50, p90, p95, p99, p99.9, max or mean of all requests, and the share of errors")
			continue
		}
		terms = append(terms, term)
	}
	return terms
}

// termOf returns the term of an SLO for a threshold; empty: there is none.
func termOf(metric, expression string) string {
	if m := errorBound.FindStringSubmatch(expression); metric == "http_req_failed" && m != nil {
		share, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return ""
		}
		return "errors=" + strconv.FormatFloat(share*100, 'g', 6, 64) + "%"
	}
	m := latencyBound.FindStringSubmatch(expression)
	if metric != "http_req_duration" || m == nil {
		return ""
	}
	name := statistics[m[1]]
	if m[2] != "" {
		name = percentiles[m[2]]
	}
	if ms, err := strconv.ParseFloat(m[3], 64); name == "" || err != nil || !(ms > 0 && ms < 1e9) {
		return ""
	}
	return name + "=" + m[3] + "ms"
}

// members are the members of a literal array, or the expression alone.
func (r *reader) members(e ast.Expression) []ast.Expression {
	if list, ok := r.resolve(e).(*ast.ArrayLiteral); ok {
		return list.Value
	}
	return []ast.Expression{e}
}
