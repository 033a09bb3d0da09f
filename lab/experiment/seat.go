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

// place is a variant that takes turns: in a role, since the baseline has a twin.
type place struct{ role, variant string }

func (p place) String() string {
	switch p.role {
	case record.RoleFloor:
		return p.variant + " (twin)"
	case record.RoleLeave:
		return "without " + p.variant
	}
	return p.variant
}

func (p place) side() compare.Side { return compare.Side{Role: p.role, Variant: p.variant} }

// seat is one process of a place, with what stands beside it, warm between its turns. What runs already at a URL is a
// seat as well, but is neither started nor stopped.
type seat struct {
	place
	bench    *bench
	stand    *stand
	run      *record.Run // what all slices of the seat have in common: target, load, SLO
	drive    *drive      // engine and debug address
	name     string      // of the seat in request bodies
	seq      uint64      // the next offer's number
	requests int64       // of a work slice
	meter    *probe.Meter
}

// sit starts a place's process for a generation and sets it up.
func (b *bench) sit(ctx context.Context, p place, generation int, shared *stand, exp *record.Experiment) (*seat, error) {
	step := record.Step{Role: p.role, Variant: p.variant, Round: generation}
	variant, err := b.variant(step)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%d-%s", generation, p)
	s := &seat{place: p, bench: b}
	if s.stand, err = b.stand(exp, name, shared); err != nil {
		return nil, err
	}
	s.run = &record.Run{ID: name, Step: step, Started: time.Now(), SLO: exp.SLO, Machine: exp.Machine}
	if err := s.open(ctx, variant, shared); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *seat) open(ctx context.Context, v scenario.Variant, shared *stand) error {
	if err := s.stand.up(ctx, s.bench.companions(false)); err != nil {
		return err
	}
	s.drive = &drive{close: func() {}}
	t := s.bench.Scenario.TargetOf(v)
	if err := s.bench.startTarget(ctx, s.stand, t, s.run); err != nil {
		return err
	}
	var err error
	if s.drive.debug, err = s.stand.debugOf(t); err != nil {
		return err
	}
	if err := s.stand.setup(ctx, s.bench.Scenario.SetupOf(v)); err != nil {
		return err
	}
	if err := s.bench.makeRequests(s.stand, v, s.run, s.drive); err != nil {
		return err
	}
	s.name = s.drive.run
	s.meter = probe.NewMeter(probe.Options{PID: s.run.Target.PID, Companions: append(s.stand.companionPIDs(), shared.companionPIDs()...), Self: os.Getpid()})
	return nil
}

// close stops what the seat started.
func (s *seat) close() { s.stand.down() }

// ended returns an error if the target ended although it was not stopped.
func (s *seat) ended() error { return s.bench.died(s.stand.target) }

// receipts opens the sink's stream of receipts for one slice, if the load has one.
func (s *seat) receipts(ctx context.Context) (follow []load.Receipts, end func(), err error) {
	address := s.bench.Scenario.Load.Receipts
	if address == "" {
		return nil, func() {}, nil
	}
	if address, err = s.stand.expand("load.receipts", strings.ReplaceAll(address, "${run}", s.name)); err != nil {
		return nil, nil, err
	}
	stream, err := receipts.Dial(ctx, address, s.name)
	if err != nil {
		return nil, nil, err
	}
	return []load.Receipts{stream.Follow}, stream.Close, nil
}

// fileName makes a folder's name of what users call something.
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
	return seedOf(0, s.bench.Scenario.Name+"/"+strconv.FormatUint(s.bench.Scenario.Load.Schedule.Seed, 10), block)
}
