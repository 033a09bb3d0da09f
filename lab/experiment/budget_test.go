package experiment

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/lab/scenario"
)

// If starting the processes uses up the budget, the experiment still takes one round, and ends.
func TestBudgetThatIsTooShort(t *testing.T) {
	t.Parallel()
	exp, err := Execute(t.Context(), Options{Scenario: twoBurns(t), Out: filepath.Join(t.TempDir(), "out"), Budget: time.Nanosecond, NoPMQoS: true})
	if err != nil {
		t.Fatal(err)
	}
	want, measured := record.OutcomeInvalid, map[string]bool{}
	for _, s := range exp.Slices {
		if s.Role == record.RoleMeasure {
			measured[s.Variant] = true
		}
	}
	if len(measured) == 2 {
		want = record.OutcomeComplete
	}
	if len(exp.Slices) == 0 || exp.Slices[len(exp.Slices)-1].Block != 1 || exp.Outcome.Status != want ||
		want == record.OutcomeInvalid && !strings.Contains(exp.Outcome.Reason, "--budget") {
		t.Errorf("%d slices, outcome %+v, want %s", len(exp.Slices), exp.Outcome, want)
	}
}

// With a maximum rate, nothing is sent as fast as the target can work.
func TestTurnsKeepToMaxRate(t *testing.T) {
	t.Parallel()
	sc := twoBurns(t)
	sc.Mode, sc.Variants, sc.Load.MaxRate = record.KindCapacity, nil, 300
	exp, err := until(t, sc, func(s []record.Slice) bool { return len(s) == 3 })
	if exp == nil {
		t.Fatal(err)
	}
	for _, s := range exp.Slices {
		if s.Kind != record.SliceSLO || s.Rate > 300 {
			t.Errorf("a slice of kind %s at %g/s", s.Kind, s.Rate)
		}
	}
	if len(exp.Slices) != 3 {
		t.Errorf("%d slices", len(exp.Slices))
	}
}

// Every variant of a comparison takes turns, and only the first has a control.
func TestSeveralVariantsTakeTurns(t *testing.T) {
	t.Parallel()
	sc := twoBurns(t)
	sc.Variants = append(sc.Variants, scenario.Variant{Name: "three", Args: []string{"--factor", "3"}, Reference: "two"})
	exp, err := until(t, sc, func(s []record.Slice) bool { return len(s) == 12 })
	if exp == nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, s := range exp.Slices {
		seen[s.Role+" "+s.Variant]++
	}
	if len(seen) != 4 || seen["measure one"] == 0 || seen["measure two"] == 0 || seen["measure three"] == 0 || seen["floor one"] == 0 {
		t.Errorf("slices of %v", seen)
	}
	if exp.Reference(1) != "one" || exp.Reference(2) != "two" {
		t.Errorf("compared with %s and %s", exp.Reference(1), exp.Reference(2))
	}
}
