// Package experimenttest has what the tests of experiments share: servers of known behaviour, and
// checks of these servers and of their runs.
//
// It is not for the product. It starts no goroutines; the processes end with the test.
package experimenttest

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"dyno/agent"
	"dyno/lab/probe/profiling"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/scenario"
	"dyno/parts/process"
)

// binaries is the folder in which the subjects are built, once for all tests.
var binaries string

// Main runs a package's tests, and removes the subjects' binaries at the end.
func Main(m *testing.M) {
	var err error
	if binaries, err = os.MkdirTemp("", "dyno-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(binaries)
	os.Exit(code)
}

// Build builds one of the subjects, and returns its binary.
func Build(subject string) (string, error) {
	return process.Build(context.Background(), ".", "dyno/subjects/"+subject, binaries)
}

var bounds = sync.OnceValues(func() (string, error) {
	return Build("bounds")
})

// Running starts a server of subjects/bounds as a service that the lab does not start, and
// returns a scenario for it. inside says what the server shows of itself: agent, pprof or none.
func Running(t *testing.T, inside string) *scenario.Scenario {
	t.Helper()
	const server, path = "render", "/products"
	binary, err := bounds()
	if err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(t.Context(), process.Spec{Name: server, Command: []string{binary, "--server", server, "--inside", inside}, ReadyLine: true,
		Env: []string{"GODEBUG=memprofilerate=4096"}}) // at the default of one sample per 512 KiB, so small a heap might have none
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

// Set changes settings of a target through its agent and returns the previous ones.
func Set(t *testing.T, debug string, c agent.Control) agent.Control {
	t.Helper()
	before, err := profiling.Control(context.Background(), profiling.Address{URL: debug}, c)
	if err != nil {
		t.Fatal(err)
	}
	return before
}

// Settings that Give gives a target. None is Go's default, so that a restored value differs from
// the default.
const (
	ownGOGC  = 150
	ownProcs = 3
	mutexes  = 7
	blocking = 123_000 // ns
)

// Give changes the target's settings, and returns a function that checks that they are still the
// same.
func Give(t *testing.T, debug string) (keeps func(when string)) {
	own := agent.Control{GOGC: new(ownGOGC), Procs: new(ownProcs), MutexFraction: new(mutexes), BlockRate: new(blocking)}
	Set(t, debug, own)
	return func(when string) {
		t.Helper()
		got := Set(t, debug, own) // Set returns the settings before the call
		if *got.GOGC != ownGOGC || *got.Procs != ownProcs || *got.MutexFraction != mutexes || *got.BlockRate != blocking {
			t.Errorf("%s: GOGC=%d GOMAXPROCS=%d mutex fraction %d block rate %d; want %d, %d, %d, %d: as they were", when,
				*got.GOGC, *got.Procs, *got.MutexFraction, *got.BlockRate, ownGOGC, ownProcs, mutexes, blocking)
		}
	}
}

// HasNoLatency fails the test if a run under profiles has a latency, in memory or on disk.
func HasNoLatency(t *testing.T, r *record.Run) {
	t.Helper()
	again, err := folder.OpenRun(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*record.Run{r, again} {
		if none := (record.Quantiles{}); r.Totals.Response != none || r.Totals.Service != none || r.Totals.Delivery != none || len(r.Totals.Classes) > 0 {
			t.Errorf("%s has a latency from under profiles: %+v %+v %+v %v", r.ID, r.Totals.Response, r.Totals.Service, r.Totals.Delivery, r.Totals.Classes)
		}
		if len(r.Series) == 0 {
			t.Errorf("%s has no windows", r.ID)
		}
		for _, w := range r.Series {
			if w.Phase != record.PhaseProfile {
				t.Errorf("a window of %s is in phase %q", r.ID, w.Phase)
			}
		}
	}
}
