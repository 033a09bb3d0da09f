package experiment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/record"
)

// turns measures variants side by side: a generation starts all of them, and a block visits each
// once, in random order, for a slice of some tenths of a second. A disturbance longer than a
// block disturbs all alike; a shorter one costs a slice.
type turns struct {
	*executor
	places   []place
	pairs    [][2]place // pairs to compare; nil: none
	ends     time.Time  // when the turns must be over
	rng      *rand.Rand
	number   int // number of the generation
	block    int
	failures map[place]int // failures in a row
	given    map[place]string
	spent    map[string]time.Duration // time by kind of slice
	rate     float64                  // above 0: the rate of every SLO slice, per second
	warm     map[place]float64        // peak work rate during warm-up, per second
	taken    taken                    // summary of the slices so far
}

const (
	// leastGenerations is the minimum number of process restarts: a difference between two
	// processes of the same program (such as their memory layout) is not a difference of the
	// program.
	leastGenerations = 2
	// A generation lasts startShare times as long as its start, so that starts take little of the
	// time, and at least leastGeneration.
	leastGeneration = 20 * time.Second
	startShare      = 8
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
)

// takeTurns measures the places until every comparison is decided or the time is used up.
func (x *executor) takeTurns(ctx context.Context, places []place, pairs [][2]place, ends time.Time, rate float64) error {
	t := &turns{executor: x, places: places, pairs: pairs, ends: ends, rate: rate, rng: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)),
		failures: map[place]int{}, given: map[place]string{}, spent: map[string]time.Duration{}, warm: map[place]float64{}}
	for _, s := range x.exp.Slices {
		t.block, t.number = max(t.block, s.Block), max(t.number, s.Generation)
	}
	t.look()
	x.exp.InProgress = &record.InProgress{PID: os.Getpid(), Ends: ends}
	if err := x.exp.Save(); err != nil {
		return err
	}
	if x.oneAddress() && len(places) > 1 && !x.Scenario.Exclusive {
		x.Progress.Say("the target listens at one address, so variants take turns by whole processes (exclusive)")
		x.Scenario.Exclusive = true
	}
	round := t.generation
	if x.Scenario.Exclusive {
		round = t.visits
	}
	for !t.over() {
		t.number++
		if err := round(ctx); err != nil || !time.Now().Before(ends) {
			return err
		}
	}
	return nil
}

// oneAddress reports whether every variant uses the same address, so that two cannot be up
// concurrently.
func (x *executor) oneAddress() bool {
	return x.Scenario.Target.URL == "" && !strings.Contains(x.Scenario.Load.URL, "${")
}

// running reports whether the target already runs, so that it cannot be restarted.
func (t *turns) running() bool { return t.Scenario.Target.URL != "" }

