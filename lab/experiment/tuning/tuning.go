// Package tuning searches for better settings: it measures the start configuration, measures
// groups of candidates (package tune) in turns with it, and finally compares the start with the
// chosen candidate on new data.
//
// It does not choose candidates (package tune does) and does not show the result. Each step is an
// experiment of package experiment, which owns every process and goroutine.
package tuning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"dyno/lab/compare"
	"dyno/lab/experiment"
	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/generator"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/scenario"
	"dyno/lab/tune"
	"dyno/lab/workload"
)

// Options says what to tune, and how.
type Options struct {
	Experiment experiment.Options // for each of the experiments; Only and Depth have no effect
	Variant    string             // the start configuration; empty: the scenario's last
	Settings   []string           // names of the settings to try; none: all that change speed and memory only

	pace pace // the zero pace selects usualPace
}

// pace is the shortest useful time of each step.
type pace struct {
	start   time.Duration // measuring the start alone
	profile time.Duration // length of the start's CPU profile: a compiler needs more samples than a reader
	group   time.Duration // a group: starting all processes, and about four turns
	alone   time.Duration // a group of which only one process can be up: each turn starts a process
}

var usualPace = pace{start: 20 * time.Second, profile: 8 * time.Second, group: 25 * time.Second, alone: 45 * time.Second}

// ProfileFile is the name of the start's CPU profile in the output folder, which also has a
// folder for each experiment of the search.
const ProfileFile = "cpu.pprof"

const (
	// usualBudget is the default time limit, not counting builds.
	usualBudget = 8 * time.Minute
	// startShare and proofShare are the shares of the budget for measuring the start alone and
	// for the final comparison; the search has the rest.
	startShare, proofShare = 0.1, 0.35
	// Numbers of candidates in a group, in addition to the start and its control: if processes
	// are up together, if only one can be up, and if the group consists of whole runs.
	slots, slotsAlone, slotsOfRuns = 7, 3, 5
	shareOfCapacity                = 0.7 // a comparison by p99 is at this share of the capacity
	folderOfStart, folderOfProof   = "start", "proof"
)

// tuning is a search in progress.
type tuning struct {
	base     experiment.Options // for each of its experiments
	settings []string           // names of the settings to try; none: all
	pace     pace
	start    scenario.Variant
	out      tune.Search
	planner  *tune.Planner
	ends     time.Time
	proof    time.Duration // time reserved for the final comparison
	overhead time.Duration // by how much an experiment exceeds its budget
	starting time.Duration // from the start of a process to its first slice
	rate     float64       // rate of a comparison by p99, per second
	profile  string        // CPU profile of the start; empty: none
	perRun   time.Duration // length of a whole run, for jobs and sessions; 0: slices are taken
	clients  int           // concurrency of jobs
	groups   int
}

// Run searches, and compares its choice with the start. If an error ends it, it returns what was
// found so far with the error.
func Run(ctx context.Context, o Options) (*tune.Search, error) {
	t := &tuning{base: o.Experiment, settings: o.Settings, pace: cmp.Or(o.pace, usualPace)}
	t.base.Budget = cmp.Or(t.base.Budget, usualBudget)
	var err error
	if t.start, err = startVariant(t.base.Scenario, o.Variant); err != nil {
		return nil, err
	}
	if t.base.Metric, err = t.metric(); err != nil {
		return nil, err
	}
	if _, err := folder.Claim(t.base.Out); err != nil {
		return nil, &scenario.Fault{Err: err}
	}
	t.out = tune.Search{Scenario: t.base.Scenario.Name, Start: t.start.Name, Metric: t.base.Metric, Build: t.base.Scenario.TargetOf(t.start).Build}
	built, err := os.MkdirTemp("", "dyno-tune-")
	if err != nil {
		return nil, err
	}
	t.base.Binaries = &environment.Binaries{Dir: built}
	defer t.base.Binaries.Close()
	if err := t.build(ctx); err != nil {
		return nil, err
	}
	t.ends, t.proof = time.Now().Add(t.base.Budget), time.Duration(proofShare*float64(t.base.Budget))
	if err := t.measureStart(ctx); err != nil {
		return &t.out, err
	}
	if err := t.plan(ctx); err != nil {
		return &t.out, err
	}
	err = t.search(ctx)
	if err == nil {
		if t.out.Chosen = t.planner.Choose(); t.out.Chosen != nil {
			err = t.prove(ctx)
		}
	}
	t.out.Trials = t.planner.Trials()
	return &t.out, err
}

