package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"dyno/agent"
	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/probe"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/parts/process"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// runner holds the parts of an experiment that its runs share: options, variants and built
// programs.
type runner struct {
	Options
	variants []scenario.Variant
	bins     map[string]string // Go package -> its binary
	rows     *corpus.Rows      // rows of the feeder; nil: there is none
	rowsFile string            // the file of a job's rows; empty: there is none
	outer    *environment      // the companions that all runs of a job share; nil: each run has its own
	tmp      string            // folder of the binaries, apart from the record
	// environments are those that stay up between runs, by variant; nil: each run has its own
	// processes.
	environments map[string]*environment
}

// newRunner builds every program that the scenario names.
func newRunner(ctx context.Context, o Options, variants []scenario.Variant) (*runner, error) {
	tmp, err := os.MkdirTemp("", "dyno-")
	if err != nil {
		return nil, err
	}
	b := &runner{Options: o, variants: variants, bins: map[string]string{}, tmp: tmp}
	packages := []string{}
	for _, c := range o.Scenario.Companions {
		packages = append(packages, c.Build)
	}
	if f := o.Scenario.Load.Feeder; f != nil {
		packages = append(packages, f.Build)
	}
	for _, v := range variants {
		packages = append(packages, o.Scenario.TargetOf(v).Build)
	}
	for _, pkg := range packages {
		if pkg == "" || b.bins[pkg] != "" {
			continue
		}
		o.Progress.Say("building " + pkg)
		// One folder per package: ./old/server and ./new/server are both called server.
		bin, err := process.Build(ctx, o.Scenario.Root, pkg, filepath.Join(tmp, strconv.Itoa(len(b.bins))))
		if err != nil {
			b.close()
			return nil, err // it names the package
		}
		b.bins[pkg] = bin
	}
	return b, nil
}

func (b *runner) close() { os.RemoveAll(b.tmp) }

// run carries out one step: a fresh process, its companions, one steady load. If an error ends a
// run that was partly measured, run returns that run as invalid with the error.
func (b *runner) run(ctx context.Context, step record.Step, exp *record.Experiment) (*record.Run, error) {
	variant, err := b.variant(step)
	if err != nil {
		return nil, err
	}
	id := exp.NextID(step)
	dir := exp.RunDir(id)
	r := &record.Run{ID: id, Step: step, Started: time.Now(), SLO: exp.SLO, Machine: exp.Machine}
	logs := filepath.Join(dir, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, err
	}
	s, up := b.environments[step.Variant]
	if !up {
		s = &environment{runner: b, outer: b.outer, fields: b.outer.copyFields(), logs: logs, scratch: filepath.Join(dir, "scratch")}
	}
	if step.Role == record.RoleTraced {
		if err := s.takeTraces(b.OTLP); err != nil {
			return nil, err
		}
		defer s.traces.Close()
	}
	if !up {
		companions := b.Scenario.Companions
		if b.outer != nil {
			companions = b.companions(false)
		}
		if err := s.up(ctx, companions); err != nil {
			s.down()
			return nil, err
		}
	}
	profiled, err := b.drive(ctx, s, variant, r, dir)
	switch {
	case b.environments == nil || err != nil:
		defer s.down()
		delete(b.environments, step.Variant)
	default: // it stays up for its next turn, and must not continue to work on this one
		b.environments[step.Variant] = s
		awaitIdle(ctx, probe.NewMeter(probe.Options{PID: r.Target.PID, Companions: s.companionPIDs()}))
	}
	if err != nil {
		if part, _ := record.OpenRun(dir); part != nil && part.Length > 0 && part.Invalid != "" {
			return part, errors.Join(err, leaveOut(part, profiled))
		}
		return nil, err
	}
	if r, err = record.OpenRun(dir); err != nil {
		return r, err
	}
	if err := leaveOut(r, profiled); err != nil {
		return nil, err
	}
	if s.traces != nil {
		return r, s.stages(ctx, r)
	}
	return r, nil
}

// leaveOut computes a run's latency from the windows without a profile of the target; profiled is
// the number of windows with one.
func leaveOut(r *record.Run, profiled int) error {
	if profiled == 0 {
		return nil
	}
	if r.Step.Role != record.RoleProfile {
		r.Warnings = append(r.Warnings, fmt.Sprintf("a profile was taken of the target during %d windows; latency is read from the others", profiled))
	}
	r.Totals.Classes = nil // they cannot be separated by window
	if err := r.ReadLatencies(); err != nil {
		return err
	}
	return r.Rewrite()
}

