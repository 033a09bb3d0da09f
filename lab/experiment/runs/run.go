// Package runs measures whole runs: each has a fresh process and one load, and is watched.
// Depending on its role, the target is also profiled, traced or changed.
//
// It does not choose what to run next, and judges only whether a run may be used: planners and
// analyses do the rest. Run owns every process and goroutine that it starts; all have ended when
// it returns, except processes that stay up for the next run (Keep).
package runs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"dyno/agent"
	"dyno/agent/monotonic"
	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/generator"
	"dyno/lab/load"
	"dyno/lab/probe"
	"dyno/lab/probe/host"
	"dyno/lab/probe/profiling"
	"dyno/lab/probe/usage"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/record/redact"
	"dyno/lab/scenario"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Runner measures the runs of an experiment one by one.
type Runner struct {
	Generator      *generator.Generator
	Warmup         time.Duration         // load before the measured time, not counted
	DiagnoseWarmup time.Duration         // the same, for a run of a diagnosis
	CPU            time.Duration         // length of a CPU profile; 0: the default
	Downstream     string                // debug address of a process that the target calls and that is profiled as well; empty: none
	OTLP           string                // address that receives the target's traces; empty: a free one, if the scenario sends traces
	Token          string                // bearer token of the target's debug address; empty: none
	Window         func(w record.Window) // receives each window of 100 ms of the current run, on another goroutine
	Outer          *environment.Testbed  // has the dependencies that all runs share; nil: each run starts its own

	kept map[string]*environment.Testbed // by variant: testbeds that stay up between runs; nil: each run has its own
}

// Keep makes the processes of each variant stay up between runs, until the returned function
// stops them.
func (b *Runner) Keep() (stop func()) {
	b.kept = map[string]*environment.Testbed{}
	return func() {
		for _, s := range b.kept {
			s.Down()
		}
	}
}

// Run carries out one step: a fresh process with its dependencies, under one load. If an error
// ends a run that was measured in part, Run returns that run, marked as invalid, with the error.
func (b *Runner) Run(ctx context.Context, step record.RunSpec, exp *record.Experiment) (*record.Run, error) {
	variant, err := b.Generator.Programs.Variant(step)
	if err != nil {
		return nil, err
	}
	id := exp.NextID(step)
	dir := exp.RunDir(id)
	r := &record.Run{ID: id, Spec: step, Started: time.Now(), SLO: exp.SLO, Machine: exp.Machine}
	s, up := b.kept[step.Variant]
	if !up {
		s = b.Generator.Programs.New(dir, b.Outer)
	}
	if step.Role == record.RoleTraced {
		end, err := s.TakeTraces(b.OTLP)
		if err != nil {
			return nil, err
		}
		defer end()
	}
	if !up {
		if err := s.Up(ctx); err != nil {
			s.Down()
			return nil, err
		}
	}
	profiled, err := b.drive(ctx, s, variant, r, dir)
	switch {
	case b.kept == nil || err != nil:
		defer s.Down()
		delete(b.kept, step.Variant)
	default: // it stays up for its next run, and must first finish the work of this one
		b.kept[step.Variant] = s
		environment.AwaitIdle(ctx, usage.NewMeter(usage.Processes{PID: r.Target.PID, Dependencies: s.DependencyPIDs()}))
	}
	if r.Unwritten != nil { // the folder could not be written: only the run in memory exists
		return r, err
	}
	if err != nil {
		if part, _ := folder.OpenRun(dir); part != nil && part.Length > 0 && part.Invalid != "" {
			return part, errors.Join(err, withoutProfiles(part, profiled))
		}
		return nil, err
	}
	if r, err = folder.OpenRun(dir); err != nil {
		return r, err
	}
	if err := withoutProfiles(r, profiled); err != nil {
		return nil, err
	}
	if step.Role == record.RoleTraced {
		return r, s.EnterStages(ctx, r)
	}
	return r, nil
}

// withoutProfiles computes a run's latency from the windows in which no profile of the target was
// taken; profiled is the number of the others.
func withoutProfiles(r *record.Run, profiled int) error {
	if profiled == 0 {
		return nil
	}
	if r.Spec.Role != record.RoleProfile {
		r.Warnings = append(r.Warnings, fmt.Sprintf("a profile was taken of the target during %d windows; latency is read from the others", profiled))
	}
	r.Totals.Classes = nil // classes cannot be separated by window
	if err := folder.ReadLatencies(r); err != nil {
		return err
	}
	return folder.Rewrite(r)
}

