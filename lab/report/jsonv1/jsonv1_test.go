package jsonv1

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/reporttest"
)

// TestUnknownIsNullInJSON: no rate is not a rate of 0, and no verdict bounds nothing.
func TestUnknownIsNullInJSON(t *testing.T) {
	read := func(r *report.Report) (got map[string]any) {
		var b bytes.Buffer
		if err := Write(&b, r); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	known, unknown := read(reporttest.Diagnose().Report()), read(reporttest.Undiagnosed().Report())
	for _, key := range []string{"capacity_per_s", "peak_per_s"} {
		if v, there := unknown[key]; !there || v != nil {
			t.Errorf("an unknown %s is %v", key, v)
		}
		if _, number := known[key].(float64); !number {
			t.Errorf("a known %s is %v", key, known[key])
		}
	}
	m := reporttest.Why()
	m.Diagnoses[1].Valid, m.Diagnoses[1].CapacityPerS = false, 0
	ladder := read(m.Report())
	steps := ladder["steps"].([]any)
	if bound := steps[0].(map[string]any)["bound_by"]; bound != "cpu" {
		t.Errorf("the baseline is bound by %v", bound)
	}
	if bound := steps[1].(map[string]any)["bound_by"]; bound != nil {
		t.Errorf("without a verdict, a step is bound by %v", bound)
	}
	if v := ladder["diagnoses"].([]any)[1].(map[string]any)["capacity_per_s"]; v != nil {
		t.Errorf("an unknown capacity of a step is %v", v)
	}
}

// TestContract holds the documented keys of each schema.
func TestContract(t *testing.T) {
	common := map[string][]string{
		"load":         {"schema", "model", "engine", "url", "duration_s", "offered_per_s", "achieved_per_s", "sent", "completed", "unfinished", "errors", "status", "latency_ms", "service_ms", "send_lag_us", "generator", "warnings"},
		"capacity":     {"schema", "slo", "capacity_per_s", "interval", "steps", "valid", "reason", "warnings"},
		"compare":      {"schema", "metric", "a", "b", "ratio", "interval", "pairs", "floor", "verdict", "warnings"},
		"ladder":       {"schema", "out", "steps"},
		"sweep":        {"schema", "out", "steps", "sweep"},
		"diagnosis":    {"schema", "valid", "reason", "bound_by", "also", "where", "in_words", "evidence", "interventions", "findings", "capacity_per_s"},
		"ladder.steps": {"name", "change", "capacity_per_s", "interval", "p99_ms", "cpu_us_per_request", "allocs_per_request", "ratio_to_baseline", "ratio_interval"},
	}
	schemas := map[string]string{"load": "dyno.load/1", "capacity": "dyno.capacity/1", "compare": "dyno.comparison/1", "ladder": "dyno.run/1", "sweep": "dyno.run/1", "diagnose": "dyno.diagnosis/1", "diagnose-invalid": "dyno.diagnosis/1"}
	reports := reporttest.Reports()
	for name, schema := range schemas {
		var b bytes.Buffer
		if err := Write(&b, reports[name]); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got["schema"] != schema {
			t.Errorf("%s: schema %v", name, got["schema"])
		}
		keys := common[name]
		if schema == SchemaDiagnosis {
			keys = common["diagnosis"]
		}
		for _, key := range keys {
			if v, ok := got[key]; !ok || schema == SchemaDiagnosis && v == nil && key != "capacity_per_s" { // which may be unknown
				t.Errorf("%s lacks %q", name, key)
			}
		}
		if name == "ladder" {
			step := got["steps"].([]any)[1].(map[string]any)
			for _, key := range common["ladder.steps"] {
				if _, ok := step[key]; !ok {
					t.Errorf("a step lacks %q", key)
				}
			}
		}
	}
}

// TestAtLeast: a lower bound is said as one, in words and in JSON.
func TestAtLeast(t *testing.T) {
	m := reporttest.Turns(record.KindCapacity)
	for i := range m.Slices {
		m.Slices[i].Met, m.Slices[i].Rate = true, min(m.Slices[i].Rate, 1000)
	}
	r := report.Build(m.Experiment)
	if !strings.Contains(r.Answer, " carries at least 1,000/s at ") || !strings.Contains(r.Answer, ": the SLO was met up to the highest rate tried") {
		t.Error(r.Answer)
	}
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Capacity float64 `json:"capacity_per_s"`
		AtLeast  bool    `json:"at_least"`
		Reason   string
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || !got.AtLeast || got.Capacity != 1000 || got.Reason == "" {
		t.Errorf("%+v, %v", got, err)
	}
}