// startVariant returns the variant to which the search applies its changes: the one with that
// name, or the scenario's last.
func startVariant(sc *scenario.Scenario, name string) (scenario.Variant, error) {
	v := scenario.Variant{Name: sc.Name}
	if n := len(sc.Variants); n > 0 {
		var err error
		if v, err = sc.Variant(cmp.Or(name, sc.Variants[n-1].Name)); err != nil {
			return v, &scenario.Fault{Err: err}
		}
	} else if name != "" {
		return v, &scenario.Fault{Err: fmt.Errorf("%s declares no variants, so there is no variant %q", sc.Path, name)}
	}
	switch {
	case sc.TargetOf(v).URL != "":
		return v, &scenario.Fault{Err: errors.New("tune starts the program with other settings, so it needs target.build or target.command instead of a URL")}
	case !sc.Load.Traits().Searchable():
		return v, &scenario.Fault{Err: errors.New("tune measures requests, sessions, and jobs with axis: concurrency; this scenario has jobs by rate")}
	}
	v.Undo, v.Reference = nil, ""
	return v, nil
}

// build builds the programs, and runs the feeder's program once for all experiments. The time
// does not count against the budget.
func (t *tuning) build(ctx context.Context) error {
	p := &environment.Programs{Scenario: t.base.Scenario, Variants: []scenario.Variant{t.start}, Say: t.base.Progress.Say, Binaries: t.base.Binaries}
	if err := p.Build(ctx); err != nil {
		return err
	}
	defer p.Close()
	f := t.base.Scenario.Load.Feeder
	if f == nil || f.File != "" {
		return nil
	}
	g := generator.New(p)
	g.RowsFile = filepath.Join(t.base.Binaries.Dir, "rows") // only this user can read it
	if err := g.Feed(ctx); err != nil {
		return err
	}
	sc := *t.base.Scenario
	sc.Load.Feeder = &workload.Feeder{File: g.RowsFile, Format: cmp.Or(f.Format, "ndjson")}
	t.base.Scenario = &sc
	return nil
}

func (t *tuning) options(kind, folder string, budget time.Duration, variants ...scenario.Variant) experiment.Options {
	sc := *t.base.Scenario
	sc.Mode, sc.Variants, sc.Sweep = kind, variants, nil
	o := t.base
	o.Scenario, o.Out, o.Budget, o.Only = &sc, filepath.Join(t.base.Out, folder), budget, nil
	o.Depth, o.Rate, o.Concurrency = experiment.Default, t.rate, t.clients
	return o
}

// firstSlice is a Progress that stores when the first slice was taken.
type firstSlice struct {
	experiment.Progress
	at time.Time
}

func (f *firstSlice) Slice(s record.Slice, left time.Duration) {
	if f.at.IsZero() {
		f.at = time.Now()
	}
	f.Progress.Slice(s, left)
}

// execute carries out an experiment, and measures by how much it exceeds its budget.
func (t *tuning) execute(ctx context.Context, o experiment.Options) (*record.Experiment, error) {
	began, first := time.Now(), &firstSlice{Progress: o.Progress}
	o.Progress = first
	exp, err := experiment.Execute(ctx, o)
	if t.base.Scenario.Load.Traits().Axis == workload.AxisRate { // whole runs are planned by their number, not by time
		t.overhead = max(0, time.Since(began)-o.Budget)
		if first.at.IsZero() {
			first.at = time.Now()
		}
		before := 1 // processes that were started before the first slice
		if !t.alone() {
			before = len(o.Scenario.Variants)
		}
		t.starting = max(0, first.at.Sub(began)-t.overhead) / time.Duration(before)
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return exp, err
}

// metric returns the metric to improve. With a fixed number of sessions or a limited rate, the
// work rate is fixed, so the metric is another one. The work rate of jobs is their capacity.
func (t *tuning) metric() (string, error) {
	sc, metric := t.base.Scenario, cmp.Or(t.base.Metric, compare.MetricWork)
	switch {
	case len(sc.Load.Numbers()) > 0 && t.base.Metric == "":
		return compare.MetricCPU, nil
	case len(sc.Load.Numbers()) > 0 && metric == compare.MetricWork:
		return "", &scenario.Fault{Err: errors.New("the scenario has a fixed number of sessions, which is its work: use --metric cpu or p99")}
	case sc.Load.Traits().Axis != workload.AxisRate && metric == compare.MetricWork:
		return compare.MetricCapacity, nil
	case sc.Load.MaxRate > 0 && t.base.Metric == "":
		return compare.MetricCPU, nil
	case sc.Load.MaxRate > 0 && metric == compare.MetricWork:
		return "", &scenario.Fault{Err: errors.New("load.max_rate is set, so peak work rates are not measured: use --metric cpu or p99")}
	case metric == compare.MetricP99 && !sc.Bounded() && t.base.Rate == 0 && sc.Load.Traits().Axis == workload.AxisRate:
		return "", &scenario.Fault{Err: errors.New("p99 is compared at a rate near the capacity, so the scenario needs an slo")}
	}
	return metric, nil
}
