package turns

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"dyno/lab/compare"
	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/generator"
	"dyno/lab/probe/host"
	"dyno/lab/probe/profiling"
	"dyno/lab/probe/usage"
	"dyno/lab/record"
	"dyno/lab/scenario"
)

// Arm is a variant in one of the roles that take turns. The baseline has two arms: itself, and
// its control, which is a second process of the same program.
type Arm compare.Arm

func (p Arm) String() string {
	switch p.Role {
	case record.RoleControl:
		return p.Variant + " (twin)"
	case record.RoleAblation:
		return "without " + p.Variant
	}
	return p.Variant
}

// instance is one process of an arm, with its dependencies; it stays warm between its turns. A
// service that the lab does not start is an instance as well, but is neither started nor stopped.
type instance struct {
	arm      Arm
	turns    *turns
	variant  scenario.Variant
	testbed  *environment.Testbed
	run      *record.Run        // what all slices of the instance share: target, load, SLO
	requests generator.Requests // their run name is the instance's
	debug    profiling.Address  // the target's; without a URL, the target has none
	seq      uint64             // sequence number of the next request
	count    int64              // number of requests in a work slice
	// noSuccess explains that every request of the last work slice failed; empty: one succeeded.
	noSuccess string
	meter     *usage.Meter
}

// start starts an arm's process for the n-th time and sets it up.
func (t *turns) start(ctx context.Context, n int, p Arm, shared *environment.Testbed) (*instance, error) {
	step := record.RunSpec{Role: p.Role, Variant: p.Variant, Round: n}
	variant, err := t.programs.Variant(step)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%d-%s", n, p)
	s := &instance{arm: p, turns: t, variant: variant, testbed: t.programs.New(Folder(t.exp, name), shared)}
	s.run = &record.Run{ID: name, Spec: step, Started: time.Now(), SLO: t.exp.SLO, Machine: t.exp.Machine}
	if err := s.open(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *instance) open(ctx context.Context) error {
	err := s.testbed.Up(ctx)
	if err != nil {
		return err
	}
	var debug string
	if s.run.Target, debug, err = s.testbed.Prepare(ctx, s.variant, nil); err != nil {
		return err
	}
	s.turns.measured(s.run.Target.PID)
	if s.debug, err = s.turns.gen.Debug(debug, s.turns.plan.Token); err != nil {
		return err
	}
	if s.requests, err = s.turns.gen.Requests(ctx, s.testbed, s.variant, s.run); err != nil {
		return err
	}
	s.meter = usage.NewMeter(usage.Processes{PID: s.run.Target.PID, Dependencies: s.testbed.DependencyPIDs(), Self: os.Getpid(), GeneratorPIDs: s.turns.gen.PIDs()})
	return nil
}

// measured notes the program of a process, the first time that it is measured.
func (t *turns) measured(pid int) {
	if pid == 0 {
		return
	}
	p := host.ProgramOf(pid)
	program := record.Program{Package: p.Package, Commit: p.Commit, Modified: p.Modified}
	if p.Package != "" && !slices.Contains(t.exp.Programs, program) {
		t.exp.Programs = append(t.exp.Programs, program)
	}
}

// close stops the processes that the instance started, and keeps its driver's first note on
// failures.
func (s *instance) close() {
	s.testbed.Down()
	if notes := s.requests.Notes(); len(notes) > 0 {
		s.turns.driverNotes[s.arm] = notes[0]
	}
}

// Folder returns the folder of a testbed that is used for turns.
func Folder(exp *record.Experiment, name string) string {
	return filepath.Join(exp.Dir, "turns", fileName(name))
}

// fileName turns a user's name into one that is valid for a folder.
func fileName(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' {
			return c
		}
		return '-'
	}, s)
}

// seedOfSlice returns the seed of the arrivals, which all arms of a round share.
func (t *turns) seedOfSlice(round int) uint64 {
	return generator.Seed(0, t.scenario.Name+"/"+strconv.FormatUint(t.scenario.Load.Schedule.Seed, 10), round)
}
