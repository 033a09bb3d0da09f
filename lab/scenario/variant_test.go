package scenario

import (
	"reflect"
	"strings"
	"testing"

	"dyno/lab/workload"
)

func TestVariantByName(t *testing.T) {
	s := &Scenario{Path: "x.yaml", Variants: []Variant{{Name: "baseline"}, {Name: "workers"}}}
	if v, err := s.Variant("workers"); err != nil || v.Name != "workers" {
		t.Errorf("got %v, %v", v, err)
	}
	for name, want := range map[string]string{"wrokers": `did you mean "workers"?`, "zzz": "its variants are baseline, workers"} {
		if _, err := s.Variant(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", name, err, want)
		}
	}
	if _, err := (&Scenario{Path: "x.yaml"}).Variant("a"); err == nil || !strings.Contains(err.Error(), "declares no variants") {
		t.Errorf("got %v", err)
	}
}

func TestTargetOf(t *testing.T) {
	s := &Scenario{Target: Target{CPUs: 2, Debug: "http://d", Process: Process{
		Build: "./x", Args: []string{"--listen", ":0"}, Env: map[string]string{"A": "1", "B": "2"}}}}
	before := s.Target
	for _, c := range []struct {
		name string
		v    Variant
		want func(*Target)
	}{
		{"nothing of its own", Variant{}, func(*Target) {}},
		{"arguments", Variant{Args: []string{"--fast"}}, func(t *Target) { t.Args = []string{"--listen", ":0", "--fast"} }},
		{"a program", Variant{Build: "./y", Args: []string{"-y"}}, func(t *Target) { t.Build, t.Args = "./y", []string{"-y"} }},
		{"a command", Variant{Command: []string{"y"}}, func(t *Target) { t.Build, t.Command, t.Args = "", []string{"y"}, nil }},
		{"environment", Variant{Env: map[string]string{"B": "3", "C": "4"}},
			func(t *Target) { t.Env = map[string]string{"A": "1", "B": "3", "C": "4"} }},
		{"an address", Variant{URL: "http://h"}, func(t *Target) { *t = Target{URL: "http://h"} }},
	} {
		want := before
		c.want(&want)
		if got := s.TargetOf(c.v); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, want)
		}
	}
	if !reflect.DeepEqual(s.Target, before) || len(s.Target.Env) != 2 {
		t.Errorf("the scenario's own target was changed: %+v", s.Target)
	}
	running := &Scenario{Target: Target{URL: "http://h", Debug: "http://d"}}
	if got := running.TargetOf(Variant{URL: "http://h"}); got.Debug != "http://d" {
		t.Errorf("the target's own address lost its debug address: %+v", got)
	}
}

func TestSetupOf(t *testing.T) {
	s := &Scenario{Setup: []Request{{URL: "http://h/all"}}}
	if got := s.SetupOf(Variant{}); len(got) != 1 || got[0].URL != "http://h/all" {
		t.Errorf("the scenario's setup became %+v", got)
	}
	if got := s.SetupOf(Variant{Setup: []Request{{URL: "http://h/own"}}}); len(got) != 1 || got[0].URL != "http://h/own" {
		t.Errorf("the variant's setup became %+v", got)
	}
}

func ofBody(b workload.Body) []workload.Request { return []workload.Request{{Body: b}} }

func TestLoadOf(t *testing.T) {
	s := &Scenario{Load: Load{URL: "http://h/", Requests: ofBody(workload.Body{Text: "one", Copies: 3}), Headers: map[string]string{"A": "1", "B": "2"}}}
	before := s.Load
	for _, c := range []struct {
		name string
		v    Variant
		want func(*Load)
	}{
		{"the load's", Variant{}, func(*Load) {}},
		{"headers", Variant{Load: &VariantLoad{Headers: map[string]string{"B": "3"}}}, func(l *Load) { l.Headers = map[string]string{"A": "1", "B": "3"} }},
		{"a body, once", Variant{Load: &VariantLoad{Body: "two"}}, func(l *Load) { l.Requests = ofBody(workload.Body{Text: "two"}) }},
		{"a body of many lines", Variant{Load: &VariantLoad{Body: "two", Repeat: 64}}, func(l *Load) { l.Requests = ofBody(workload.Body{Text: "two", Copies: 64}) }},
	} {
		want := before
		c.want(&want)
		if got := s.LoadOf(c.v); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, want)
		}
	}
	if !reflect.DeepEqual(s.Load, before) || s.Load.Headers["B"] != "2" {
		t.Errorf("the scenario's own load was changed: %+v", s.Load)
	}
	file := &Scenario{Load: Load{Requests: ofBody(workload.Body{File: "x.json"})}}
	if got := file.LoadOf(Variant{Load: &VariantLoad{Body: "y"}}); got.Requests[0].Body != (workload.Body{Text: "y"}) {
		t.Errorf("beside a file: %+v", got)
	}
}
