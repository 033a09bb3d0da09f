// Package experiment carries out experiments: it plans what to run next, by the scenario's mode,
// and records the results. It is the only part of the lab that carries out measurements. Variants
// take turns in slices (package turns) until the analyses (capacity, compare) report that the
// comparisons are decided, or until the budget is used up. Jobs, sweeps and diagnoses consist of
// whole runs, each with a process of its own (package runs). The results of a slice or run are in
// the experiment's folder before the next one starts, so an interrupted experiment keeps them.
//
// It judges only whether a run may be used (record.Run.Validate) and how the experiment ended
// (record.Outcome). It does not judge or show results: analyses and reports do. Execute owns
// every process and goroutine that it starts; all have ended when it returns.
package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/generator"
	"dyno/lab/experiment/runs"
	"dyno/lab/experiment/turns"
	"dyno/lab/probe/host"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// Depth is the thoroughness of an experiment; it determines the length.
type Depth int

// Depths.
const (
	Default  Depth = iota
	Quick          // less time, wider intervals
	Thorough       // narrow intervals; a ladder also measures its ablations
)

// Options says what to measure and how.
type Options struct {
	Scenario   *scenario.Scenario
	Out        string   // the experiment's folder: absent or empty
	Command    []string // the command line that runs it again, for the report
	Depth      Depth
	Only       []string         // variants to measure, in this order; none: all
	Metric     string           // compare: work, p99, cpu or capacity (also when empty)
	Rate       float64          // above 0: the rate of every variant, per second, instead of a search
	Samples    int              // above 0: number of samples of a comparison, or of rounds of whole runs, instead of the depth's
	Budget     time.Duration    // time limit after building; 0: the scenario's or the depth's
	Clients    int              // diagnose: highest number of requests in flight; 0: chosen by the diagnosis
	Downstream string           // debug address of a process that the target calls and that is profiled as well; empty: none
	PID        int              // process of a target that the lab does not start; 0: the process that listens at its URL
	OTLP       string           // address that receives the target's traces; empty: a free one, if the scenario sends traces
	Token      string           // bearer token of the target's debug address; empty: none
	Agents     generator.Agents // processes that send the requests in place of this one; nil: none
	// Profile is the length of the CPU profile that is taken after a search for a capacity; 0: none.
	Profile time.Duration
	// Concurrency compares all variants of jobs at this concurrency; 0: each at its best.
	Concurrency int
	Revisions   []string // commits of the two sides of a comparison; nil: the programs say which they are of
	// Binaries are programs that several experiments share; nil: the experiment builds its own.
	Binaries *environment.Binaries
	NoPMQoS  bool // do not keep the CPUs out of deep idle states, in which they wake up slowly
	Profiled bool // compare: take profiles of each variant after the turns
	// Permit is called for each host other than loopback before load is sent to it; nil permits
	// none.
	Permit   func(host string) error
	Progress Progress // nil: progress is not reported
}

// Progress receives the events of an experiment as they happen. Window is called on another
// goroutine than the other methods.
type Progress interface {
	// Say reports an event as text: a build, a wait, a run that must be repeated.
	Say(text string)
	// Step announces the n-th run; total is the estimated number of runs.
	Step(n, total int, s record.RunSpec)
	// Window reports 100 ms of the current run.
	Window(w record.Window)
	// Done reports a finished run.
	Done(r *record.Run)
	// Slice reports a finished slice; left is the remaining time of the turns, which may end
	// earlier.
	Slice(s record.Slice, left time.Duration)
}

// ErrUnfit is returned by Execute if there is no valid result, for example because the machine or
// the generator prevented the measurement. The experiment is invalid, and its folder contains the
// reason.
var ErrUnfit = errors.New("the run is invalid")

// ErrNoSuccess is returned by Execute if every request failed.
var ErrNoSuccess = generator.ErrNoSuccess

