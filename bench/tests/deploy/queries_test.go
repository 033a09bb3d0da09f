package deploy

import (
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
)

// every lists all that the dashboards and rules ask, by what has to answer: a service, lab, or
// services for each of them.
func every(t testing.TB) map[string][]query {
	t.Helper()
	all := map[string][]query{}
	for name, file := range ruleFiles(t) {
		for _, group := range file.Groups {
			for _, r := range group.Rules {
				all[name] = append(all[name], query{where: r.Alert, expr: r.Expr})
			}
		}
	}
	for _, name := range dashboards {
		of := name
		if name == "dyno" {
			of = "lab"
		}
		for _, p := range panels(t, name) {
			all[of] = append(all[of], p.queries(name)...)
		}
	}
	return all
}

// ofPrometheus are metrics and labels that Prometheus itself adds.
var ofPrometheus = metrics{"up": {}, "ALERTS": {"alertname": true, "alertstate": true}}

// metrics are the names that a process exposes, each with its labels.
type metrics map[string]map[string]bool

// unknown says what a query asks for that is not exposed.
func (m metrics) unknown(expr string) (missing []string, err error) {
	parsed, err := metricsql.Parse(strings.ReplaceAll(expr, "$__rate_interval", "1m"))
	if err != nil {
		return nil, err
	}
	labels := map[string]bool{"instance": true, "job": true, "le": true} // le: of the parser's own rewriting
	var grouped []string
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.AggrFuncExpr:
			grouped = append(grouped, e.Modifier.Args...)
		case *metricsql.BinaryOpExpr:
			grouped = append(append(grouped, e.GroupModifier.Args...), e.JoinModifier.Args...)
		case *metricsql.MetricExpr:
			for _, filters := range e.LabelFilterss {
				name := filters[0].Value
				has, exposed := m[name]
				if !exposed {
					has, exposed = ofPrometheus[name]
				}
				if !exposed {
					missing = append(missing, "metric "+name)
					continue
				}
				for label := range has {
					labels[label] = true
				}
				for _, f := range filters[1:] {
					if !has[f.Label] && f.Label != "instance" && f.Label != "job" {
						missing = append(missing, "label "+f.Label+" of "+name)
					}
				}
			}
		}
	})
	for _, label := range grouped {
		if !labels[label] {
			missing = append(missing, "label "+label)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(missing))), nil
}

func TestUnknown(t *testing.T) {
	m := metrics{"a_total": {"route": true}, "a_seconds_bucket": {"le": true, "route": true}}
	for expr, want := range map[string]string{
		`rate(a_total[$__rate_interval])`:                                   "",
		`sum by (route) (rate(a_total{route=~"x|y",instance="i"}[5m])) > 1`: "",
		`histogram_quantile(0.9, sum by (le) (rate(a_seconds_bucket[5m])))`: "",
		`b_total`:                    "metric b_total",
		`a_total{path="/"}`:          "label path of a_total",
		`sum by (path) (a_total)`:    "label path",
		`a_total and on (path) up`:   "label path",
		`rate(a_total[5m]) / c_open`: "metric c_open",
	} {
		missing, err := m.unknown(expr)
		if got := strings.Join(missing, ", "); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", expr, got, err, want)
		}
	}
}
