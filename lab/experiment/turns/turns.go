// Package turns measures variants concurrently, in alternating slices of some tenths of a second.
// Work slices measure how much work each variant does; SLO slices (trials) measure whether it
// meets the SLO at a chosen rate. The analyses (capacity, compare) say when enough is decided.
//
// It does not measure whole runs (package runs does), and does not judge what the slices mean.
// Take owns every process and goroutine that it starts; all have ended when it returns.
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

// Plan says what to measure in turns, and for how long.
type Plan struct {
	Arms          []Arm
	Comparisons   [][2]Arm  // pairs to compare; nil: none
	Ends          time.Time // the instant at which the turns must be over
	Rate          float64   // above 0: the rate of every SLO slice, per second
	Samples       int       // above 0: number of samples for every pair, which replaces the check whether the pair is decided
	Metric        string    // the metric that decides a pair; empty: the work rate or, at a fixed rate, p99
	DropUnstarted bool      // an arm other than the first that never starts is dropped; otherwise that is an error

	Generator *generator.Generator
	Exp       *record.Experiment
	Token     string // bearer token of the target's debug address; empty: none
	// Slice reports a finished slice; left is the remaining time of the turns, which may end
	// earlier.
	Slice func(s record.Slice, left time.Duration)
}

// turns measures variants in turns. All processes are started; each round visits each process
// once, in random order, for a slice of some tenths of a second. After some rounds all processes
// are restarted. A disturbance that lasts longer than a round affects all variants alike; a
// shorter one costs a slice.
type turns struct {
	plan        Plan
	exp         *record.Experiment
	scenario    *scenario.Scenario
	gen         *generator.Generator
	programs    *environment.Programs
	rng         *rand.Rand
	dropped     map[Arm]string  // arms that were dropped, with the reasons
	warm        map[Arm]float64 // peak work rate during warm-up, per second
	driverNotes map[Arm]string  // notes on failures in the slices
	short       bool            // a warning was given that the rows last for too few rounds
}

const (
	// warmSlices and warmTime bound the warm-up of a process before its first slice.
	warmSlices = 8
	warmTime   = 400 * time.Millisecond
	// addressTaken is in the log of a process that cannot bind its address (EADDRINUSE).
	addressTaken = "address already in use"
)

// Take measures the arms until every comparison is decided or the time is used up. It returns
// the arms that it dropped, each with the reason.
func Take(ctx context.Context, p Plan) (dropped map[Arm]string, err error) {
	t := &turns{plan: p, exp: p.Exp, scenario: p.Generator.Scenario, gen: p.Generator, programs: p.Generator.Programs,
		rng: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)), dropped: map[Arm]string{}, driverNotes: map[Arm]string{}, warm: map[Arm]float64{}}
	t.exp.InProgress = &record.InProgress{PID: os.Getpid(), Ends: p.Ends}
	folder.Save(t.exp)
	if t.scenario.OneAddress() && len(p.Arms) > 1 && !t.scenario.Exclusive {
		t.programs.Say("the target listens at one address, so variants take turns by whole processes (exclusive)")
		t.scenario.Exclusive = true
	}
	defer t.explain()
	n := 0 // number of the latest start of the processes
	for i := range t.exp.Slices {
		n = max(n, t.exp.Slices[i].Generation)
	}
	for !t.over() {
		n++
		measure := t.restart
		if t.scenario.Exclusive {
			measure = t.visits
		}
		if err := measure(ctx, n); err != nil || !time.Now().Before(p.Ends) {
			return t.dropped, err
		}
	}
	return t.dropped, nil
}

// schedule returns the schedule after the slices so far.
func (t *turns) schedule() *schedule {
	return newSchedule(&t.plan, t.scenario, t.exp.Slices, t.dropped, t.warm)
}

func (t *turns) over() bool { return t.outOfTime() || t.schedule().over() }

// explain adds the drivers' notes on failures to the experiment's warnings. A slice above the
// capacity may fail for another reason than a slice below it.
func (t *turns) explain() {
	for _, p := range t.plan.Arms {
		if note := t.driverNotes[p]; note != "" && p.Role == record.RoleMeasure {
			t.exp.Warnings = append(t.exp.Warnings, fmt.Sprintf("%s, in slices below and above its capacity: %s", p, redact.Text(note)))
		}
	}
}

