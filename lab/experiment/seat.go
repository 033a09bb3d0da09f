package experiment

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"dyno/lab/compare"
	"dyno/lab/load"
	"dyno/lab/load/receipts"
	"dyno/lab/probe"
	"dyno/lab/record"
	"dyno/lab/scenario"
)

// place is a variant in a role that takes turns: the baseline has a twin in another role.
type place struct{ role, variant string }

func (p place) String() string {
	switch p.role {
	case record.RoleFloor:
		return p.variant + " (twin)"
	case record.RoleAblation:
		return "without " + p.variant
	}
	return p.variant
}

func (p place) side() compare.Side { return compare.Side{Role: p.role, Variant: p.variant} }

// seat is one process of a place, with its companions, warm between its turns. A service that
// already runs at a URL is a seat as well, but is neither started nor stopped.
type seat struct {
	place
	runner   *runner
	env      *environment
	run      *record.Run // the part that all slices of the seat share: target, load, SLO
	drive    *drive      // engine and debug address
	name     string      // name of the seat in request bodies
	seq      uint64      // the next offer's number
	requests int64       // number of requests in a work slice
	meter    *probe.Meter
}

// sit starts a place's process for a generation and sets it up.
func (b *runner) sit(ctx context.Context, p place, generation int, shared *environment, exp *record.Experiment) (*seat, error) {
	step := record.Step{Role: p.role, Variant: p.variant, Round: generation}
	variant, err := b.variant(step)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%d-%s", generation, p)
	s := &seat{place: p, runner: b}
	if s.env, err = b.environment(exp, name, shared); err != nil {
		return nil, err
	}
	s.run = &record.Run{ID: name, Step: step, Started: time.Now(), SLO: exp.SLO, Machine: exp.Machine}
	if err := s.open(ctx, variant); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *seat) open(ctx context.Context, v scenario.Variant) error {
	if err := s.env.up(ctx, s.runner.companions(false)); err != nil {
		return err
	}
	s.drive = &drive{close: func() {}}
	t := s.runner.Scenario.TargetOf(v)
	if err := s.runner.startTarget(ctx, s.env, t, s.run); err != nil {
		return err
	}
	var err error
	if s.drive.debug, err = s.env.debugOf(t); err != nil {
		return err
	}
	if err := s.env.setup(ctx, s.runner.Scenario.SetupOf(v)); err != nil {
		return err
	}
	if err := s.runner.makeRequests(s.env, v, s.run, s.drive); err != nil {
		return err
	}
	s.name = s.drive.run
	s.meter = probe.NewMeter(probe.Options{PID: s.run.Target.PID, Companions: s.env.companionPIDs(), Self: os.Getpid()})
	return nil
}

// close stops the processes that the seat started.
func (s *seat) close() { s.env.down() }

// ended returns an error if the target ended although it was not stopped.
func (s *seat) ended() error { return s.runner.died(s.env.target) }

// receipts opens the sink's stream of receipts for one slice, if the load has one.
func (s *seat) receipts(ctx context.Context) (follow []load.Receipts, end func(), err error) {
	address := s.runner.Scenario.Load.Receipts
	if address == "" {
		return nil, func() {}, nil
	}
	if address, err = s.env.expand("load.receipts", strings.ReplaceAll(address, "${run}", s.name)); err != nil {
		return nil, nil, err
	}
	stream, err := receipts.Dial(ctx, address, s.name)
	if err != nil {
		return nil, nil, err
	}
	return []load.Receipts{stream.Follow}, stream.Close, nil
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
func (s *seat) seedOfSlice(block int) uint64 {
	return seedOf(0, s.runner.Scenario.Name+"/"+strconv.FormatUint(s.runner.Scenario.Load.Schedule.Seed, 10), block)
}
