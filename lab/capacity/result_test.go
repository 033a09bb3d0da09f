package capacity

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
)

// rounds is an experiment of one variant: a search, then one sample per round against a target with
// the given capacity in that round.
func rounds(t *testing.T, capacities ...float64) *record.Experiment {
	t.Helper()
	exp := &record.Experiment{SLO: bound20, Variants: []record.Variant{{Name: "v"}}}
	add := func(role string, round int, runs []*record.Run) {
		for _, r := range runs {
			r.ID = fmt.Sprint(len(exp.Runs))
			r.Step.Role, r.Step.Round, r.Step.Variant = role, round, "v"
			r.Totals.Variation = 0.03
			exp.Runs = append(exp.Runs, r)
		}
	}
	add(record.RoleSearch, 0, target{capacity: 1000}.at(500, 970, 1030))
	for i, c := range capacities {
		add(record.RoleMeasure, i+1, target{capacity: c}.at(0.97*c, 1.03*c))
		add(record.RoleFloor, i+1, target{capacity: 1}.at(0.97, 1.03))
	}
	return exp
}

func TestSummarise(t *testing.T) {
	res := Summarise(rounds(t, 970, 1010, 1030, 980, 1000, 1015), "v")
	if !res.Valid || math.Abs(res.CapacityPerS/1000-1) > 0.02 || len(res.Data) != 6 {
		t.Fatalf("%+v", res)
	}
	if res.Interval == nil || res.Interval[0] > 1000 || res.Interval[1] < 1000 || res.Interval[1]/res.Interval[0] > 1.1 {
		t.Errorf("interval %v", res.Interval)
	}
	if res.Variation != 0.03 {
		t.Errorf("variation %g", res.Variation)
	}
	for i, s := range res.Steps {
		if s.OfferedPerS < 100 {
			t.Errorf("the floor's run is in the curve: %+v", s)
		}
		if i > 0 && s.OfferedPerS < res.Steps[i-1].OfferedPerS {
			t.Errorf("steps are not in order at %d", i)
		}
		if s.Met != (s.P99Ms <= 20) {
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
	met := &record.Experiment{SLO: bound20}
	for _, rate := range []float64{100, 200} {
		r := target{capacity: 1000}.run(record.Step{Role: record.RoleSearch, Rate: rate, Length: 20 * time.Second})
		met.Runs = append(met.Runs, r)
	}
	if res := Summarise(met, ""); res.Valid || res.CapacityPerS != 200 || !strings.Contains(res.Reason, "met at every rate") {
		t.Errorf("%+v", res)
	}
	met.Runs[0].Invalid = "neighbours, but what came after counted"
	if res := Summarise(met, ""); !strings.Contains(res.Reason, "met at every rate") {
		t.Errorf("%+v", res)
	}
	met.Runs[0].Invalid, met.Runs[1].Invalid = "neighbours", "neighbours took the machine"
	if res := Summarise(met, ""); res.Valid || res.Reason != "neighbours took the machine" || res.Bound != "" {
		t.Errorf("%+v", res)
	}
	if res := Summarise(met, "unknown"); res.Valid || res.Reason == "" {
		t.Errorf("%+v", res)
	}
}

func TestSummariseWarnsOfShortRuns(t *testing.T) {
	exp := rounds(t)
	exp.Runs[0].Totals.Ended = 300
	res := Summarise(exp, "v")
	if !strings.Contains(strings.Join(res.Warnings, "\n"), "1 run met the SLO with fewer than 2,000 completions, the shortest 300") {
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
