package report

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"dyno/lab/record"
)

// addGauges adds gauges to a run that grow by the given amount per second, from 50 on.
func addGauges(r *record.Run, perSecond map[string]float64) {
	for i, w := range r.Series {
		gauges := maps.Clone(w.Server.Gauges)
		for name, v := range perSecond {
			gauges[name] = 50 + v*float64(w.Start-r.Begin)/1e9
		}
		r.Series[i].Server.Gauges = gauges
	}
}

// poor and good are the gauges of two services.
var (
	good = map[string]float64{"reads_open": 0, "reads_in_use": 0, "reads_max_open": 0, "reads_wait_count": 0, "reads_wait_seconds": 0, "reads_acquires": 900, "reads_opened": 0}
	poor = map[string]float64{"db_open": 0, "db_in_use": 0, "db_wait_count": 4000, "db_wait_seconds": 8, "db_acquires": 5000, "db_opened": 1500,
		"db_statements": 10000, "db_prepares": 1000, "db_deadlines": 9000, "db_undated": 1000}
)

// madeDatabase is a load of a service that has two pools; hostile is a third one's name.
func madeDatabase() *made {
	m := madeLoad("open")
	addGauges(m.Runs[0], good)
	addGauges(m.Runs[0], poor)
	addGauges(m.Runs[0], map[string]float64{hostile + "_open": 0, hostile + "_in_use": 0})
	return m
}

func TestDatabases(t *testing.T) {
	r := madeDatabase().report()
	if len(r.Databases) != 3 || len(r.Databases[2].Remarks) != 0 {
		t.Fatalf("%+v", r.Databases)
	}
	d := r.Databases[1]
	if d.Name != "db" || d.WaitsPerS < 3999 || d.WaitsPerS > 4001 || d.PerRequest < 1.9 || d.PerRequest > 2.1 {
		t.Errorf("%+v", d)
	}
	all := strings.Join(d.Remarks, "\n")
	if len(d.Remarks) != 4 || !strings.Contains(all, "70%") || !strings.Contains(all, "90%") || !strings.Contains(all, "10% of the statements") || !strings.Contains(all, "wait for a free connection") {
		t.Errorf("remarks:\n%s", all)
	}
	var b bytes.Buffer
	if err := JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var told struct {
		Databases []map[string]any
	}
	if err := json.Unmarshal(b.Bytes(), &told); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"name": "db", "connection_reuse": 0.7, "statement_cache_hits": 0.9, "statements_with_deadline": 0.9, "wait_mean_ms": 2.0, "connections_max": nil} {
		if got := told.Databases[1][key]; got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}

// A variant's row is read at its capacity; one that was only driven over it is read there.
func TestDatabaseOfEachVariant(t *testing.T) {
	m := newMade(record.KindLadder, "p99=60ms")
	for _, name := range []string{"none", "plain", "tuned", "broken"} {
		m.variant(name, "", "", 3000)
	}
	addGauges(m.run(record.RoleSearch, "plain", 0, 2000), poor)
	addGauges(m.run(record.RoleMeasure, "plain", 1, 2500), good)
	addGauges(m.run(record.RoleMeasure, "plain", 1, 3500), poor) // missed the SLO
	addGauges(m.run(record.RoleSearch, "tuned", 0, 3500), poor)
	m.run(record.RoleMeasure, "none", 1, 2500)
	broken := m.run(record.RoleMeasure, "broken", 1, 2500)
	addGauges(broken, poor)
	broken.Invalid = "it broke"
	var got []string
	for _, d := range m.report().Databases {
		got = append(got, d.Variant+" "+d.Name+" "+d.Run)
	}
	if want := "plain reads plain, measure, round 1, 2,500/s|tuned db tuned, search, 3,500/s"; strings.Join(got, "|") != want {
		t.Errorf("%s, want %s", strings.Join(got, "|"), want)
	}
}

// Without gauges there is no table, in no form.
func TestNoDatabase(t *testing.T) {
	r := madeLoad("open").report()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"html":     func(b *bytes.Buffer) error { return HTML(b, r) },
		"markdown": func(b *bytes.Buffer) error { return Markdown(b, r) },
		"json":     func(b *bytes.Buffer) error { return JSON(b, r) },
		"terminal": func(b *bytes.Buffer) error { return Terminal(b, r, Style{}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(b.String()), "database") {
			t.Errorf("%s speaks of a database", name)
		}
	}
}