// drive starts the target, loads it, and writes the run's folder. It returns the number of
// windows in which a profile of the target was taken.
func (b *Runner) drive(ctx context.Context, s *environment.Testbed, v scenario.Variant, r *record.Run, dir string) (profiled int, err error) {
	d, err := b.newDrive(ctx, s, v, r)
	if err != nil {
		return 0, err
	}
	defer d.close()
	counters := r.Spec.Role == record.RoleProfile // counters slow each context switch of the target down
	notGo := host.ProgramOf(r.Target.PID).NotGo
	watch, err := probe.Watch(ctx, probe.Options{Debug: d.debug,
		Processes: usage.Processes{PID: r.Target.PID, Dependencies: s.DependencyPIDs(), Self: os.Getpid(), GeneratorPIDs: d.helpers, Counters: counters, Calls: notGo}})
	if err != nil {
		return 0, fmt.Errorf("watching the target: %w", err)
	}
	defer watch.Close()
	describe(ctx, d.debug, watch, &r.Target)
	if !r.Spec.Diagnostic() && !r.Target.Agent && s.Target != nil {
		r.Warnings = append(r.Warnings, r.Target.DebugRefused...) // a diagnosis lists them, and Doubts reports those of a target that the lab did not start
	}
	if r.Spec.Change != nil && (s.Target == nil || r.Target.Agent) {
		restore, err := b.intervene(ctx, d.debug, *r.Spec.Change)
		if err != nil {
			return 0, err
		}
		defer restore()
	}
	w := folder.Create(dir)
	speed := machineSpeed()
	defer load.PauseGC()()
	sink := &join{writer: w, watch: watch, window: b.Window, profiling: r.Spec.Role == record.RoleProfile}
	loading, enough := context.WithCancelCause(ctx)
	defer enough(nil)
	var taken *inspection
	var below *downstream
	if sink.profiling {
		if below, err = b.watchDownstream(ctx, r.Target.PID, dir); err != nil {
			return 0, err
		}
		defer below.close()
		restore := b.recordContention(ctx, d, r)
		defer restore()
		taken = b.inspect(loading, d, dir, r.Target, below, func() { enough(errProfiled) })
	}
	totals, plan, loadErr := load.Run(loading, d.plan, d.driver, sink, d.deliveries...)
	if ctx.Err() == nil && errors.Is(context.Cause(loading), errProfiled) {
		loadErr = nil // the run ends here, as planned
	}
	enough(errUnloaded)
	if taken != nil {
		taken.look(ctx, d, dir, r.Target)
	}
	usedUp := errors.Is(loadErr, load.ErrUsedUp)
	if usedUp {
		loadErr = nil // an invalid run, but no error
	}
	r.Totals, r.Load.Engine = totals, d.driver.Engine()
	if r.Axis() == record.AxisSessions && b.Generator.Scenario.LoadOf(v).Sessions.PerSession == 0 && !totals.ReceiveOnly() {
		r.Load.Model = "closed" // without a rate, a program's sessions send when they have an answer
	}
	if failed := (*load.GeneratorError)(nil); errors.As(loadErr, &failed) {
		r.Totals.Generator.Failed, loadErr = failed.Error(), nil // also an invalid run, but no error
	}
	var driverNotes []string
	if noting, ok := d.driver.(load.Noting); ok {
		driverNotes = noting.Notes()
	}
	r.Warnings, r.NoSuccess = append(r.Warnings, driverNotes...), generator.NoSuccess(r.Totals, driverNotes)
	if negotiating, ok := d.driver.(load.Negotiating); ok {
		r.Load.Protocol = negotiating.Protocol()
	}
	b.enterView(r, plan, sink)
	r.System.Speed = speed
	if taken != nil {
		loadErr = errors.Join(loadErr, taken.finish(ctx, r, dir), below.finish(ctx, r))
	}
	r.Validate()
	if g := r.Totals.Generator; r.Spec.Diagnostic() && !g.Limited && g.Failed == "" && r.Invalid != "" {
		r.Warnings, r.Invalid = append(r.Warnings, r.Invalid), "" // a diagnosis shows the reason with its findings
	}
	if usedUp && r.Invalid == "" {
		r.Invalid = d.requests.UsedUp(time.Duration(plan.Last-plan.Start), d.plan.Warmup+d.plan.Length)
	}
	ended := s.Ended()
	if d.steady && loadErr == nil {
		ended = nil // a stopped job may end with any exit code
	}
	if loadErr != nil || ended != nil {
		r.Invalid = cutShort(ctx, ended, plan.Length, d.plan.Length)
	}
	w.Close(r)
	return sink.profiled, errors.Join(loadErr, ended)
}

