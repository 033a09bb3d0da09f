// Package turns measures variants side by side, in slices of some tenths of a second: by how much
// work each does, and by votes on whether each meets the SLO at a rate. The analyses (capacity,
// compare) say when enough is decided.
//
// It is not for whole runs (package runs), nor for judging what the slices mean. Take owns every
// process and goroutine that it starts; all have ended when it returns.
package turns

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/generator"
	"dyno/lab/load"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/record/redact"
	"dyno/lab/scenario"
)

// Plan says what to measure in turns, and until when.
type Plan struct {
	Places []Place
	Pairs  [][2]Place // pairs to compare; nil: none
	Ends   time.Time  // when the turns must be over
	Rate   float64    // above 0: the rate of every SLO slice, per second
	Rounds int        // above 0: number of samples of every pair, instead of until it is decided
	Metric string     // the metric that decides a pair; empty: the work rate, or p99 at a rate
	Spare  bool       // a place other than the first that never starts is given up; otherwise that is an error

	Generator *generator.Generator
	Exp       *record.Experiment
	Token     string // bearer token of the target's debug address; empty: none
	// Slice reports a finished slice; left is the remaining time of the turns, which may end
	// earlier.
	Slice func(s record.Slice, left time.Duration)
}

// turns measures variants side by side: a generation starts all of them, and a block visits each
// once, in random order, for a slice of some tenths of a second. A disturbance longer than a
// block disturbs all alike; a shorter one costs a slice.
type turns struct {
	plan     Plan
	exp      *record.Experiment
	scenario *scenario.Scenario
	gen      *generator.Generator
	programs *environment.Programs
	rng      *rand.Rand
	given    map[Place]string  // places that were given up, with the reason
	warm     map[Place]float64 // peak work rate during warm-up, per second
	said     map[Place]string  // what a driver says about failures in the slices
	short    bool              // a warning says that the rows last for too few blocks
}

const (
	// warmSlices and warmTime bound the warm-up of a process before its first slice.
	warmSlices = 8
	warmTime   = 400 * time.Millisecond
	// addressTaken is in the log of a process that cannot bind its address (EADDRINUSE).
	addressTaken = "address already in use"
)

// Take measures the places until every comparison is decided or the time is used up. It returns
// the places that it gave up, each with the reason.
func Take(ctx context.Context, p Plan) (given map[Place]string, err error) {
	t := &turns{plan: p, exp: p.Exp, scenario: p.Generator.Scenario, gen: p.Generator, programs: p.Generator.Programs,
		rng: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)), given: map[Place]string{}, said: map[Place]string{}, warm: map[Place]float64{}}
	t.exp.InProgress = &record.InProgress{PID: os.Getpid(), Ends: p.Ends}
	folder.Save(t.exp)
	if t.scenario.OneAddress() && len(p.Places) > 1 && !t.scenario.Exclusive {
		t.programs.Say("the target listens at one address, so variants take turns by whole processes (exclusive)")
		t.scenario.Exclusive = true
	}
	defer t.explain()
	n := 0 // number of the newest generation
	for i := range t.exp.Slices {
		n = max(n, t.exp.Slices[i].Generation)
	}
	for !t.over() {
		n++
		round := t.generation
		if t.scenario.Exclusive {
			round = t.visits
		}
		if err := round(ctx, n); err != nil || !time.Now().Before(p.Ends) {
			return t.given, err
		}
	}
	return t.given, nil
}

// schedule returns the schedule after the slices so far.
func (t *turns) schedule() *schedule {
	return newSchedule(&t.plan, t.scenario, t.exp.Slices, t.given, t.warm)
}

// over reports whether the turns have ended.
func (t *turns) over() bool { return t.late() || t.schedule().over() }

