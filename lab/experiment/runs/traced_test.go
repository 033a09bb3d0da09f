package runs

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/scenario"
	"dyno/parts/quicktest"
)

// The traces of a target that can send them give the latency by stage, in a run of its own.
func TestTracesArriveAsStages(t *testing.T) {
	quicktest.Skip(t, "builds a service and loads it")
	t.Parallel()
	sc, err := scenario.Open(filepath.Join("..", "..", "..", "scenarios", "notify.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sc.Variants = sc.Variants[len(sc.Variants)-1:]
	b, exp := runnerOf(t, sc, func(record.Window) {})
	step := record.RunSpec{Role: record.RoleTraced, Variant: sc.Variants[0].Name, Rate: 500, Length: time.Second} // the scenario samples 5% of these
	r, err := b.Run(t.Context(), step, exp)
	if err != nil {
		t.Fatal(err)
	}
	again, err := folder.OpenRun(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Stages) < 2 || !slices.ContainsFunc(again.Stages, func(s record.Stage) bool { return s.Depth > 0 }) {
		t.Fatalf("stages %+v, warnings %q", again.Stages, again.Warnings)
	}
	for _, s := range again.Stages {
		if s.Transaction == "" || s.Name == "" || s.Count == 0 || s.Latency.P50 <= 0 || s.Self < 0 {
			t.Errorf("%+v", s)
		}
	}
}
