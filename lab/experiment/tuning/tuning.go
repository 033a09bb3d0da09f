// Package tuning carries out a search for better settings: it looks at the start configuration
// under load, measures the candidates of package tune beside it in groups, and proves the chosen
// one against the start in a comparison of its own.
//
// It is not for choosing (package tune) or for showing the result. Each step is an experiment of
// package experiment, which owns every process and goroutine.
package tuning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/experiment"
	"dyno/lab/experiment/environment"
	"dyno/lab/record"
	"dyno/lab/record/redact"
	"dyno/lab/scenario"
	"dyno/lab/tune"
)

// Options says what to tune, and how.
type Options struct {
	experiment.Options          // Only and Depth have no effect
	Variant            string   // the start configuration; empty: the scenario's last
	Settings           []string // names of the settings to try; none: all that change speed and memory only

	pace pace // zero: usualPace
}

// pace is the shortest useful time of each step.
type pace struct {
	look    time.Duration // at the start alone
	profile time.Duration // length of its CPU profile: the compiler needs more samples than a reader
	group   time.Duration // a start of all processes and about four turns
	alone   time.Duration // the same where only one process can be up: a turn is then a whole process
}

var usualPace = pace{look: 20 * time.Second, profile: 8 * time.Second, group: 25 * time.Second, alone: 45 * time.Second}

// ProfileFile is the name of the file with the CPU profile of the start. The experiments of the
// search are folders beside it.
const ProfileFile = "cpu.pprof"

const (
	// usualBudget is the time limit without building.
	usualBudget = 8 * time.Minute
	// lookShare and proofShare are the parts of the budget for the start alone and for the proof;
	// the search has the rest.
	lookShare, proofShare = 0.1, 0.35
	// Numbers of candidates beside the start and its twin: of processes that are up together, of
	// those that cannot be, and of whole runs.
	slots, slotsAlone, slotsOfRuns = 7, 3, 5
	shareOfCapacity                = 0.7 // rate of a comparison by p99
	folderOfLook, folderOfProof    = "start", "proof"
)

// ErrNothing is the error of a program without settings to try.
var ErrNothing = errors.New("there is nothing to try")

// tuning is a search in progress.
type tuning struct {
	Options
	start    scenario.Variant
	out      tune.Search
	planner  *tune.Planner
	ends     time.Time
	proof    time.Duration // reserved for the proof
	overhead time.Duration // of an experiment, beside its budget
	rate     float64       // of a comparison by p99, per second
	profile  string        // CPU profile of the start; empty: none
	perRun   time.Duration // of jobs and sessions, which are whole runs; 0: slices
	clients  int           // concurrency of jobs
	groups   int
}

