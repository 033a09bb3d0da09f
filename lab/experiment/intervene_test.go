package experiment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/agent"
	"dyno/lab/probe"
	"dyno/lab/record"
)

// set changes settings of a target through its agent and returns what they were.
func set(t *testing.T, debug string, c agent.Control) agent.Control {
	t.Helper()
	before, err := probe.Control(context.Background(), debug, "", c)
	if err != nil {
		t.Fatal(err)
	}
	return before
}

// Settings of a target that runs already: no default, so that restored values differ from Go's
// defaults.
const (
	ownGOGC  = 150
	ownProcs = 3
	mutexes  = 7
	blocking = 123_000 // ns
)

// give gives the target settings of its own, and returns what reads them back.
func give(t *testing.T, debug string) (keeps func(when string)) {
	own := agent.Control{GOGC: new(ownGOGC), Procs: new(ownProcs), MutexFraction: new(mutexes), BlockRate: new(blocking)}
	set(t, debug, own)
	return func(when string) {
		t.Helper()
		got := set(t, debug, own) // which answers what was set before
		if *got.GOGC != ownGOGC || *got.Procs != ownProcs || *got.MutexFraction != mutexes || *got.BlockRate != blocking {
			t.Errorf("%s: GOGC=%d GOMAXPROCS=%d mutex fraction %d block rate %d; want %d, %d, %d, %d: as they were", when,
				*got.GOGC, *got.Procs, *got.MutexFraction, *got.BlockRate, ownGOGC, ownProcs, mutexes, blocking)
		}
	}
}

// The service goes on without the lab: what an intervention or a profile changes in it is put back,
// whether the run comes to its end or not.
func TestSettingsAreRestored(t *testing.T) {
	t.Parallel()
	sc := running(t, "agent")
	debug := sc.Target.Debug
	keeps := give(t, debug)

	var during func()
	b, exp := runnerOf(t, sc, onWindow{call: func(w record.Window) { during() }})
	step := record.Step{Role: record.RoleIntervene, Variant: sc.Name, Closed: true, Connections: 4, Length: 300 * time.Millisecond}

	for name, c := range map[string]struct {
		change record.Change
		seen   func() bool
	}{
		"GOMAXPROCS": {record.Change{Procs: 1}, func() bool { return *set(t, debug, agent.Control{Procs: new(1)}).Procs == 1 }},
		"GOGC":       {record.Change{GOGC: 800}, func() bool { return *set(t, debug, agent.Control{GOGC: new(800)}).GOGC == 800 }},
	} {
		seen := false
		during = func() {
			if !seen {
				seen = c.seen()
			}
		}
		step.Change = &c.change
		r, err := b.run(t.Context(), step, exp)
		if err != nil {
			t.Fatal(err)
		}
		if err := exp.Add(r); err != nil {
			t.Fatal(err)
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
			if windows++; windows == 10 { // 0.6 s of the measured time, by which profiles are being taken
				cancel()
			}
		}
		step := step
		step.Role, step.Length = role, 5*time.Second
		if role == record.RoleProfile {
			step.Change = nil
		}
		r, err := b.run(ctx, step, exp)
		cancel()
		if !errors.Is(err, context.Canceled) || r == nil || !strings.Contains(r.Invalid, "interrupted") {
			t.Fatalf("%s, interrupted: %v, %+v", role, err, r)
		}
		if err := exp.Add(r); err != nil {
			t.Fatal(err)
		}
		if role == record.RoleProfile {
			hasNoLatency(t, r)
		}
		keeps("after an interrupted run, " + role)
	}
}

// A target of which it is not known what it was set to is not changed at all, and one that cannot
// be restored is spoken of.
func TestRestoringThatFailsIsSaid(t *testing.T) {
	a := agent.New(agent.Config{})
	defer a.Close()
	debug, stop := serve(t, a)
	var said []string
	b := &runner{Options: Options{Progress: says{said: &said}}}
	restore, err := b.intervene(t.Context(), debug, record.Change{GOGC: 800})
	if err != nil {
		t.Fatal(err)
	}
	was := *set(t, debug, agent.Control{GOGC: new(800)}).GOGC
	stop()
	restore()
	if was != 800 || len(said) != 1 || !strings.Contains(said[0], "keeps GOGC=800 instead of GOGC=") {
		t.Errorf("GOGC was %d; said %q", was, said)
	}
	a.Control(agent.Control{GOGC: new(100)})
	if _, err := b.intervene(t.Context(), debug, record.Change{GOGC: 800}); err == nil {
		t.Error("a target that is gone was changed")
	}
}

func TestChangedAtTheStart(t *testing.T) {
	for _, c := range []struct {
		change *record.Change
		want   []string
	}{
		{nil, nil},
		{&record.Change{GOGC: 800}, []string{"GOGC=800"}},
		{&record.Change{Procs: 1}, []string{"GOMAXPROCS=1"}},
	} {
		if got := changed(c.change); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.change, got, c.want)
		}
	}
}
