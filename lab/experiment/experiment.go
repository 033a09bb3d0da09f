// Package experiment carries out experiments: it starts the processes of a scenario, drives and
// observes them, and records the results. It is the lab's only executor. Variants take turns in
// slices (turns.go), until the analyses (capacity, compare) report that they are decided or the
// budget is used up; jobs, sweeps and diagnoses are whole runs, a process each. The results are
// in a folder before the next slice or run starts, so an interrupted experiment keeps them.
//
// It is not for judging, except whether a run may be used (record.Run.Judge) and how the
// experiment ended (record.Outcome), and not for showing results: the analyses interpret them,
// and reports draw them. Execute owns every process and goroutine that it starts; all have ended
// when it returns.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"dyno/lab/load"
	"dyno/lab/probe"
	"dyno/lab/probe/pmqos"
	"dyno/lab/record"
	"dyno/lab/scenario"
)

// Depth is the thoroughness of an experiment, which sets its length.
type Depth int

// Depths.
const (
	Default  Depth = iota
	Quick          // less time, wider intervals
	Thorough       // narrow intervals; also measures a ladder without each single step
)

// Options says what to execute and how.
type Options struct {
	Scenario *scenario.Scenario
	Out      string   // the experiment's folder: absent or empty
	Command  []string // the command line that runs it again, for the report
	Depth    Depth
	Only     []string      // variants to run, in this order; none: all
	Metric   string        // compare: capacity (also when empty), p99 or cpu
	Rate     float64       // above 0: the rate of every variant, per second, instead of a search
	Rounds   int           // above 0: number of rounds where variants take turns by whole runs, instead of the depth's
	Budget   time.Duration // time limit after building; 0: the scenario's or the depth's
	Clients  int           // diagnose: highest number of requests in flight; 0: chosen by the diagnosis
	Also     string        // debug address of a process that the target calls and that is profiled as well; empty: none
	PID      int           // process of a running target; 0: the process that listens at its URL
	OTLP     string        // address that receives the target's traces; empty: a free one, if the scenario sends traces
	Token    string        // bearer token of the target's debug address; empty: none
	NoPMQoS  bool          // leave the CPUs' wake-up latency alone
	// Permit is called for each host beyond loopback before it is loaded; nil permits none.
	Permit   func(host string) error
	Progress Progress // nil: progress is not reported
}

// Progress receives the events of an experiment as they happen. Window is called from another
// goroutine than the other methods.
type Progress interface {
	// Say reports an event in words: a build, a wait, a run that must be repeated.
	Say(text string)
	// Step announces the n-th run; total is the estimated number of runs.
	Step(n, total int, s record.Step)
	// Window reports 100 ms of the current run.
	Window(w record.Window)
	// Done reports a finished run.
	Done(r *record.Run)
	// Slice reports a finished slice; left is the remaining time of the turns, which may end
	// earlier.
	Slice(s record.Slice, left time.Duration)
}

// ErrUnfit is returned by Execute if the machine or the generator prevented the measurement: the
// experiment is invalid, and its folder contains the reason.
var ErrUnfit = errors.New("the run is invalid")

// ScenarioError is a fault of the scenario that appeared only during its execution: a body
// template that cannot be filled, a feeder without rows.
type ScenarioError struct{ Err error }

func (e *ScenarioError) Error() string { return e.Err.Error() }
func (e *ScenarioError) Unwrap() error { return e.Err }