// explain adds what the drivers said about failures to the experiment's warnings. A slice above the
// capacity may fail for other reasons than those below.
func (t *turns) explain() {
	for _, p := range t.plan.Places {
		if said := t.said[p]; said != "" && p.Role == record.RoleMeasure {
			t.exp.Warnings = append(t.exp.Warnings, fmt.Sprintf("%s, in slices below and above its capacity: %s", p, redact.Text(said)))
		}
	}
}

// late reports whether the time is used up. The first slice is taken all the same.
func (t *turns) late() bool { return !time.Now().Before(t.plan.Ends) && len(t.exp.Slices) > 0 }

// generation starts every place, for the n-th time, and gives them turns for a multiple of the time
// that the start took.
func (t *turns) generation(ctx context.Context, n int) error {
	began := time.Now()
	shared := t.programs.New(Folder(t.exp, fmt.Sprintf("%d-shared", n)), nil)
	defer shared.Down()
	if err := shared.UpShared(ctx); err != nil {
		return err
	}
	var seats []*seat
	defer func() {
		for _, s := range slices.Backward(seats) {
			s.close()
		}
	}()
	for _, p := range t.plan.Places {
		if t.given[p] != "" {
			continue
		}
		t.starting(n, p)
		s, err := t.seat(ctx, n, p, shared)
		if err != nil && len(seats) > 0 && strings.Contains(err.Error(), addressTaken) && ctx.Err() == nil {
			t.programs.Say("the variants listen at the same address, so they take turns by whole processes (exclusive)")
			t.scenario.Exclusive = true
			return nil
		}
		if err != nil {
			return err
		}
		if s != nil {
			seats = append(seats, s)
		}
		if t.late() {
			return nil
		}
	}
	started := time.Since(began)
	sat := time.Now()
	until := sat.Add(t.schedule().lasts(n, started, t.plan.Ends.Sub(sat)))
	for blocks := 0; len(t.exp.Slices) == 0 || !t.over() && time.Now().Before(until); blocks++ {
		err := t.takeBlock(ctx, seats)
		if used := (*usedUp)(nil); errors.As(err, &used) {
			return t.renew(used, blocks, time.Since(sat))
		}
		if err != nil {
			return err
		}
		seats = slices.DeleteFunc(seats, func(s *seat) bool {
			gone := t.given[s.place] != ""
			if gone {
				s.close()
			}
			return gone
		})
		if len(seats) == 0 {
			return nil
		}
	}
	return nil
}

// seat starts a place for the n-th time and warms it up. A place that fails to start is no longer
// measured, unless it never started: that is an error of the scenario.
func (t *turns) seat(ctx context.Context, n int, p Place, shared *environment.Environment) (*seat, error) {
	s, err := t.sit(ctx, n, p, shared)
	if err == nil {
		if err = t.warmUp(ctx, s); err != nil {
			s.close()
		}
	}
	switch {
	case err == nil:
		return s, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !t.plan.spares(p):
		if len(t.plan.Places) > 1 && !strings.HasPrefix(err.Error(), p.String()+": ") {
			err = fmt.Errorf("%s: %w", p, err)
		}
		return nil, err
	}
	t.giveUp(p, redact.Text(err.Error()))
	return nil, nil
}

// warmUp drives a process until it has worked for a while, and sets the number of requests of its
// work slices in this generation.
func (t *turns) warmUp(ctx context.Context, s *seat) error {
	if most := t.scenario.Load.MaxRate; most > 0 {
		t.warm[s.place] = most // its first slices warm it up
		return nil
	}
	p := s.plan()
	s.count = int64(2 * p.Connections)
	units := float64(p.Units)
	var worked time.Duration
	for i := 0; i < warmSlices && worked < warmTime; i++ {
		seen, err := s.work(ctx, s.count, firstLimit)
		if errors.Is(err, load.ErrUsedUp) {
			return &scenario.Fault{Err: fmt.Errorf("load.once: %s", s.requests.UsedUp(worked, warmTime))}
		}
		if err != nil {
			return err
		}
		if err := s.env.Ended(); err != nil {
			return err
		}
		if s.noSuccess != "" {
			return fmt.Errorf("%s: %w", s.place, generator.Failing(s.noSuccess))
		}
		if seen.Invalid != "" {
			return fmt.Errorf("%s: %s", s.place, seen.Invalid)
		}
		worked += seen.Length
		t.warm[s.place] = seen.PerS()
		// Each connection carries two requests if that is fast enough, else as many requests as
		// fit into longWork.
		perS := seen.PerS() / units
		n := max(perS*workLength.Seconds(), min(2*float64(p.Connections), perS*longWork.Seconds()))
		s.count = max(1, int64(math.Round(n)))
	}
	s.meter.FindPeers()
	return nil
}