// enterView stores what was observed of the target during the measured time.
func (b *Runner) enterView(r *record.Run, plan *load.Plan, seen *join) {
	from, to := plan.MeasureFrom(), plan.SendUntil()
	r.Begin, r.Length = from, plan.Length
	r.BeginAt = time.Now().Add(time.Duration(from - monotonic.Now()))
	r.System = seen.watch.System(from, to)
	r.Totals.Server = seen.watch.Totals(from, to, r.Totals.Work(r.Length))
	t := r.Totals.Server
	if t == nil {
		return
	}
	if b.Generator.Scenario.Measure.CPU == scenario.CPUOfAll && r.Totals.ThroughputPerS > 0 {
		t.CPUMicrosPerRequest = (r.System.TargetCPU + r.System.DependencyCPU) / r.Totals.ThroughputPerS * 1e6
	}
	if len(seen.peaks) > 0 {
		t.Gauges = seen.peaks
	}
}

// errProfiled ends the load of a run under profiles. errUnloaded ends the taking of profiles with
// the load: later profiles would show an idle target.
var (
	errProfiled = errors.New("the profiles are taken")
	errUnloaded = errors.New("the load ended before the profiles were taken")
)

// describe stores a process's properties, and which debug interfaces it has.
func describe(ctx context.Context, debug profiling.Address, watch *probe.Watcher, t *record.Target) {
	info := watch.Info()
	if info != nil {
		t.Agent, t.Procs, t.Assembly = true, info.Procs, info.Assembly
	}
	t.MemoryLimit = memoryLimit(info, t.PID)
	if debug.URL != "" {
		profiles := profiling.Pprof(ctx, debug)
		t.Pprof = profiles == nil
		t.DebugRefused = refusals(watch.Agentless(), profiles)
	}
	if t.PID != 0 {
		t.Quota, t.Shared = host.Quota(t.PID)
		p := host.ProgramOf(t.PID)
		t.Program, t.Module, t.Package, t.Commit, t.Modified, t.NotGo = p.Name, p.Module, p.Package, p.Commit, p.Modified, p.NotGo
	}
}

// memoryLimit returns the soft limit of memory of a process, in bytes: the one that its agent reports or,
// if it has none or one of an earlier version, the one it was started with. 0: none, or not known.
func memoryLimit(info *agent.Info, pid int) int64 {
	switch {
	case info != nil && info.MemoryLimit != nil:
		return *info.MemoryLimit
	case pid != 0:
		return host.MemoryLimit(pid)
	}
	return 0
}

// refusals explains why a debug address did not give what was expected. The agent is optional, so
// an address without it is no refusal.
func refusals(agentless, profiles error) (out []string) {
	if profiles != nil {
		out = append(out, "the debug address gave no profiles: "+redact.Text(profiles.Error()))
	}
	if profiling.Refused(agentless) && !profiling.Refused(profiles) {
		out = append(out, "the debug address did not let the agent be used: "+redact.Text(agentless.Error()))
	}
	return out
}

// cutShort explains why a run that was cut short is invalid.
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

// join adds the readings of the target to each window of the client, and writes the window.
type join struct {
	writer   *folder.Writer
	watch    *probe.Watcher
	window   func(record.Window)
	profiled int
	// profiling is true if the whole run is under profiles.
	profiling bool
	peaks     map[string]float64 // maximum of each gauge that the driver reported in the measured time; nil: it reported none
}

func (j *join) Window(w record.Window, hists map[string]*hdrhistogram.Histogram) error {
	w.Server = j.merge(w.Server, j.watch.Server(w.Start, environment.ReadWait), w.Phase)
	if j.profiling || w.Server != nil && w.Server.Profiling {
		w.Phase = record.PhaseProfile
		j.profiled++
	}
	j.window(w)
	return j.writer.Window(w, hists)
}

// merge adds the gauges that a job reported to the readings of the target. The gauges of a
// service come from its agent and are among the readings already.
func (j *join) merge(reported, seen *record.Server, phase string) *record.Server {
	if reported == nil || len(reported.Gauges) == 0 {
		return seen
	}
	if seen == nil {
		seen = &record.Server{}
	}
	if seen.Gauges == nil {
		seen.Gauges = map[string]float64{}
	}
	maps.Copy(seen.Gauges, reported.Gauges)
	if phase != record.PhaseMeasure {
		return seen
	}
	if j.peaks == nil {
		j.peaks = map[string]float64{}
	}
	for name, v := range reported.Gauges {
		if peak, known := j.peaks[name]; !known || v > peak {
			j.peaks[name] = v
		}
	}
	return seen
}