// Execute runs the scenario by its mode. If an error ends it early, it returns the experiment
// with the results until then.
func Execute(ctx context.Context, o Options) (*record.Experiment, error) {
	if o.Progress == nil {
		o.Progress = silent{}
	}
	variants, err := choose(o.Scenario, o.Only)
	if err != nil {
		return nil, err
	}
	urls := []string{o.Scenario.Load.URL, o.Scenario.Target.URL}
	for _, v := range variants {
		urls = append(urls, v.URL)
	}
	for _, url := range urls {
		if err := o.permitted(url); err != nil {
			return nil, err
		}
	}
	if entries, err := os.ReadDir(o.Out); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty; name another folder with --out", o.Out)
	}
	exp := &record.Experiment{
		Name: o.Scenario.Name, Kind: o.Scenario.Mode, Started: time.Now(), Command: o.Command,
		Scenario: o.Scenario.Text, Service: o.Scenario.Name, Metric: o.Metric, SLO: o.Scenario.SLO,
		Machine: probe.Machine(), InProgress: &record.InProgress{PID: os.Getpid()},
	}
	if !o.NoPMQoS {
		var release func()
		release, exp.Machine.WakeLatencyHeld, _ = pmqos.Hold()
		defer release()
	}
	for _, v := range variants {
		args := append([]string(nil), v.Args...) // saving redacts the record's copy
		exp.Variants = append(exp.Variants, record.Variant{Name: v.Name, Change: v.Change, Why: v.Why, Args: args, Values: v.Values, Units: units(o.Scenario, v), Beside: v.Beside})
	}
	if err := record.NewExperiment(o.Out, exp); err != nil {
		return nil, err
	}
	x := &executor{Options: o, exp: exp, variants: variants, lost: map[string]bool{}}
	runner, err := newRunner(ctx, o, variants)
	if err != nil {
		exp.InProgress, exp.Outcome = nil, x.outcome(ctx, err)
		return exp, errors.Join(err, exp.Save())
	}
	defer runner.close()
	x.runner = runner
	if err = runner.feed(ctx); err == nil {
		err = x.reach(ctx)
	}
	if err == nil {
		x.began, exp.Budget = time.Now(), x.budget()
		err = x.execute(ctx)
	}
	exp.InProgress = nil
	if fault := new(ScenarioError); errors.As(err, &fault) && len(exp.Runs) == 0 && len(exp.Slices) == 0 {
		return nil, errors.Join(err, os.RemoveAll(o.Out)) // there are no results, and the message is complete
	}
	exp.Outcome = x.outcome(ctx, err)
	if w := speedWarning(exp.Runs); w != "" {
		exp.Warnings = append(exp.Warnings, w)
	}
	return exp, errors.Join(err, exp.Save())
}

// units returns the number of work units of a variant's run; 0: no fixed number.
func units(s *scenario.Scenario, v scenario.Variant) int {
	if !s.ByConcurrency() {
		return 0
	}
	return s.LoadOf(v).Units
}

// permitted returns an error if load may not be sent to a URL. A URL with placeholders in its
// host is checked when they are known.
func (o *Options) permitted(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || load.Loopback(u.Hostname()) {
		return nil
	}
	if o.Permit == nil {
		return fmt.Errorf("%s is not this machine, and loading it was not permitted", u.Hostname())
	}
	return o.Permit(u.Hostname())
}

// choose returns the scenario's variants of the given names; a scenario without variants has one.
func choose(sc *scenario.Scenario, only []string) ([]scenario.Variant, error) {
	if len(sc.Variants) == 0 {
		if len(only) > 0 {
			_, err := sc.Variant(only[0])
			return nil, err
		}
		return []scenario.Variant{{Name: sc.Name}}, nil
	}
	if len(only) == 0 {
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
	Options
	exp      *record.Experiment
	variants []scenario.Variant
	runner   *runner
	began    time.Time       // the time at which everything was built
	expected int             // estimated number of runs
	lost     map[string]bool // variants that are no longer measured
}

// planner returns the next step, given the runs so far.
type planner func(*record.Experiment) (step record.Step, done bool)

// tries is the number of attempts at a step.
const tries = 3

// follow runs the planner's steps until it is done.
func (x *executor) follow(ctx context.Context, next planner) error {
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

// step runs one step, again if it does not count because the load generator was the limit.
func (x *executor) step(ctx context.Context, s record.Step) error {
	for try := 1; ; try++ {
		total := max(x.expected, len(x.exp.Order)+1)
		x.Progress.Step(len(x.exp.Order)+1, total, s)
		x.exp.InProgress = &record.InProgress{PID: os.Getpid(), Step: s, Expected: total}
		if err := x.exp.Save(); err != nil {
			return err
		}
		r, err := x.runner.run(ctx, s, x.exp)
		if err != nil && r != nil {
			err = errors.Join(err, x.exp.Add(r))
		}
		if err != nil {
			return err
		}
		if err := x.exp.Add(r); err != nil {
			return err
		}
		x.Progress.Done(r)
		switch {
		case r.Invalid == "", s.Diagnostic(), s.Hold, x.exp.Kind == record.KindLoad:
			return nil
		case try == tries:
			return fmt.Errorf("%w: %s", ErrUnfit, r.Invalid)
		}
	}
}

type silent struct{}

func (silent) Say(string)                        {}
func (silent) Step(int, int, record.Step)        {}
func (silent) Window(record.Window)              {}
func (silent) Done(*record.Run)                  {}
func (silent) Slice(record.Slice, time.Duration) {}