// variant returns the variant that a step starts. An ablation starts the last variant without the
// step's change.
func (b *runner) variant(step record.Step) (scenario.Variant, error) {
	for _, v := range b.variants {
		if v.Name != step.Variant {
			continue
		}
		if step.Role != record.RoleAblation {
			return v, nil
		}
		last := b.variants[len(b.variants)-1]
		last.Name = last.Name + " without " + v.Name
		last.Args = append(append([]string(nil), last.Args...), v.Undo...)
		return last, nil
	}
	return scenario.Variant{}, fmt.Errorf("no variant is called %q", step.Variant)
}

// leavable lists the ladder's steps that have undo arguments, except the last: the ladder without
// that one is the step before it.
func (b *runner) leavable() []string {
	var names []string
	for _, v := range b.variants[:len(b.variants)-1] {
		if len(v.Undo) > 0 {
			names = append(names, v.Name)
		}
	}
	return names
}

// drive starts the target, loads it, and writes the run's folder. It returns the number of
// windows with a profile of the target.
func (b *runner) drive(ctx context.Context, s *environment, v scenario.Variant, r *record.Run, dir string) (profiled int, err error) {
	d, err := b.newDrive(ctx, s, v, r)
	if err != nil {
		return 0, err
	}
	defer d.close()
	watch, err := probe.Watch(ctx, probe.Options{PID: r.Target.PID, Debug: d.debug, Token: b.Token, Companions: s.companionPIDs(), Self: os.Getpid(),
		Counters: r.Step.Role == record.RoleProfile}) // counters slow each context switch of the target
	if err != nil {
		return 0, fmt.Errorf("watching the target: %w", err)
	}
	defer watch.Close()
	describe(ctx, d.debug, b.Token, watch.Info(), &r.Target)
	if r.Step.Change != nil && (s.target == nil || r.Target.Agent) {
		restore, err := b.intervene(ctx, d.debug, *r.Step.Change)
		if err != nil {
			return 0, err
		}
		defer restore()
	}
	w, err := record.Create(dir)
	if err != nil {
		return 0, err
	}
	speed := machineSpeed()
	defer pauseGC()()
	sink := &join{writer: w, watch: watch, progress: b.Progress, profiling: r.Step.Role == record.RoleProfile}
	loading, enough := context.WithCancelCause(ctx)
	defer enough(nil)
	var looked *inspection
	var below *also
	if sink.profiling {
		if below, err = b.watchAlso(ctx, r.Target.PID, dir); err != nil {
			return 0, err
		}
		defer below.close()
		restore := b.recordContention(ctx, d, r)
		defer restore()
		looked = b.inspect(loading, d, dir, r.Target, below, func() { enough(errProfiled) })
	}
	totals, plan, loadErr := load.Run(loading, d.plan, d.driver, sink, d.receipts...)
	if ctx.Err() == nil && errors.Is(context.Cause(loading), errProfiled) {
		loadErr = nil // the run ends here as planned
	}
	enough(errUnloaded)
	r.Totals = totals
	r.Load.Engine = d.driver.Engine()
	r.Begin, r.Length = plan.MeasureFrom(), plan.Length
	r.Environment = watch.Environment(plan.MeasureFrom(), plan.OfferUntil())
	r.Environment.Speed = speed
	r.Totals.Server = watch.Totals(plan.MeasureFrom(), plan.OfferUntil(), served(r))
	if t := r.Totals.Server; t != nil && b.Scenario.Measure.CPU == scenario.CPUOfAll && r.Totals.AchievedPerS > 0 {
		t.CPUMicrosPerRequest = (r.Environment.TargetCPU + r.Environment.CompanionCPU) / r.Totals.AchievedPerS * 1e6
	}
	if r.Totals.Server != nil && len(sink.peaks) > 0 {
		r.Totals.Server.Gauges = sink.peaks
	}
	if looked != nil {
		looked.finish(r)
		loadErr = errors.Join(loadErr, below.finish(r))
		if looked.trace != nil {
			loadErr = errors.Join(loadErr, record.WriteTrace(dir, looked.trace))
		}
	}
	r.Judge()
	if r.Step.Diagnostic() && !r.Totals.Generator.Limited && r.Invalid != "" {
		r.Warnings, r.Invalid = append(r.Warnings, r.Invalid), "" // the reason is shown with the findings, not in place of them
	}
	ended := b.died(s.target)
	if d.steady && loadErr == nil {
		ended = nil // a stopped job may end with any exit code
	}
	if loadErr != nil || ended != nil {
		r.Invalid = cutShort(ctx, ended, plan.Length, d.plan.Length)
	}
	return sink.profiled, errors.Join(loadErr, ended, w.Close(r))
}

