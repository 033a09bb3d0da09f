package experiment

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"dyno/lab/probe"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/target"
	"dyno/parts/process"
	"dyno/parts/quicktest"
)

// binaries is where the subjects are built, once for all tests.
var binaries string

func TestMain(m *testing.M) {
	// Most wait for a run to end, and judge nothing that depends on who else uses the machine. Runs
	// side by side hold this process's garbage collection for good, so a test that reads GOGC is not
	// parallel: it comes before them.
	flag.Set("test.parallel", "4")
	var err error
	if binaries, err = os.MkdirTemp("", "dyno-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(binaries)
	os.Exit(code)
}

var bounds = sync.OnceValues(func() (string, error) {
	return process.Build(context.Background(), ".", "dyno/subjects/bounds", binaries)
})

// running starts a server of subjects/bounds, as a service that runs already, and returns how it is
// driven. inside is how much of it can be seen: agent, pprof or none.
func running(t *testing.T, inside string) *scenario.Scenario {
	t.Helper()
	const server, path = "render", "/products"
	quicktest.Skip(t, "loads a process for seconds")
	binary, err := bounds()
	if err != nil {
		t.Fatal(err)
	}
	p, err := target.Start(t.Context(), process.Spec{Name: server, Command: []string{binary, "--server", server, "--inside", inside}, ReadyLine: true,
		Env: []string{"GODEBUG=memprofilerate=4096"}}) // its heap is too small to be sure of a sample every 512 KiB
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(time.Second) })
	sc := &scenario.Scenario{Name: server, Mode: record.KindDiagnose, Target: scenario.Target{URL: "http://" + p.Ready()["listen"]}}
	sc.Load.URL = sc.Target.URL + path
	if debug := p.Ready()["debug"]; debug != "" {
		sc.Target.Debug = "http://" + debug
	}
	return sc
}

// benchOf is a bench on which the scenario's runs can be carried out one by one.
func runnerOf(t *testing.T, sc *scenario.Scenario, p Progress) (*runner, *record.Experiment) {
	t.Helper()
	variants, err := choose(sc, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newRunner(t.Context(), Options{Scenario: sc, Depth: Quick, Progress: p}, variants)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	exp := &record.Experiment{Name: sc.Name, Kind: sc.Mode, Machine: probe.Machine()}
	if err := record.NewExperiment(filepath.Join(t.TempDir(), "out"), exp); err != nil {
		t.Fatal(err)
	}
	return b, exp
}

// onWindow is a Progress that is called for every window; on the goroutine of the load.
type onWindow struct {
	silent
	call func(record.Window)
}

func (o onWindow) Window(w record.Window) { o.call(w) }