// takeBlock visits every seat that is due, in random order, for a slice of one kind.
func (t *turns) takeBlock(ctx context.Context, seats []*seat) error {
	now := t.schedule()
	kind := now.kind()
	due := now.due(kind)
	visited := slices.DeleteFunc(slices.Clone(seats), func(s *seat) bool { return !slices.Contains(due, s.place) })
	t.rng.Shuffle(len(visited), func(i, j int) { visited[i], visited[j] = visited[j], visited[i] })
	defer load.PauseGC()()
	for _, s := range visited {
		if t.late() {
			return nil // the slices of this block count for the seats that were visited
		}
		if err := t.take(ctx, s, kind, now.block+1); err != nil {
			return err
		}
	}
	return nil
}

// take drives and records one slice of a block.
func (t *turns) take(ctx context.Context, s *seat, kind string, block int) error {
	var out record.Slice
	var err error
	units := float64(s.plan().Units)
	if kind == record.SliceWork {
		if s.requests.Left() < s.count {
			return &usedUp{s}
		}
		expected := time.Duration(float64(s.count) * units / t.warm[s.place] * float64(time.Second))
		out, err = s.work(ctx, s.count, max(workSpare*expected, time.Second))
	} else {
		rate := t.rate(s.place)
		mean := rate / units * voteTime(rate).Seconds()
		const spread = 5 // standard deviations of a Poisson process
		if float64(s.requests.Left()) < mean+spread*math.Sqrt(mean) {
			return &usedUp{s}
		}
		out, err = s.vote(ctx, rate, block)
	}
	if ctx.Err() != nil {
		return ctx.Err() // half a slice has no result
	}
	if errors.Is(err, load.ErrUsedUp) {
		return &usedUp{s}
	}
	if died := s.env.Ended(); died != nil {
		out.Invalid, err = redact.Text(died.Error()), nil
	}
	if err != nil {
		return err
	}
	out.Block = block
	out.At = time.Now().Add(time.Duration(out.Start - monotonic.Now()))
	folder.AddSlice(t.exp, out)
	if why := failing(t.exp.Slices, s.place); why != "" {
		t.giveUp(s.place, why)
	}
	t.plan.Slice(out, time.Until(t.plan.Ends))
	return nil
}

// giveUp excludes a place from now on: its slices so far count.
func (t *turns) giveUp(p Place, why string) {
	t.given[p] = why
	t.warn(fmt.Sprintf("%s is no longer measured: %s", p, why))
}

// warn reports a warning, which the record keeps.
func (t *turns) warn(text string) {
	t.exp.Warnings = append(t.exp.Warnings, text)
	t.programs.Say(text)
}

// rate returns the rate of a place's next SLO slice.
func (t *turns) rate(p Place) float64 {
	if t.plan.Rate > 0 {
		return t.plan.Rate
	}
	return nextRate(t.exp.Slices, p, t.warm[p], t.scenario.MostRate(), t.rng.Float64())
}

// starting reports that a place is started for the n-th time, unless it was reported before.
func (t *turns) starting(n int, p Place) {
	if n == 1 && t.scenario.Target.URL == "" {
		t.programs.Say("starting " + p.String())
	}
}