// Run searches, and proves what it chose. If an error ends it, it returns what was found until
// then.
func Run(ctx context.Context, o Options) (*tune.Search, error) {
	if o.Budget == 0 {
		o.Budget = usualBudget
	}
	if o.pace == (pace{}) {
		o.pace = usualPace
	}
	t := &tuning{Options: o}
	var err error
	if t.start, err = t.startVariant(); err != nil {
		return nil, err
	}
	if t.Metric, err = t.metric(); err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(o.Out); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty; name another folder with --out", o.Out)
	}
	t.out = tune.Search{Scenario: o.Scenario.Name, Start: t.start.Name, Metric: t.Metric, Build: o.Scenario.TargetOf(t.start).Build}
	built, err := os.MkdirTemp("", "dyno-tune-")
	if err != nil {
		return nil, err
	}
	t.Binaries = &environment.Binaries{Dir: built}
	defer t.Binaries.Close()
	if err := t.build(ctx); err != nil {
		return nil, err
	}
	t.ends, t.proof = time.Now().Add(o.Budget), time.Duration(proofShare*float64(o.Budget))
	if err := t.look(ctx); err != nil {
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

// startVariant returns the variant that all changes are made to.
func (t *tuning) startVariant() (scenario.Variant, error) {
	sc := t.Scenario
	v := scenario.Variant{Name: sc.Name}
	if n := len(sc.Variants); n > 0 {
		var err error
		if v, err = sc.Variant(cmp.Or(t.Variant, sc.Variants[n-1].Name)); err != nil {
			return v, &scenario.Fault{Err: err}
		}
	} else if t.Variant != "" {
		return v, &scenario.Fault{Err: fmt.Errorf("%s declares no variants, so there is no variant %q", sc.Path, t.Variant)}
	}
	switch {
	case sc.TargetOf(v).URL != "":
		return v, &scenario.Fault{Err: errors.New("tune starts the program with other settings, so it needs target.build or target.command instead of a URL")}
	case sc.Load.Kind == scenario.Jobs && !sc.ByConcurrency():
		return v, &scenario.Fault{Err: errors.New("tune measures requests, sessions, and jobs with axis: concurrency; this scenario has jobs by rate")}
	}
	v.Undo, v.Beside = nil, ""
	return v, nil
}

// build builds the programs, which does not count against the budget.
func (t *tuning) build(ctx context.Context) error {
	p := &environment.Programs{Scenario: t.Scenario, Variants: []scenario.Variant{t.start}, Say: t.Progress.Say, Binaries: t.Binaries}
	if err := p.Build(ctx); err != nil {
		return err
	}
	p.Close()
	return nil
}

// options returns those of one of the search's experiments.
func (t *tuning) options(kind, folder string, budget time.Duration, variants ...scenario.Variant) experiment.Options {
	sc := *t.Scenario
	sc.Mode, sc.Variants, sc.Sweep = kind, variants, nil
	o := t.Options.Options
	o.Scenario, o.Out, o.Budget, o.Only = &sc, filepath.Join(t.Out, folder), budget, nil
	o.Depth, o.Rate, o.Concurrency = experiment.Default, t.rate, t.clients
	return o
}

// execute carries out one of the experiments, and learns how much longer it takes than its budget.
func (t *tuning) execute(ctx context.Context, o experiment.Options) (*record.Experiment, error) {
	began := time.Now()
	exp, err := experiment.Execute(ctx, o)
	if !t.Scenario.Counted() { // whole runs are planned by their number
		t.overhead = max(0, time.Since(began)-o.Budget)
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return exp, err
}

// look measures the start alone, under profiles too.
func (t *tuning) look(ctx context.Context) error {
	t.Progress.Say("looking at " + t.start.Name + ", the start")
	o := t.options(record.KindCapacity, folderOfLook, max(t.pace.look, time.Duration(lookShare*float64(t.Options.Budget))), t.start)
	o.Depth, o.Profile, o.Rate, o.Metric = experiment.Quick, t.pace.profile, 0, ""
	began := time.Now()
	exp, err := t.execute(ctx, o)
	t.out.Look = exp
	if err != nil {
		return err
	}
	if exp.Outcome.Status == record.OutcomeFailed {
		return errors.New(exp.Outcome.Reason)
	}
	result := capacity.Summarise(exp, t.start.Name)
	if t.Scenario.Counted() {
		t.perRun, t.clients = time.Since(began)/time.Duration(max(1, len(exp.Runs))), result.Concurrency
		if t.Scenario.OfSessions() {
			t.clients = 0
		}
	}
	if t.Metric == compare.MetricP99 && !t.Scenario.Counted() {
		if t.rate = cmp.Or(t.Rate, shareOfCapacity*result.CapacityPerS); t.rate == 0 {
			return fmt.Errorf("%w: no rate was found at which %s meets the SLO: %s", experiment.ErrUnfit, t.start.Name, result.Reason)
		}
	}
	return t.keepProfile(exp)
}

// keepProfile copies the CPU profile of the start to a place from which a user can build with it.
func (t *tuning) keepProfile(exp *record.Experiment) error {
	if t.out.Build == "" {
		return nil
	}
	for _, r := range exp.Runs {
		for _, p := range r.Profiles {
			if p.Kind != record.ProfileCPU || p.File == "" {
				continue
			}
			b, err := os.ReadFile(filepath.Join(exp.RunDir(r.ID), p.File))
			if err != nil {
				return err
			}
			if t.profile, err = filepath.Abs(filepath.Join(t.Out, ProfileFile)); err != nil {
				return err
			}
			return os.WriteFile(t.profile, b, 0o644)
		}
	}
	t.note("pgo: no CPU profile could be taken; net/http/pprof or the agent in the program gives one")
	return nil
}

func (t *tuning) note(text string) {
	t.out.Notes = append(t.out.Notes, text)
	t.Progress.Say(text)
}

// search measures groups of candidates until the planner ends it or the time is used up.
func (t *tuning) search(ctx context.Context) error {
	for {
		groups := t.planner.Next(time.Until(t.ends) - t.proof)
		if len(groups) == 0 {
			return nil
		}
		for _, g := range groups {
			if err := t.group(ctx, g); err != nil {
				return err
			}
		}
	}
}

// group measures a group of candidates beside the start.
func (t *tuning) group(ctx context.Context, g tune.Group) error {
	t.groups++
	variants, names := []scenario.Variant{t.start}, []string{}
	for _, c := range g.Candidates {
		variants, names = append(variants, t.variant(c)), append(names, c.String())
	}
	t.Progress.Say(fmt.Sprintf("round %d: %s", g.Round, strings.Join(names, ", ")))
	o := t.options(record.KindCompare, fmt.Sprintf("search-%d", t.groups), max(t.pace.group/2, g.Length-t.overhead), variants...)
	if t.perRun > 0 {
		o.Rounds = max(1, int(g.Length/t.perRun)/(len(variants)+1))
	} else if t.rate == 0 {
		o.Scenario.SLO = record.SLO{} // only work slices: the proof is under the SLO
	}
	exp, err := t.execute(ctx, o)
	if exp == nil || ctx.Err() != nil {
		return err
	}
	for _, c := range g.Candidates {
		gains := compare.Gains(exp, t.Metric, t.start.Name, c.String(), sample(exp))
		if len(gains) == 0 {
			t.planner.Fail(c, whyNot(exp, c.String(), err))
			continue
		}
		memory := 0.0
		if a, b := resident(exp, t.start.Name), resident(exp, c.String()); a > 0 {
			memory = float64(b) / float64(a)
		}
		t.planner.Enter(c, gains, memory)
	}
	return nil
}

// metric returns the metric to improve. The work of a fixed number of sessions is fixed, too; that
// of jobs is their capacity.
func (t *tuning) metric() (string, error) {
	sc, metric := t.Scenario, cmp.Or(t.Metric, compare.MetricWork)
	switch {
	case sc.OfSessions() && len(sc.Load.Sessions) > 0 && t.Metric == "":
		return compare.MetricCPU, nil
	case sc.OfSessions() && len(sc.Load.Sessions) > 0 && metric == compare.MetricWork:
		return "", &scenario.Fault{Err: errors.New("the scenario has a fixed number of sessions, which is its work: use --metric cpu or p99")}
	case sc.Counted() && metric == compare.MetricWork:
		return compare.MetricCapacity, nil
	case metric == compare.MetricP99 && !sc.Bounded() && t.Rate == 0 && !sc.Counted():
		return "", &scenario.Fault{Err: errors.New("p99 is compared at a rate near the capacity, so the scenario needs an slo")}
	}
	return metric, nil
}

// whyNot explains why a candidate has no samples.
func whyNot(exp *record.Experiment, candidate string, err error) string {
	for _, w := range exp.Warnings {
		if after, ok := strings.CutPrefix(w, candidate+" is "); ok {
			_, why, _ := strings.Cut(after, ": ")
			return firstLine(why)
		}
	}
	if err != nil {
		return firstLine(redact.Text(err.Error()))
	}
	return "no turn of it has a result"
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// prove compares the start with the chosen candidate, in fresh processes, under the SLO.
func (t *tuning) prove(ctx context.Context) error {
	chosen := t.variant(t.out.Chosen)
	t.Progress.Say("proving " + chosen.Name + " against " + t.start.Name + " on fresh data")
	left := time.Until(t.ends) - t.overhead
	o := t.options(record.KindCompare, folderOfProof, max(t.pace.group, left), t.start, chosen)
	if t.perRun > 0 {
		o.Rounds = max(compare.MinPairs, int(left/t.perRun)/(2+1))
	}
	exp, err := t.execute(ctx, o)
	t.out.Proof = exp
	if exp != nil {
		t.out.Memory.Start, t.out.Memory.Chosen = resident(exp, t.start.Name), resident(exp, chosen.Name)
	}
	return err
}

// sample returns the measurements of a variant in a round of whole runs.
func sample(e *record.Experiment) compare.Sample {
	if metric := cmp.Or(e.Metric, compare.MetricCapacity); metric != compare.MetricCapacity {
		return compare.AtEqualRate(e, metric)
	}
	return func(role, variant string, round int) (float64, bool) {
		runs := e.Select(func(r *record.Run) bool {
			return r.Step.Role == role && r.Step.Variant == variant && r.Step.Round == round
		})
		if len(runs) == 0 {
			return 0, false
		}
		v, ok, _ := capacity.Sample(runs, e.SLO)
		return v, ok
	}
}

// resident returns a variant's resident memory under load, in bytes: the median over its slices, or
// the largest of its runs; 0: not known.
func resident(e *record.Experiment, variant string) int64 {
	var seen []int64
	for i := range e.Slices {
		if s := &e.Slices[i]; s.Role == record.RoleMeasure && s.Variant == variant && s.RSS > 0 {
			seen = append(seen, s.RSS)
		}
	}
	if len(seen) > 0 {
		slices.Sort(seen)
		return seen[len(seen)/2]
	}
	most := int64(0)
	for _, r := range e.Runs {
		if r.Step.Variant == variant && r.Totals.Server != nil && !r.Step.Diagnostic() {
			most = max(most, r.Totals.Server.PeakRSS)
		}
	}
	return most
}