// outOfTime reports whether the time is used up; even then the first slice is still taken.
func (t *turns) outOfTime() bool { return !time.Now().Before(t.plan.Ends) && len(t.exp.Slices) > 0 }

// restart starts the processes of all arms, for the n-th time, and lets them take turns for a
// multiple of the time that the start took.
func (t *turns) restart(ctx context.Context, n int) error {
	began := time.Now()
	shared := t.programs.New(Folder(t.exp, fmt.Sprintf("%d-shared", n)), nil)
	defer shared.Down()
	if err := shared.UpShared(ctx); err != nil {
		return err
	}
	var instances []*instance
	defer func() {
		for _, s := range slices.Backward(instances) {
			s.close()
		}
	}()
	for _, p := range t.plan.Arms {
		if t.dropped[p] != "" {
			continue
		}
		t.starting(n, p)
		s, err := t.startWarm(ctx, n, p, shared)
		if err != nil && len(instances) > 0 && strings.Contains(err.Error(), addressTaken) && ctx.Err() == nil {
			t.programs.Say("the variants listen at the same address, so they take turns by whole processes (exclusive)")
			t.scenario.Exclusive = true
			return nil
		}
		if err != nil {
			return err
		}
		if s != nil {
			instances = append(instances, s)
		}
		if t.outOfTime() {
			return nil
		}
	}
	started := time.Since(began)
	ready := time.Now()
	until := ready.Add(t.schedule().lasts(n, started, t.plan.Ends.Sub(ready)))
	for rounds := 0; len(t.exp.Slices) == 0 || !t.over() && time.Now().Before(until); rounds++ {
		err := t.takeRound(ctx, instances)
		if used := (*usedUp)(nil); errors.As(err, &used) {
			return t.renew(used, rounds, time.Since(ready))
		}
		if err != nil {
			return err
		}
		instances = slices.DeleteFunc(instances, func(s *instance) bool {
			gone := t.dropped[s.arm] != ""
			if gone {
				s.close()
			}
			return gone
		})
		if len(instances) == 0 {
			return nil
		}
	}
	return nil
}

// startWarm starts an arm for the n-th time and warms it up. It returns nil if the arm does not
// start and is dropped.
func (t *turns) startWarm(ctx context.Context, n int, p Arm, shared *environment.Testbed) (*instance, error) {
	s, err := t.start(ctx, n, p, shared)
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
	case !t.plan.dropsUnstarted(p):
		if len(t.plan.Arms) > 1 && !strings.HasPrefix(err.Error(), p.String()+": ") {
			err = fmt.Errorf("%s: %w", p, err)
		}
		return nil, err
	}
	t.drop(p, redact.Text(err.Error()))
	return nil, nil
}

// warmUp drives a process until it has worked for a while, and determines the number of requests
// in its work slices until the next restart.
func (t *turns) warmUp(ctx context.Context, s *instance) error {
	if most := t.scenario.Load.MaxRate; most > 0 {
		t.warm[s.arm] = most // its first slices serve as warm-up
		return nil
	}
	p := s.plan()
	s.count = int64(2 * p.Connections)
	var worked time.Duration
	invalid := ""
	for i := 0; i < warmSlices && worked < warmTime; i++ {
		seen, err := s.runFixed(ctx, s.count, firstLimit)
		if errors.Is(err, load.ErrUsedUp) {
			return &scenario.Fault{Err: fmt.Errorf("load.once: %s", s.requests.UsedUp(worked, warmTime))}
		}
		if err != nil {
			return err
		}
		if err := s.testbed.Ended(); err != nil {
			return err
		}
		if s.noSuccess != "" {
			return fmt.Errorf("%s: %w", s.arm, generator.Failing(s.noSuccess))
		}
		if seen.Invalid != "" { // as of an agent that was late once: the next may be better
			invalid = seen.Invalid
			continue
		}
		worked += seen.Length
		t.warm[s.arm] = seen.PerS()
		s.count = workRequests(seen, p.Connections, p.Units)
	}
	if worked == 0 && invalid != "" {
		return fmt.Errorf("%s: %s", s.arm, invalid)
	}
	s.meter.FindPeers()
	return nil
}