// errProfiled ends the load of a run under profiles. errUnloaded ends the profiles with the load:
// later profiles would show an idle target.
var (
	errProfiled = errors.New("the profiles are taken")
	errUnloaded = errors.New("the load ended before the profiles were taken")
)

// describe enters a process's properties and the interfaces that it offers.
func describe(ctx context.Context, debug, token string, info *agent.Info, t *record.Target) {
	if info != nil {
		t.Agent, t.Procs, t.Assembly = true, info.Procs, info.Assembly
	}
	t.Pprof = debug != "" && probe.HasPprof(ctx, debug, token)
	if t.PID != 0 {
		t.Quota, t.Shared = probe.Quota(t.PID)
		t.Program, t.Module, t.NotGo = probe.Program(t.PID)
	}
}

// cutShort explains why a partial run does not count.
func cutShort(ctx context.Context, ended error, measured, planned time.Duration) string {
	why := "the load failed"
	switch {
	case ctx.Err() != nil:
		why = "it was interrupted"
	case ended != nil:
		why = "the target ended during the run"
	}
	return fmt.Sprintf("%s; %v of %v were measured", why, measured, planned)
}

// garbage bounds the memory that a run may leave uncollected, in bytes.
const garbage = 1 << 30

// pauseGC runs the collector now and then pauses it until the returned function is called, unless
// memory runs short. A collection stops the sending threads until every other thread has reached
// a safe point, and a thread that waits for a CPU behind the target reaches it late: requests
// would be sent tens of milliseconds after their time.
func pauseGC() (release func()) {
	runtime.GC()
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(garbage)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// served returns the number of offers that the target worked on, for its cost per request.
func served(r *record.Run) int64 {
	return int64(r.Totals.AchievedPerS * r.Length.Seconds())
}

// died returns an error if the target ended although the lab did not stop it. A job ends when it
// is done.
func (b *runner) died(p *process.Process) error {
	if p == nil || b.Scenario.Load.Kind == scenario.Jobs && p.Err() == nil {
		return nil
	}
	select {
	case <-p.Exited():
		if p.Err() == nil {
			return errors.New("the target ended during the run, with exit code 0")
		}
		return fmt.Errorf("the target ended during the run: %w", p.Err()) // it shows the end of the log
	default:
		return nil
	}
}

// join merges the target's view of each window with the client's before the window is written.
type join struct {
	writer   *record.Writer
	watch    *probe.Watcher
	progress Progress
	profiled int
	// profiling reports whether the whole run is under profiles.
	profiling bool
	peaks     map[string]float64 // maximum of each gauge that the driver reported, over the measured time; nil: it reported none
}

// serverWait bounds the wait for the target's view of a window. The agent answers within
// milliseconds of a window's end; one that is starved for longer is recorded as not seen.
const serverWait = 300 * time.Millisecond

func (j *join) Window(w record.Window, hists map[string]*hdrhistogram.Histogram) error {
	w.Server = j.merge(w.Server, j.watch.Server(w.Start, serverWait), w.Phase)
	if j.profiling || w.Server != nil && w.Server.Profiling {
		w.Phase = record.PhaseProfile
		j.profiled++
	}
	j.progress.Window(w)
	return j.writer.Window(w, hists)
}

// merge adds the gauges that a job reported to the target's view. A service reports its gauges
// through the agent, which watch has read.
func (j *join) merge(told, seen *record.Server, phase string) *record.Server {
	if told == nil || len(told.Gauges) == 0 {
		return seen
	}
	if seen == nil {
		seen = &record.Server{}
	}
	if seen.Gauges == nil {
		seen.Gauges = map[string]float64{}
	}
	maps.Copy(seen.Gauges, told.Gauges)
	if phase != record.PhaseMeasure {
		return seen
	}
	if j.peaks == nil {
		j.peaks = map[string]float64{}
	}
	for name, v := range told.Gauges {
		if peak, known := j.peaks[name]; !known || v > peak {
			j.peaks[name] = v
		}
	}
	return seen
}