// Execute runs the scenario by its mode. If an error ends the experiment early, Execute returns
// it with the results so far; if there are no results, it leaves no folder.
func Execute(ctx context.Context, o Options) (*record.Experiment, error) {
	if o.Progress == nil {
		o.Progress = silent{}
	}
	variants, err := choose(o.Scenario, o.Only)
	if err != nil {
		return nil, err
	}
	how, ok := kinds[o.Scenario.Mode]
	if !ok {
		return nil, &scenario.Fault{Err: fmt.Errorf("unknown mode %q", o.Scenario.Mode)}
	}
	x := newExecutor(o, how, variants)
	if err := x.permitted(); err != nil {
		return nil, err
	}
	if o.Agents != nil && (!o.Scenario.Load.Traits().Splits || o.Scenario.Load.Driver != nil) {
		return nil, &scenario.Fault{Err: fmt.Errorf("agents share loads of requests, gRPC calls and flows, and sessions that the scenario describes; jobs and a load.driver are one process (kind %s)", o.Scenario.Load.Kind)}
	}
	if !o.Scenario.Load.Traits().Searchable() && how.counted != nil {
		return nil, &scenario.Fault{Err: fmt.Errorf("load.kind: %s does not measure jobs at a rate; write axis: concurrency with \"${concurrency}\" in load.args", x.exp.Kind)}
	}
	place, err := folder.Claim(o.Out)
	if err != nil {
		return nil, &scenario.Fault{Err: err}
	}
	exp := x.exp
	exp.Started, exp.Command, exp.Machine, exp.InProgress = time.Now(), o.Command, host.Machine(), &record.InProgress{PID: os.Getpid()}
	if !o.NoPMQoS {
		var release func()
		release, exp.Machine.WakeLatencyHeld, _ = host.Hold()
		defer release()
	}
	if err := folder.New(o.Out, exp); err != nil {
		return nil, errors.Join(&scenario.Fault{Err: fmt.Errorf("%w; name another folder with --out", err)}, place.Leave())
	}
	err = x.measure(ctx)
	exp.InProgress, exp.Outcome = nil, x.outcome(ctx, err)
	if len(exp.Runs)+len(exp.Slices) == 0 && exp.Outcome.Status == record.OutcomeFailed && !errors.Is(err, ErrNoSuccess) {
		exp.Dir = "" // nothing was measured, and the message is complete
		return exp, errors.Join(err, place.Leave())
	}
	if w := runs.SpeedWarning(exp.Runs); w != "" {
		exp.Warnings = append(exp.Warnings, w)
	}
	folder.Save(exp)
	return exp, err
}

// units returns the number of work units in a variant's run; 0: the number is not fixed.
func units(s *scenario.Scenario, v scenario.Variant) int {
	if s.Load.Traits().Axis != workload.AxisConcurrency {
		return 0
	}
	return s.LoadOf(v).Units
}

// unitsNote returns notes that explain what the figures count if requests are steps of flows or
// carry several units of work.
func unitsNote(s *scenario.Scenario, variants []scenario.Variant) (notes []string) {
	if len(s.Load.Steps) > 0 {
		return []string{fmt.Sprintf("the load is flows of %d steps; rates, capacities, errors and costs per request count flows, latencies are those of steps", len(s.Load.Steps))}
	}
	blind := false // the lab would not notice that some units of a request have failed
	of := map[int][]string{}
	for _, v := range variants {
		l := s.LoadOf(v)
		if n := l.Units; n > 1 && s.Load.Traits().Sends {
			of[n] = append(of[n], v.Name)
			blind = blind || !l.Traits().Sockets && len(l.Requests) < 2 && len(l.Check.JSON) == 0
		}
	}
	for _, n := range slices.Sorted(maps.Keys(of)) {
		who := strings.Join(of[n], ", ") + ": "
		if len(of[n]) == len(variants) {
			who = ""
		}
		notes = append(notes, fmt.Sprintf("%sa request carries %d units of work; rates, capacities, errors and costs per request count units", who, n))
	}
	if blind {
		notes = append(notes, "a request of several units has no check.json, so all its units succeed or fail with its status; a test of path *.result, say, counts the failures of members")
	}
	return notes
}