// workRequests returns the number of requests in a work slice, after one of them. Each connection carries two
// requests if those take no longer than longWork; otherwise there are as many requests as fit into
// longWork. So there are where most are refused: what a limiter saves up between slices carries a short one at
// more than its rate.
func workRequests(seen record.Slice, connections, units int) int64 {
	if seen.Length <= 0 {
		return 1
	}
	answered := float64(seen.Served+seen.Failed) / float64(units) / seen.Length.Seconds() // per second
	n := max(answered*workLength.Seconds(), min(2*float64(connections), answered*longWork.Seconds()))
	if seen.Failed > seen.Served {
		n = answered * longWork.Seconds()
	}
	return max(1, int64(math.Round(n)))
}

// takeRound visits every instance that is due, in random order, for one slice each, all of the
// same kind.
func (t *turns) takeRound(ctx context.Context, instances []*instance) error {
	now := t.schedule()
	kind := now.kind()
	due := now.due(kind)
	visited := slices.DeleteFunc(slices.Clone(instances), func(s *instance) bool { return !slices.Contains(due, s.arm) })
	t.rng.Shuffle(len(visited), func(i, j int) { visited[i], visited[j] = visited[j], visited[i] })
	defer load.PauseGC()()
	for _, s := range visited {
		if t.outOfTime() {
			return nil // the slices that this round has taken count
		}
		if err := t.take(ctx, s, kind, now.round+1); err != nil {
			return err
		}
	}
	return nil
}

// take drives and records one slice of a round.
func (t *turns) take(ctx context.Context, s *instance, kind string, round int) error {
	var out record.Slice
	var err error
	units := float64(s.plan().Units)
	if kind == record.SliceWork {
		if s.requests.Left() < s.count {
			return &usedUp{s}
		}
		expected := time.Duration(float64(s.count) * units / t.warm[s.arm] * float64(time.Second))
		out, err = s.runFixed(ctx, s.count, max(workSpare*expected, time.Second))
	} else {
		rate := t.rate(s.arm)
		mean := rate / units * trialTime(rate).Seconds()
		const spread = 5 // standard deviations of a Poisson process
		if float64(s.requests.Left()) < mean+spread*math.Sqrt(mean) {
			return &usedUp{s}
		}
		out, err = s.runAtRate(ctx, rate, round)
	}
	if ctx.Err() != nil {
		return ctx.Err() // a slice that was cut off has no result
	}
	if errors.Is(err, load.ErrUsedUp) {
		return &usedUp{s}
	}
	if died := s.testbed.Ended(); died != nil {
		out.Invalid, err = redact.Text(died.Error()), nil
	}
	if err != nil {
		return err
	}
	out.Block = round
	out.At = time.Now().Add(time.Duration(out.Start - monotonic.Now()))
	folder.AddSlice(t.exp, out)
	if why := failing(t.exp.Slices, s.arm); why != "" {
		t.drop(s.arm, why)
	}
	t.plan.Slice(out, time.Until(t.plan.Ends))
	return nil
}

// drop stops measuring an arm; its slices so far count.
func (t *turns) drop(p Arm, why string) {
	t.dropped[p] = why
	t.warn(fmt.Sprintf("%s is no longer measured: %s", p, why))
}

// warn reports a warning and adds it to the record.
func (t *turns) warn(text string) {
	t.exp.Warnings = append(t.exp.Warnings, text)
	t.programs.Say(text)
}

// rate returns the rate of an arm's next SLO slice.
func (t *turns) rate(p Arm) float64 {
	if t.plan.Rate > 0 {
		return t.plan.Rate
	}
	return nextRate(t.exp.Slices, p, t.warm[p], t.scenario.MostRate(), t.rng.Float64())
}

// starting reports that an arm is being started, but only for the first start.
func (t *turns) starting(n int, p Arm) {
	if n == 1 && t.scenario.Target.URL == "" {
		t.programs.Say("starting " + p.String())
	}
}