// generation starts every place and gives them turns for a multiple of the time that the start
// took.
func (t *turns) generation(ctx context.Context) error {
	began := time.Now()
	shared, err := t.runner.shared(ctx, t.exp, t.number)
	if err != nil {
		return err
	}
	defer shared.down()
	var seats []*seat
	defer func() {
		for _, s := range slices.Backward(seats) {
			s.close()
		}
	}()
	for _, p := range t.places {
		if t.given[p] != "" {
			continue
		}
		t.say("starting " + p.String())
		s, err := t.seat(ctx, p, shared)
		if err != nil {
			return err
		}
		if s != nil {
			seats = append(seats, s)
		}
		if !time.Now().Before(t.ends) && len(t.exp.Slices) > 0 {
			return nil
		}
	}
	length := max(leastGeneration, startShare*time.Since(began))
	until := time.Now().Add(length)
	if t.running() || t.ends.Sub(until) < length/2 {
		until = t.ends // the rest is too short for another generation
	}
	for len(t.exp.Slices) == 0 || !t.over() && time.Now().Before(until) {
		if err := t.takeBlock(ctx, seats); err != nil {
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

// seat starts a place and warms it up. A place that fails to start is no longer measured, unless
// it never started: that is an error of the scenario.
func (t *turns) seat(ctx context.Context, p place, shared *environment) (*seat, error) {
	s, err := t.runner.sit(ctx, p, t.number, shared, t.exp)
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
	case len(t.exp.Slices) == 0:
		return nil, err
	}
	t.giveUp(p, record.Redact(err.Error()))
	return nil, nil
}

// warmUp drives a process until it has worked for a while, and sets the number of requests of its
// work slices in this generation.
func (t *turns) warmUp(ctx context.Context, s *seat) error {
	if t.capped() {
		t.warm[s.place] = t.Scenario.Load.MaxRate // its first slices warm it up
		return nil
	}
	connections := float64(s.plan().Connections)
	s.requests = int64(2 * connections)
	var worked time.Duration
	for i := 0; i < warmSlices && worked < warmTime; i++ {
		seen, err := s.work(ctx, s.requests, firstLimit)
		if err != nil {
			return err
		}
		if err := s.ended(); err != nil {
			return err
		}
		if seen.Invalid != "" {
			return fmt.Errorf("%s: %s", s.place, seen.Invalid)
		}
		worked += seen.Length
		t.warm[s.place] = seen.PerS()
		// Each connection carries two requests if that is fast enough, else as many requests as
		// fit into longWork.
		n := max(seen.PerS()*workLength.Seconds(), min(2*connections, seen.PerS()*longWork.Seconds()))
		s.requests = max(1, int64(math.Round(n)))
	}
	s.meter.FindPeers()
	return nil
}

// takeBlock visits every seat that is due, in random order, for a slice of one kind.
func (t *turns) takeBlock(ctx context.Context, seats []*seat) error {
	t.block++
	defer t.look()
	kind := t.kind()
	visited := slices.DeleteFunc(slices.Clone(seats), func(s *seat) bool { return !t.due(s.place, kind) })
	t.rng.Shuffle(len(visited), func(i, j int) { visited[i], visited[j] = visited[j], visited[i] })
	defer pauseGC()()
	for _, s := range visited {
		if !time.Now().Before(t.ends) && len(t.exp.Slices) > 0 {
			return nil // the slices of this block count for the seats that were visited
		}
		if err := t.take(ctx, s, kind); err != nil {
			return err
		}
	}
	return nil
}

// visits gives turns to variants that cannot run side by side, by whole processes: each is
// started, takes some slices and is stopped.
func (t *turns) visits(ctx context.Context) error {
	t.block++
	defer t.look()
	order := slices.Clone(t.places)
	t.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, p := range order {
		if !time.Now().Before(t.ends) && len(t.exp.Slices) > 0 {
			return nil
		}
		if t.number > 1 && !t.due(p, record.SliceWork) || t.given[p] != "" {
			continue
		}
		if err := t.visit(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (t *turns) visit(ctx context.Context, p place) error {
	shared, err := t.runner.shared(ctx, t.exp, t.number)
	if err != nil {
		return err
	}
	defer shared.down()
	t.say("starting " + p.String())
	s, err := t.seat(ctx, p, shared)
	if s == nil || err != nil {
		return err
	}
	defer s.close()
	defer pauseGC()()
	var kinds []string
	switch {
	case t.rate > 0:
		kinds = slices.Repeat([]string{record.SliceSLO}, visitWork)
	case !t.capped():
		kinds = slices.Repeat([]string{record.SliceWork}, visitWork)
	}
	if t.rate == 0 && t.bounded() && p.role != record.RoleFloor {
		kinds = append(kinds, slices.Repeat([]string{record.SliceSLO}, visitVotes)...)
	}
	t.rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	for _, kind := range kinds {
		if t.given[p] != "" || !time.Now().Before(t.ends) && len(t.exp.Slices) > 0 {
			return nil
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
	if kind == record.SliceWork {
		expected := time.Duration(float64(s.requests) / t.warm[s.place] * float64(time.Second))
		out, err = s.work(ctx, s.requests, max(workSpare*expected, time.Second))
	} else {
		out, err = s.vote(ctx, t.voteRate(s.place), t.block)
	}
	if ctx.Err() != nil {
		return ctx.Err() // half a slice has no result
	}
	if died := s.ended(); died != nil {
		out.Invalid, err = record.Redact(died.Error()), nil
	}
	if err != nil {
		return err
	}
	out.Block = t.block
	t.spent[kind] += time.Since(began)
	if out.Invalid == "" {
		t.failures[s.place] = 0
	} else if t.failures[s.place]++; t.failures[s.place] >= mostFailures {
		t.giveUp(s.place, out.Invalid)
	}
	if err := t.exp.AddSlice(out); err != nil {
		return err
	}
	t.Progress.Slice(out, time.Until(t.ends))
	return nil
}

// giveUp excludes a place from now on: its slices so far count.
func (t *turns) giveUp(p place, why string) {
	t.given[p] = why
	if p.role == record.RoleMeasure {
		t.lost[p.variant] = true
	}
	text := fmt.Sprintf("%s is no longer measured: %s", p, why)
	t.exp.Warnings = append(t.exp.Warnings, text)
	t.Progress.Say(text)
}

// voteRate returns the rate of a place's next SLO slice.
func (t *turns) voteRate(p place) float64 {
	if t.rate > 0 {
		return t.rate
	}
	votes, _ := capacity.VotesOf(t.exp.Slices, p.role, p.variant)
	return capacity.NextRate(votes, t.peak(p), t.mostRate(), t.rng.Float64())
}

// mostRate returns the highest permitted rate, per second; 0: no limit.
func (x *executor) mostRate() float64 {
	most := x.Scenario.Measure.MaxRate
	if limit := x.Scenario.Load.MaxRate; limit > 0 && (most == 0 || limit < most) {
		most = limit
	}
	return most
}

// peak returns a place's peak work rate: the median of its work slices, or the rate of its
// warm-up.
func (t *turns) peak(p place) float64 {
	work := t.exp.SlicesOf(record.SliceWork, func(s *record.Slice) bool {
		return s.Role == p.role && s.Variant == p.variant && s.Invalid == ""
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
		t.Progress.Say(text)
	}
}
