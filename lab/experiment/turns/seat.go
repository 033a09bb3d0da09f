package turns

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"dyno/lab/compare"
	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/generator"
	"dyno/lab/probe/profiling"
	"dyno/lab/probe/usage"
	"dyno/lab/record"
	"dyno/lab/scenario"
)

// Place is a variant in a role that takes turns: the baseline has a twin in another role.
type Place compare.Side

func (p Place) String() string {
	switch p.Role {
	case record.RoleFloor:
		return p.Variant + " (twin)"
	case record.RoleAblation:
		return "without " + p.Variant
	}
	return p.Variant
}

// seat is one process of a place, with its companions, warm between its turns. A service that
// already runs at a URL is a seat as well, but is neither started nor stopped.
type seat struct {
	place    Place
	turns    *turns
	variant  scenario.Variant
	env      *environment.Environment
	run      *record.Run        // the part that all slices of the seat share: target, load, SLO
	requests generator.Requests // they bear the seat's name
	debug    profiling.Address  // the target's; without a URL, it has none
	seq      uint64             // the next offer's number
	count    int64              // number of requests in a work slice
	// noSuccess says that every request of the last work slice failed, and how; empty: one succeeded.
	noSuccess string
	meter     *usage.Meter
}

// sit starts a place's process for the n-th generation and sets it up.
func (t *turns) sit(ctx context.Context, n int, p Place, shared *environment.Environment) (*seat, error) {
	step := record.Step{Role: p.Role, Variant: p.Variant, Round: n}
	variant, err := t.programs.Variant(step)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%d-%s", n, p)
	s := &seat{place: p, turns: t, variant: variant, env: t.programs.New(Folder(t.exp, name), shared)}
	s.run = &record.Run{ID: name, Step: step, Started: time.Now(), SLO: t.exp.SLO, Machine: t.exp.Machine}
	if err := s.open(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *seat) open(ctx context.Context) error {
	err := s.env.Up(ctx)
	if err != nil {
		return err
	}
	var debug string
	if s.run.Target, debug, err = s.env.Prepare(ctx, s.variant, nil); err != nil {
		return err
	}
	if s.debug, err = s.turns.gen.Debug(debug, s.turns.plan.Token); err != nil {
		return err
	}
	if s.requests, err = s.turns.gen.Requests(ctx, s.env, s.variant, s.run); err != nil {
		return err
	}
	s.meter = usage.NewMeter(usage.Processes{PID: s.run.Target.PID, Companions: s.env.CompanionPIDs(), Self: os.Getpid(), Helpers: s.turns.gen.PIDs()})
	return nil
}

// close stops the processes that the seat started, and keeps what its driver says about failures.
func (s *seat) close() {
	s.env.Down()
	if said := s.requests.Notes(); len(said) > 0 {
		s.turns.said[s.place] = said[0]
	}
}

// Folder returns the folder of an environment for some turns.
func Folder(exp *record.Experiment, name string) string {
	return filepath.Join(exp.Dir, "turns", fileName(name))
}

// fileName turns a user's name into a folder's name.
func fileName(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' {
			return c
		}
		return '-'
	}, s)
}

// seedOfSlice gives every place of a block the same arrivals.
func (t *turns) seedOfSlice(block int) uint64 {
	return generator.Seed(0, t.scenario.Name+"/"+strconv.FormatUint(t.scenario.Load.Schedule.Seed, 10), block)
}
