package runs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"dyno/agent"
	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/experimenttest"
	"dyno/lab/experiment/generator"
	"dyno/lab/probe/profiling"
	"dyno/lab/record"
	"dyno/lab/record/folder"
)

// The service goes on without the lab: what an intervention or a profile changes in it is
// restored, even if the run is cut short.
func TestSettingsAreRestored(t *testing.T) {
	t.Parallel()
	sc := running(t)
	debug := sc.Target.Debug
	keeps := experimenttest.Give(t, debug)

	var during func()
	b, exp := runnerOf(t, sc, func(record.Window) { during() })
	step := record.RunSpec{Role: record.RoleIntervene, Variant: sc.Name, Closed: true, Connections: 4, Length: 300 * time.Millisecond}

	for name, c := range map[string]struct {
		change record.Change
		seen   func() bool
	}{
		"GOMAXPROCS": {record.Change{Procs: 1}, func() bool { return *experimenttest.Set(t, debug, agent.Control{Procs: new(1)}).Procs == 1 }},
		"GOGC":       {record.Change{GOGC: 800}, func() bool { return *experimenttest.Set(t, debug, agent.Control{GOGC: new(800)}).GOGC == 800 }},
	} {
		seen := false
		during = func() {
			if !seen {
				seen = c.seen()
			}
		}
		step.Change = &c.change
		r, err := b.Run(t.Context(), step, exp)
		if err != nil {
			t.Fatal(err)
		}
		if folder.AddRun(exp, r); exp.Unwritten != nil {
			t.Fatal(exp.Unwritten)
		}
		if !seen {
			t.Errorf("%s was not changed during the run", name)
		}
		keeps("after " + name)
	}

	for _, role := range []string{record.RoleIntervene, record.RoleProfile} {
		ctx, cancel := context.WithCancel(t.Context())
		windows := 0
		during = func() {
			if windows++; windows == 10 { // 0.6 s into the measured time, when profiles are being taken
				cancel()
			}
		}
		step := step
		step.Role, step.Length = role, 5*time.Second
		if role == record.RoleProfile {
			step.Change = nil
		}
		r, err := b.Run(ctx, step, exp)
		cancel()
		if !errors.Is(err, context.Canceled) || r == nil || !strings.Contains(r.Invalid, "interrupted") {
			t.Fatalf("%s, interrupted: %v, %+v", role, err, r)
		}
		if folder.AddRun(exp, r); exp.Unwritten != nil {
			t.Fatal(exp.Unwritten)
		}
		if role == record.RoleProfile {
			experimenttest.HasNoLatency(t, r)
		}
		keeps("after an interrupted run, " + role)
	}
}

// If a target does not report its settings, none is changed. If its settings cannot be restored,
// the lab reports that.
func TestRestoringThatFailsIsSaid(t *testing.T) {
	a := agent.New(agent.Config{})
	defer a.Close()
	debug, stop := serve(t, a)
	var said []string
	b := &Runner{Generator: generator.New(&environment.Programs{Say: func(text string) { said = append(said, text) }})}
	restore, err := b.intervene(t.Context(), profiling.Address{URL: debug}, record.Change{GOGC: 800})
	if err != nil {
		t.Fatal(err)
	}
	was := *experimenttest.Set(t, debug, agent.Control{GOGC: new(800)}).GOGC
	stop()
	restore()
	if was != 800 || len(said) != 1 || !strings.Contains(said[0], "keeps GOGC=800 instead of GOGC=") {
		t.Errorf("GOGC was %d; said %q", was, said)
	}
	a.Control(agent.Control{GOGC: new(100)})
	if _, err := b.intervene(t.Context(), profiling.Address{URL: debug}, record.Change{GOGC: 800}); err == nil {
		t.Error("a target that is gone was changed")
	}
}
