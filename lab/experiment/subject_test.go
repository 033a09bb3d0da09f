package experiment

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"dyno/lab/experiment/experimenttest"
	"dyno/lab/record/folder"
)

func TestMain(m *testing.M) {
	// Most wait for a run to end, and judge nothing that depends on who else uses the machine. Runs
	// side by side hold this process's garbage collection for good, so a test that reads GOGC is not
	// parallel: it comes before them.
	flag.Set("test.parallel", "4")
	if url := os.Getenv(joinsAt); url != "" {
		if err := serveAsAgent(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	experimenttest.Main(m)
}

// begun is an executor of a scenario whose programs are built. What it counts does not depend on
// who else uses the machine, so it is not judged here: the record has no number of cores.
func begun(t *testing.T, o Options) *executor {
	t.Helper()
	variants, err := choose(o.Scenario, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Progress = silent{}
	x := newExecutor(o, kinds[o.Scenario.Mode], variants)
	if err := x.programs.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.programs.Close)
	if err := folder.New(filepath.Join(t.TempDir(), "out"), x.exp); err != nil {
		t.Fatal(err)
	}
	return x
}