// choose returns the variants with the given names. A scenario that declares no variants has a
// single one.
func choose(sc *scenario.Scenario, only []string) ([]scenario.Variant, error) {
	switch {
	case len(only) == 0 && len(sc.Variants) == 0:
		return []scenario.Variant{{Name: sc.Name}}, nil
	case len(only) == 0:
		return sc.Variants, nil
	}
	var out []scenario.Variant
	for _, name := range only {
		v, err := sc.Variant(name)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// executor carries out one experiment.
type executor struct {
	opts     Options
	kind     kind
	exp      *record.Experiment
	variants []scenario.Variant
	programs *environment.Programs
	gen      *generator.Generator
	runner   *runs.Runner
	began    time.Time       // when the programs were built
	expected int             // estimated number of runs
	dropped  map[string]bool // variants that are no longer measured
}

// newExecutor returns an executor. It builds nothing and makes no folder.
func newExecutor(o Options, how kind, variants []scenario.Variant) *executor {
	x := &executor{opts: o, kind: how, variants: variants, dropped: map[string]bool{}}
	x.exp = &record.Experiment{Name: o.Scenario.Name, Kind: o.Scenario.Mode, Scenario: o.Scenario.Text, Service: o.Scenario.Name, Metric: o.Metric, SLO: o.Scenario.SLO, Revisions: o.Revisions}
	for _, v := range variants {
		args := append([]string(nil), v.Args...) // saving redacts the record's copy
		x.exp.Variants = append(x.exp.Variants, record.Variant{Name: v.Name, Change: v.Change, Why: v.Why, Args: args, Values: v.Values, Units: units(o.Scenario, v), Reference: v.Reference})
	}
	x.exp.Warnings = append(x.exp.Warnings, unitsNote(o.Scenario, variants)...)
	x.programs = &environment.Programs{Scenario: o.Scenario, Variants: variants, PID: o.PID, Say: o.Progress.Say, Binaries: o.Binaries}
	x.gen = generator.New(x.programs)
	x.gen.Permit, x.gen.Agents = o.Permit, o.Agents
	x.runner = &runs.Runner{Generator: x.gen, Warmup: x.warmup(), DiagnoseWarmup: diagnoseLengths[o.Depth].warmup, CPU: o.Profile,
		Downstream: o.Downstream, OTLP: o.OTLP, Token: o.Token, Window: o.Progress.Window}
	return x
}

// permitted returns an error if load may not be sent to one of the scenario's hosts.
func (x *executor) permitted() error {
	urls := []string{x.opts.Scenario.Load.URL, x.opts.Scenario.Target.URL}
	for _, v := range x.variants {
		urls = append(urls, v.URL, x.opts.Scenario.LoadOf(v).URL)
	}
	for _, step := range x.opts.Scenario.Load.Steps {
		urls = append(urls, step.URL)
	}
	for _, url := range urls {
		if err := x.gen.Permitted(url); err != nil {
			return err
		}
	}
	return nil
}

// measure builds the programs and carries out the experiment by its kind.
func (x *executor) measure(ctx context.Context) error {
	if err := x.programs.Build(ctx); err != nil {
		return err
	}
	defer x.programs.Close()
	if err := x.gen.Feed(ctx); err != nil {
		return err
	}
	warnings, err := x.gen.Reach(ctx)
	for _, w := range warnings {
		x.exp.Warnings = append(x.exp.Warnings, w)
		x.opts.Progress.Say("warning: " + w)
	}
	if err != nil {
		return err
	}
	doubts, err := x.runner.Doubts(ctx)
	for _, d := range doubts {
		x.opts.Progress.Say("warning: " + d)
	}
	x.exp.Warnings = append(x.exp.Warnings, doubts...)
	if err != nil {
		return err
	}
	x.began, x.exp.Budget = time.Now(), x.budget()
	if err = x.execute(ctx); err == nil || errors.Is(err, ErrUnfit) {
		err = cmp.Or(x.noSuccess(), err)
	}
	return err
}

// planner returns the next step, given the runs so far.
type planner func(*record.Experiment) (step record.RunSpec, done bool)

// tries is the number of attempts at a step.
const tries = 3

// runPlan runs the planner's steps until it is done.
func (x *executor) runPlan(ctx context.Context, next planner) error {
	for {
		step, done := next(x.exp)
		if done {
			return nil
		}
		if err := x.step(ctx, step); err != nil {
			return err
		}
	}
}

// step carries out one step. If the run is invalid, step repeats it, up to tries attempts.
func (x *executor) step(ctx context.Context, s record.RunSpec) error {
	for try := 1; ; try++ {
		total := max(x.expected, len(x.exp.Order)+1)
		x.opts.Progress.Step(len(x.exp.Order)+1, total, s)
		x.exp.InProgress = &record.InProgress{PID: os.Getpid(), Spec: s, Expected: total}
		folder.Save(x.exp)
		r, err := x.runner.Run(ctx, s, x.exp)
		if r != nil {
			folder.AddRun(x.exp, r)
		}
		if err != nil {
			return err
		}
		x.opts.Progress.Done(r)
		switch {
		case r.Invalid == "", s.Diagnostic(), s.Confirm, x.kind.once:
			return nil
		case try == tries:
			return fmt.Errorf("%w: %s", ErrUnfit, r.Invalid)
		}
	}
}

type silent struct{}

func (silent) Say(string)                        {}
func (silent) Step(int, int, record.RunSpec)     {}
func (silent) Window(record.Window)              {}
func (silent) Done(*record.Run)                  {}
func (silent) Slice(record.Slice, time.Duration) {}

// warmups are the warm-ups of runs under requests, by depth.
var warmups = map[Depth]time.Duration{Quick: 400 * time.Millisecond, Default: 400 * time.Millisecond, Thorough: time.Second}

// warmup returns the warm-up of a run: the scenario's, or that of the depth.
func (x *executor) warmup() time.Duration {
	out := warmups[x.opts.Depth]
	if x.opts.Scenario.Load.Traits().Axis != workload.AxisRate {
		out = x.opts.pace().warmup
	}
	out = cmp.Or(x.opts.Scenario.Measure.Warmup, out)
	if x.opts.Depth == Quick && x.kind.quickWarmup > 0 {
		return min(out, x.kind.quickWarmup)
	}
	return out
}

func (x *executor) execute(ctx context.Context) error {
	if !x.opts.Scenario.Load.Traits().Sends && x.opts.Scenario.Shares() {
		x.runner.Outer = x.programs.New(turns.Folder(x.exp, "1-shared"), nil)
		defer x.runner.Outer.Down()
		if err := x.runner.Outer.UpShared(ctx); err != nil {
			return err
		}
	}
	if x.opts.Scenario.Load.Traits().Axis != workload.AxisRate && x.kind.counted != nil {
		return x.kind.counted(x, ctx)
	}
	return x.kind.run(x, ctx)
}

// runsOf returns the runs of one search or slot, in order.
func (x *executor) runsOf(role, variant string, round int) []*record.Run {
	return x.exp.Select(func(r *record.Run) bool {
		return r.Spec.Role == role && r.Spec.Variant == variant && r.Spec.Round == round
	})
}

// runsPerSearch is an estimate of the runs in a search for a job's concurrency, for the progress
// line.
const runsPerSearch = 8

// load runs each variant once with each number of connections.
func (x *executor) load(ctx context.Context) error {
	m := x.opts.Scenario.Measure
	connections := m.Connections
	if x.opts.Scenario.Load.Traits().Axis == workload.AxisSessions {
		connections, m.Length = x.opts.Scenario.Load.Numbers(), cmp.Or(m.Length, x.opts.pace().search)
	}
	if len(connections) == 0 {
		connections = []int{0}
	}
	x.expected = len(connections) * len(x.variants)
	for _, v := range x.variants {
		for _, c := range connections {
			step := record.RunSpec{Role: record.RoleSingle, Variant: v.Name, Rate: x.opts.Scenario.Load.Schedule.Rate, Length: m.Length, Connections: c}
			if err := x.step(ctx, step); err != nil {
				return err
			}
		}
	}
	return nil
}
