package experiment

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/lab/scenario"
)

// sweepOf is a sweep over queues and workers, with a ramp.
func sweepOf(t *testing.T, depth Depth) *executor {
	t.Helper()
	s, err := scenario.Parse("x.yaml", []byte(`
name: x
target: {build: ./x}
load: {kind: jobs, args: ["${rate}", "${ramp_to}"]}
sweep:
  axes: [{name: queue, values: [channel, ring]}, {name: workers, values: [1, 8]}]
  args: ["${queue}", "${workers}"]
measure: {per: workers, rates: [600, 900, 1200, 1500], length: 3s, rounds: 2, ramp: {from: 200, to: 1700, length: 8s}}
`))
	if err != nil {
		t.Fatal(err)
	}
	return &executor{opts: Options{Scenario: s, Depth: depth}, variants: s.Variants}
}

func TestSweepSteps(t *testing.T) {
	steps := sweepOf(t, Default).sweepSteps()
	if len(steps) != 2*4*4+4 {
		t.Fatalf("%d steps", len(steps))
	}
	second := record.RunSpec{Role: record.RoleSweep, Variant: "queue=channel,workers=8", Round: 1, Rate: 4800, Length: 3 * time.Second}
	if steps[1] != second {
		t.Errorf("the second step is %+v", steps[1])
	}
	if got := steps[16].Variant; got != "queue=ring,workers=8" || steps[16].Round != 2 {
		t.Errorf("the second round begins with %+v", steps[16])
	}
	last := record.RunSpec{Role: record.RoleSweep, Variant: "queue=ring,workers=8", Round: 1, Rate: 1600, RampTo: 13600, Length: 8 * time.Second}
	if steps[len(steps)-1] != last {
		t.Errorf("the last step is %+v", steps[len(steps)-1])
	}
}

func TestQuickSweepSteps(t *testing.T) {
	var rates []float64
	var ramps []string
	for _, s := range sweepOf(t, Quick).sweepSteps() {
		switch {
		case s.RampTo > 0:
			ramps = append(ramps, s.Variant)
		case s.Variant == "queue=ring,workers=1":
			rates = append(rates, s.Rate)
		}
		if s.Round != 1 || s.Length > quickRampLength {
			t.Errorf("a quick step: %+v", s)
		}
	}
	if !slices.Equal(rates, []float64{900, 1500}) || !slices.Equal(ramps, []string{"queue=channel,workers=1", "queue=ring,workers=1"}) {
		t.Errorf("rates %v, ramps %v", rates, ramps)
	}
}

// Variants of a sweep over requests stay up and take turns: each point is a run, and all runs of
// a variant use one process.
func TestSweepInTurns(t *testing.T) {
	t.Parallel()
	sc := twoBurns(t)
	sc.Mode, sc.Measure = record.KindSweep, scenario.Measure{Rates: []float64{50, 100}, Length: 300 * time.Millisecond}
	exp, err := Execute(t.Context(), Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), NoPMQoS: true})
	if err != nil {
		t.Fatal(err)
	}
	pids := map[string]int{}
	for _, r := range exp.Runs {
		if pid, known := pids[r.Spec.Variant]; known && pid != r.Target.PID || r.Target.PID == 0 {
			t.Errorf("%s at %g/s ran in process %d, before in %d", r.Spec.Variant, r.Spec.Rate, r.Target.PID, pid)
		}
		pids[r.Spec.Variant] = r.Target.PID
	}
	if len(exp.Runs) != 4 || len(pids) != 2 || pids["one"] == pids["two"] {
		t.Errorf("%d runs in processes %v", len(exp.Runs), pids)
	}
}
