package deploy

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	grafana "github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

var update = flag.Bool("update", false, "write the dashboards again from deploy/grafana/panels")

// panel is a graph of a dashboard, as deploy/grafana/panels has it.
type panel struct {
	Title   string
	Says    string // a line for readers; empty: the title says all
	Unit    string // as Grafana names it; empty: a number
	Empty   bool   // there may be nothing to show
	Queries []map[string]string
}

// query is what a panel or a rule asks of Prometheus.
type query struct{ where, legend, expr string }

func (p panel) queries(dashboard string) (all []query) {
	for _, one := range p.Queries {
		for legend, expr := range one {
			all = append(all, query{dashboard + ": " + p.Title, legend, strings.ReplaceAll(expr, "$job", dashboard)})
		}
	}
	return all
}

// dashboards are their names: the services, and dyno for what the lab pushes.
var dashboards = append(slices.Clone(services), "dyno")

// panels returns those of a dashboard; a service's ends with those of its process.
func panels(t testing.TB, dashboard string) (all []panel) {
	t.Helper()
	decode(t, folder+"grafana/panels/"+dashboard+".yaml", &all)
	if dashboard == "dyno" {
		return all
	}
	var process []panel
	decode(t, folder+"grafana/panels/process.yaml", &process)
	return append(all, process...)
}

// The dashboards are of Grafana's schema, and what the panels say. To write them again:
// go test ./bench/tests/deploy -run TestDashboards -update.
func TestDashboards(t *testing.T) {
	for _, name := range dashboards {
		file := folder + "grafana/dashboards/" + name + ".json"
		want := dashboard(t, name, panels(t, name))
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		//lint:ignore SA1019 a Grafana of today takes files of this schema and of the next
		if err := new(grafana.Dashboard).UnmarshalJSONStrict(want); err != nil && err.Error() != "" { // a list of errors, which may be empty
			t.Errorf("Grafana does not take %s: %v", file, err)
		}
		if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not what panels/%s.yaml says (%v): write it again with -update", file, name, err)
		}
	}
}

// dashboard writes the model that Grafana reads.
func dashboard(t testing.TB, name string, all []panel) []byte {
	t.Helper()
	type object = map[string]any
	source := object{"type": "prometheus", "uid": "${datasource}"}
	shown := []object{}
	for i, p := range all {
		targets := []object{}
		for j, q := range p.queries(name) {
			targets = append(targets, object{"refId": string(rune('A' + j)), "datasource": source, "expr": q.expr, "legendFormat": q.legend})
		}
		shown = append(shown, object{
			"id": i + 1, "type": "timeseries", "title": p.Title, "description": p.Says, "datasource": source, "targets": targets,
			"gridPos":     object{"h": 8, "w": 12, "x": i % 2 * 12, "y": i / 2 * 8},
			"fieldConfig": object{"defaults": object{"unit": p.Unit, "min": 0}, "overrides": []object{}},
			"options":     object{"legend": object{"displayMode": "list", "placement": "bottom"}, "tooltip": object{"mode": "multi", "sort": "desc"}},
		})
	}
	model := object{
		"uid": "dyno-" + name, "title": name, "tags": []string{"dyno"}, "schemaVersion": 39, "version": 1, "editable": true,
		"refresh": "15s", "time": object{"from": "now-1h", "to": "now"}, "timezone": "browser", "graphTooltip": 1, "panels": shown,
		"annotations": object{"list": []object{}},
		"templating":  object{"list": []object{{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}}},
	}
	encoded, err := json.MarshalIndent(model, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(encoded, '\n')
}
