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
	"sort"
	"strings"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/capacity"
	"dyno/lab/capacity/knee"
	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/generator"
	"dyno/lab/load"
	"dyno/lab/load/pacing"
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

	*generator.Generator
	Exp   *record.Experiment
	Token string // bearer token of the target's debug address; empty: none
	// Slice reports a finished slice; left is the remaining time of the turns, which may end
	// earlier.
	Slice func(s record.Slice, left time.Duration)
}

// turns measures variants side by side: a generation starts all of them, and a block visits each
// once, in random order, for a slice of some tenths of a second. A disturbance longer than a
// block disturbs all alike; a shorter one costs a slice.
type turns struct {
	Plan
	rng      *rand.Rand
	number   int // number of the generation
	block    int
	failures map[Place]int // failures in a row
	given    map[Place]string
	spent    map[string]time.Duration // time by kind of slice
	warm     map[Place]float64        // peak work rate during warm-up, per second
	taken    taken                    // summary of the slices so far
	said     map[Place]string         // what a driver says about failures in the slices
	short    bool                     // a warning says that the rows last for too few blocks
}

const (
	// leastGenerations is the minimum number of process restarts: a difference between two
	// processes of the same program (such as their memory layout) is not a difference of the
	// program.
	leastGenerations = 2
	// A generation lasts startShare times as long as its start, so that starts take little of the
	// time, and at least leastGeneration. Where the time is too short for leastGenerations of them,
	// shortShare times as long is enough for a comparison of two sides.
	leastGeneration = 20 * time.Second
	startShare      = 8
	shortShare      = 2
	// warmSlices and warmTime bound the warm-up of a process before its first slice.
	warmSlices = 8
	warmTime   = 400 * time.Millisecond
	// mostFailures is the number of failed slices in a row after which a place is no longer
	// measured.
	mostFailures = 3
	// settledEvery is the interval of blocks in which decided comparisons still take part; the
	// others get the time.
	settledEvery = 3
	// voteShare is the share of the time that SLO slices take.
	voteShare = 1.0 / 3
	// enoughVotes is the number of SLO slices that a variant needs before an experiment with
	// decided comparisons ends early, and enoughBatches the number of its blocks: 4 batches of 5.
	enoughVotes  = 16
	enoughBlocks = 20
	// visitWork and visitVotes are the numbers of slices per turn of a variant that is started
	// for its turn.
	visitWork  = 6
	visitVotes = 4
	// addressTaken is in the log of a process that cannot bind its address (EADDRINUSE).
	addressTaken = "address already in use"
)

// Take measures the places until every comparison is decided or the time is used up. It returns
// the places that it gave up, each with the reason.
func Take(ctx context.Context, p Plan) (given map[Place]string, err error) {
	t := &turns{Plan: p, rng: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)),
		failures: map[Place]int{}, given: map[Place]string{}, said: map[Place]string{}, spent: map[string]time.Duration{}, warm: map[Place]float64{}}
	for _, s := range p.Exp.Slices {
		t.block, t.number = max(t.block, s.Block), max(t.number, s.Generation)
	}
	t.look()
	p.Exp.InProgress = &record.InProgress{PID: os.Getpid(), Ends: p.Ends}
	folder.Save(p.Exp)
	if t.Scenario.OneAddress() && len(p.Places) > 1 && !t.Scenario.Exclusive {
		p.Programs.Say("the target listens at one address, so variants take turns by whole processes (exclusive)")
		t.Scenario.Exclusive = true
	}
	defer t.explain()
	for !t.over() {
		t.number++
		round := t.generation
		if t.Scenario.Exclusive {
			round = t.visits
		}
		if err := round(ctx); err != nil || !time.Now().Before(p.Ends) {
			return t.given, err
		}
	}
	return t.given, nil
}

// explain adds what the drivers said about failures to the experiment's warnings. A slice above the
// capacity may fail for other reasons than those below.
func (t *turns) explain() {
	for _, p := range t.Places {
		if said := t.said[p]; said != "" && p.Role == record.RoleMeasure {
			t.Exp.Warnings = append(t.Exp.Warnings, fmt.Sprintf("%s, in slices below and above its capacity: %s", p, redact.Text(said)))
		}
	}
}

// late reports whether the time is used up. The first slice is taken all the same.
func (t *turns) late() bool { return !time.Now().Before(t.Ends) && len(t.Exp.Slices) > 0 }

// running reports whether the target already runs, so that it cannot be restarted.
func (t *turns) running() bool { return t.Scenario.Target.URL != "" }

