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
	// Most tests wait for a run to end, and their verdicts do not depend on other users of the
	// machine. Concurrent runs keep this process's garbage collection paused, so a test that
	// reads GOGC is not parallel and thus runs before them.
	flag.Set("test.parallel", "4")
	if url := os.Getenv(joinsAt); url != "" {
		if err := serveAsAgent(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	experimenttest.Main(m)
}

// begun returns an executor of a scenario whose programs are built. The tests' counts do not
// depend on other users of the machine, so the record has no number of cores and the machine's
// load makes no run invalid.
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
