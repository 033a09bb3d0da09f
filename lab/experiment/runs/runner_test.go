package runs

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/experimenttest"
	"dyno/lab/experiment/generator"
	"dyno/lab/probe/host"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/scenario"
	"dyno/parts/quicktest"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "4") // most wait for a run to end
	experimenttest.Main(m)
}

// running starts a server with the agent, as a service that the lab does not start.
func running(t *testing.T) *scenario.Scenario {
	t.Helper()
	quicktest.Skip(t, "loads a process for seconds")
	return experimenttest.Running(t, "agent")
}

// runnerOf carries out runs of a scenario one by one; window is called for every window, on the
// load's goroutine.
func runnerOf(t *testing.T, sc *scenario.Scenario, window func(record.Window)) (*Runner, *record.Experiment) {
	t.Helper()
	variants := sc.Variants
	if len(variants) == 0 {
		variants = []scenario.Variant{{Name: sc.Name}}
	}
	const warmup = 400 * time.Millisecond
	programs := &environment.Programs{Scenario: sc, Variants: variants, Say: func(string) {}}
	b := &Runner{Generator: generator.New(programs), Warmup: warmup, DiagnoseWarmup: warmup, Window: window}
	if err := programs.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(programs.Close)
	exp := &record.Experiment{Name: sc.Name, Kind: sc.Mode, Machine: host.Machine()}
	if err := folder.New(filepath.Join(t.TempDir(), "out"), exp); err != nil {
		t.Fatal(err)
	}
	return b, exp
}