// generation starts every place and gives them turns for a multiple of the time that the start
// took.
func (t *turns) generation(ctx context.Context) error {
	began := time.Now()
	shared := t.Programs.New(Folder(t.Exp, fmt.Sprintf("%d-shared", t.number)), nil)
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
	for _, p := range t.Places {
		if t.given[p] != "" {
			continue
		}
		t.say("starting " + p.String())
		s, err := t.seat(ctx, p, shared)
		if err != nil && len(seats) > 0 && strings.Contains(err.Error(), addressTaken) && ctx.Err() == nil {
			t.Programs.Say("the variants listen at the same address, so they take turns by whole processes (exclusive)")
			t.Scenario.Exclusive = true
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
	length := max(leastGeneration, startShare*started)
	sat, first := time.Now(), t.block
	if half := t.Ends.Sub(sat) / 2; t.number < leastGenerations && t.ofTwo() && half >= shortShare*started {
		length = min(length, half)
	}
	until := sat.Add(length)
	if t.running() || t.Ends.Sub(until) < length/2 {
		until = t.Ends // the rest is too short for another generation
	}
	for len(t.Exp.Slices) == 0 || !t.over() && time.Now().Before(until) {
		err := t.takeBlock(ctx, seats)
		if used := (*usedUp)(nil); errors.As(err, &used) {
			return t.renew(used, t.block-first-1, time.Since(sat))
		}
		if err != nil {
			return err
		}
		seats = slices.DeleteFunc(seats, func(s *seat) bool {
			gone := t.given[s.Place] != ""
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

// ofTwo reports whether two sides are compared, beside a twin of the baseline. Their blocks are
// short, and with one generation the comparison would be one of two processes, not of two programs.
// A short ladder needs the time of a second start for its blocks.
func (t *turns) ofTwo() bool { return len(t.Pairs) > 0 && len(t.Places) <= 3 }

// seat starts a place and warms it up. A place that fails to start is no longer measured, unless
// it never started: that is an error of the scenario.
func (t *turns) seat(ctx context.Context, p Place, shared *environment.Environment) (*seat, error) {
	s, err := t.sit(ctx, p, shared)
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
	case len(t.Exp.Slices) == 0 && !(t.Spare && p != t.Places[0]):
		if len(t.Places) > 1 && !strings.HasPrefix(err.Error(), p.String()+": ") {
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
	if t.capped() {
		t.warm[s.Place] = t.Scenario.Load.MaxRate // its first slices warm it up
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
			return fmt.Errorf("%s: %w", s.Place, generator.Failing(s.noSuccess))
		}
		if seen.Invalid != "" {
			return fmt.Errorf("%s: %s", s.Place, seen.Invalid)
		}
		worked += seen.Length
		t.warm[s.Place] = seen.PerS()
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
	t.block++
	defer t.look()
	kind := t.kind()
	visited := slices.DeleteFunc(slices.Clone(seats), func(s *seat) bool { return !t.due(s.Place, kind) })
	t.rng.Shuffle(len(visited), func(i, j int) { visited[i], visited[j] = visited[j], visited[i] })
	defer pacing.PauseGC()()
	for _, s := range visited {
		if t.late() {
			return nil // the slices of this block count for the seats that were visited
		}
		if err := t.take(ctx, s, kind); err != nil {
			return err
		}
	}
	return nil
}

// take drives and records one slice.
func (t *turns) take(ctx context.Context, s *seat, kind string) error {
	began := time.Now()
	var out record.Slice
	var err error
	units := float64(s.plan().Units)
	if kind == record.SliceWork {
		if s.requests.Left() < s.count {
			return &usedUp{s}
		}
		expected := time.Duration(float64(s.count) * units / t.warm[s.Place] * float64(time.Second))
		out, err = s.work(ctx, s.count, max(workSpare*expected, time.Second))
	} else {
		rate := t.voteRate(s.Place)
		mean := rate / units * voteTime(rate).Seconds()
		const spread = 5 // standard deviations of a Poisson process
		if float64(s.requests.Left()) < mean+spread*math.Sqrt(mean) {
			return &usedUp{s}
		}
		out, err = s.vote(ctx, rate, t.block)
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
	out.Block = t.block
	out.At = time.Now().Add(time.Duration(out.Start - monotonic.Now()))
	t.spent[kind] += time.Since(began)
	if out.Invalid == "" {
		t.failures[s.Place] = 0
	} else if t.failures[s.Place]++; t.failures[s.Place] >= mostFailures {
		t.giveUp(s.Place, out.Invalid)
	}
	folder.AddSlice(t.Exp, out)
	t.Slice(out, time.Until(t.Ends))
	return nil
}

// giveUp excludes a place from now on: its slices so far count.
func (t *turns) giveUp(p Place, why string) {
	t.given[p] = why
	text := fmt.Sprintf("%s is no longer measured: %s", p, why)
	t.Exp.Warnings = append(t.Exp.Warnings, text)
	t.Programs.Say(text)
}

// voteRate returns the rate of a place's next SLO slice.
func (t *turns) voteRate(p Place) float64 {
	if t.Rate > 0 {
		return t.Rate
	}
	votes, _ := capacity.VotesOf(t.Exp.Slices, p.Role, p.Variant)
	return knee.NextRate(votes, t.peak(p), t.Scenario.MostRate(), t.rng.Float64())
}

// peak returns a place's peak work rate: the median of its work slices, or the rate of its
// warm-up.
func (t *turns) peak(p Place) float64 {
	work := t.Exp.SlicesOf(record.SliceWork, func(s *record.Slice) bool {
		return s.Role == p.Role && s.Variant == p.Variant && s.Invalid == ""
	})
	if len(work) == 0 {
		return t.warm[p]
	}
	rates := make([]float64, len(work))
	for i, s := range work {
		rates[i] = s.PerS()
	}
	sort.Float64s(rates)
	return rates[len(rates)/2]
}

func (t *turns) say(text string) {
	if t.number == 1 && !t.running() {
		t.Programs.Say(text)
	}
}
