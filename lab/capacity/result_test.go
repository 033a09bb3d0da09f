package capacity

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"dyno/lab/record"
)

// at runs a job with each of some numbers of units in flight.
func (m made) at(units ...int) (runs []*record.Run) {
	for _, n := range units {
		runs = append(runs, m.run(record.RunSpec{Closed: true, Connections: n}))
	}
	return runs
}

// rounds is an experiment of one variant of a job: a search, then one sample per round, with the
// given throughput in that round. 24 units in flight miss the SLO.
func rounds(t *testing.T, roofs ...float64) *record.Experiment {
	t.Helper()
	exp := &record.Experiment{SLO: p95(15), Variants: []record.Variant{{Name: "v"}}}
	add := func(role string, round int, runs []*record.Run) {
		for _, r := range runs {
			r.ID = fmt.Sprint(len(exp.Runs))
			r.Spec.Role, r.Spec.Round, r.Spec.Variant = role, round, "v"
			r.SLO, r.Totals.Variation = exp.SLO, 0.03
			exp.Runs = append(exp.Runs, r)
		}
	}
	add(record.RoleSearch, 0, made{unit: 0.01, roof: 1000}.at(5, 12, 24))
	for i, roof := range roofs {
		add(record.RoleMeasure, i+1, made{unit: 0.01, roof: roof}.at(12))
		add(record.RoleControl, i+1, made{unit: 1, roof: 1}.at(1))
	}
	return exp
}

func TestSummarise(t *testing.T) {
	res := Summarise(rounds(t, 970, 1010, 1030, 980, 1000, 1015), "v")
	if !res.Valid || math.Abs(res.CapacityPerS/1000-1) > 0.02 || len(res.Data) != 6 {
		t.Fatalf("%+v", res)
	}
	if res.Interval == nil || res.Interval[0] > 1000 || res.Interval[1] < 1000 || res.Interval[1]/res.Interval[0] > 1.1 || res.Concurrency != 12 {
		t.Errorf("interval %v", res.Interval)
	}
	if res.Variation != 0.03 {
		t.Errorf("variation %g", res.Variation)
	}
	for i, s := range res.Steps {
		if s.OfferedPerS < 100 {
			t.Errorf("the floor's run is in the curve: %+v", s)
		}
		if i > 0 && s.Concurrency < res.Steps[i-1].Concurrency {
			t.Errorf("steps are not in order at %d", i)
		}
		if s.Met != (s.P95Ms <= 15) {
			t.Errorf("%+v", s)
		}
	}
}

func TestSummariseFewData(t *testing.T) {
	res := Summarise(rounds(t, 970, 1010), "v")
	if !res.Valid || res.Interval != nil || len(res.Data) != 2 || !strings.Contains(strings.Join(res.Warnings, "\n"), "only 2 rounds count") {
		t.Errorf("%+v", res)
	}
	res = Summarise(rounds(t), "v") // the search alone
	if !res.Valid || len(res.Data) != 1 || math.Abs(res.CapacityPerS/1000-1) > 0.04 {
		t.Errorf("%+v", res)
	}
}

func TestSummariseWithoutACapacity(t *testing.T) {
	missed := &record.Experiment{SLO: p95(1), Runs: made{unit: 0.01, roof: 1000}.at(5, 12)}
	for _, r := range missed.Runs {
		r.Spec.Role = record.RoleSearch
	}
	if res := Summarise(missed, ""); res.Valid || !strings.Contains(res.Reason, "missed at every concurrency, down to 5") {
		t.Errorf("%+v", res)
	}
	missed.Runs[0].Invalid = "neighbours, but what came after counted"
	if res := Summarise(missed, ""); !strings.Contains(res.Reason, "missed at every concurrency, down to 12") {
		t.Errorf("%+v", res)
	}
	missed.Runs[0].Invalid, missed.Runs[1].Invalid = "neighbours", "neighbours took the machine"
	if res := Summarise(missed, ""); res.Valid || res.Reason != "neighbours took the machine" || res.Bound != "" {
		t.Errorf("%+v", res)
	}
	missed.Runs[1].Totals.Generator.Limited = true
	if res := Summarise(missed, ""); res.Valid || res.Bound != BoundGenerator {
		t.Errorf("%+v", res)
	}
	if res := Summarise(missed, "unknown"); res.Valid || res.Reason == "" {
		t.Errorf("%+v", res)
	}
}

func TestSummariseWarnsOfShortRuns(t *testing.T) {
	exp := rounds(t)
	exp.Runs[0].Totals.Ended = 300
	res := Summarise(exp, "v")
	if !strings.Contains(strings.Join(res.Warnings, "\n"), "1 run met the SLO with fewer than 400 completions, the shortest 300") {
		t.Errorf("%q", res.Warnings)
	}
}

// The keys are a contract: added to, never changed.
func TestResultJSON(t *testing.T) {
	b, err := json.Marshal(Summarise(rounds(t), "v"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got["schema"] != "dyno.capacity/1" || got["valid"] != true || got["interval"] != nil {
		t.Errorf("%s", b)
	}
	for _, key := range []string{"slo", "capacity_per_s", "interval", "steps", "reason", "warnings"} {
		if _, ok := got[key]; !ok {
			t.Errorf("no key %q", key)
		}
	}
	step := got["steps"].([]any)[0].(map[string]any)
	for _, key := range []string{"offered_per_s", "achieved_per_s", "p50_ms", "p99_ms", "errors", "met"} {
		if _, ok := step[key]; !ok {
			t.Errorf("no key %q in a step", key)
		}
	}
	empty, _ := json.Marshal(Summarise(&record.Experiment{}, "v"))
	if !strings.Contains(string(empty), `"steps":[]`) || !strings.Contains(string(empty), `"warnings":[]`) {
		t.Errorf("lists that are empty must not be null: %s", empty)
	}
}
