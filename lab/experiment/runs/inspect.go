package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dyno/agent"
	"dyno/lab/probe/linuxperf"
	"dyno/lab/probe/perf"
	"dyno/lab/probe/profiling"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/record/redact"
)

// inspection takes the profiles of one process under load.
type inspection struct {
	ended    sync.WaitGroup
	length   time.Duration // of a CPU profile; 0: the default
	profiles []record.ProfileFile
	trace    *record.Trace
	// recording still lacks the names of its functions; nil: there is no recording.
	recording *linuxperf.Recording
	err       error
}

// settle is how long the load lasts before the first profile, in addition to its warm-up.
const settle = 200 * time.Millisecond

// inspect begins to take profiles after the warm-up; it calls done when all are taken.
func (b *Runner) inspect(ctx context.Context, d *drive, dir string, t record.Target, below *downstream, done func()) *inspection {
	in := &inspection{length: b.CPU}
	in.ended.Go(func() {
		defer done()
		timer := time.NewTimer(d.plan.Warmup + settle)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		b.Generator.Programs.Say("taking profiles")
		var taking sync.WaitGroup
		below.begin(ctx, &taking)
		in.take(ctx, profiling.Inspection{Debug: d.debug, Agent: t.Agent, Dir: dir, CPU: b.CPU}, t)
		taking.Wait()
	})
	return in
}

func (in *inspection) take(ctx context.Context, how profiling.Inspection, t record.Target) {
	switch {
	case t.Pprof:
		in.profiles, in.trace, in.err = profiling.Inspect(ctx, how)
	case t.PID != 0:
		in.err = in.sampleExternally(ctx, t, how.Dir)
	}
}

// look takes the profile of the goroutines that are left when the load has ended.
func (in *inspection) look(ctx context.Context, d *drive, dir string, t record.Target) {
	in.ended.Wait()
	if t.Pprof && in.err == nil && len(in.profiles) > 0 {
		in.profiles = append(in.profiles, profiling.Left(ctx, profiling.Inspection{Debug: d.debug, Agent: t.Agent, Dir: dir}, in.profiles))
	}
}

// recordContention makes the target record lock contention before the load begins. The runtime
// would otherwise report nothing about a lock whose queue never becomes empty.
func (b *Runner) recordContention(ctx context.Context, d *drive, r *record.Run) (restore func()) {
	if !r.Target.Agent {
		return func() {}
	}
	setBack, err := profiling.RecordContention(context.WithoutCancel(ctx), d.debug) // without cancellation, as in intervene
	if err != nil {
		r.Warnings = append(r.Warnings, "contention was not recorded: "+redact.Text(err.Error()))
		return func() {}
	}
	return func() {
		if err := setBack(); err != nil {
			b.Generator.Programs.Say("the target still records contention, because its settings could not be restored: " + redact.Text(err.Error()))
		}
	}
}

// externalSampling is how long a process that serves no profiles is sampled.
const externalSampling = 2 * time.Second

// sampleExternally samples the target through the kernel (perf).
func (in *inspection) sampleExternally(ctx context.Context, t record.Target, dir string) (err error) {
	in.length = cmp.Or(in.length, externalSampling)
	if t.NotGo {
		in.recording, err = linuxperf.Record(ctx, t.PID, t.Program, in.length)
		if err != nil {
			return in.sampled(nil, err, dir)
		}
		return nil
	}
	encoded, err := perf.Profile(ctx, t.PID, in.length)
	return in.sampled(encoded, err, dir)
}

// sampled stores the profile of a sampled target, or why there is none.
func (in *inspection) sampled(encoded []byte, err error, dir string) error {
	if errors.Is(err, perf.ErrUnsupported) || errors.Is(err, linuxperf.ErrUnsupported) {
		in.profiles = []record.ProfileFile{{Kind: record.ProfileCPU, Why: err.Error()}}
		return nil
	}
	if err != nil {
		return err
	}
	file, err := folder.AddProfile(dir, record.ProfileCPU, encoded, in.length.Seconds())
	in.profiles = []record.ProfileFile{file}
	return err
}

// finish waits for the profiles, adds them to the run, and writes the trace to the run's folder.
func (in *inspection) finish(ctx context.Context, r *record.Run, dir string) error {
	in.ended.Wait()
	in.name(ctx, dir)
	r.Profiles = append(r.Profiles, in.entered(r, "the target")...)
	return in.writeTrace(dir)
}

// name resolves the names of the functions in a recording, if there is one. It runs after the
// load, so that it does not disturb the load.
func (in *inspection) name(ctx context.Context, dir string) {
	if in.recording != nil {
		encoded, err := in.recording.Profile(ctx)
		in.err = errors.Join(in.err, in.sampled(encoded, err, dir))
	}
}

// writeTrace writes the trace, if there is one.
func (in *inspection) writeTrace(dir string) error {
	if in.trace == nil {
		return nil
	}
	return folder.WriteTrace(dir, in.trace)
}

// entered returns the profiles, each with the number of requests that were answered while it was
// taken.
func (in *inspection) entered(r *record.Run, whose string) (out []record.ProfileFile) {
	if in.err != nil {
		r.Warnings = append(r.Warnings, whose+" could not be profiled: "+redact.Text(in.err.Error()))
	}
	for _, p := range in.profiles {
		p.Requests = r.Totals.ThroughputPerS * p.Seconds
		out = append(out, p)
	}
	if in.trace != nil {
		in.trace.Requests = r.Totals.ThroughputPerS * in.trace.Seconds
	}
	return out
}

// intervene changes the target's runtime settings through its agent, and returns the function
// that restores them. Both ignore the end of ctx: the service goes on after the experiment, and
// must not keep a changed setting.
func (b *Runner) intervene(ctx context.Context, debug profiling.Address, change record.Change) (restore func(), err error) {
	var c agent.Control
	if change.GOGC != 0 {
		c.GOGC = &change.GOGC
	}
	if change.Procs != 0 {
		c.Procs = &change.Procs
	}
	ctx = context.WithoutCancel(ctx) // Control sets its own time limit
	before, err := profiling.Control(ctx, debug, c)
	if err == nil && before.GOGC != nil {
		// The change assumes Go's default. If the target had another value, scale that by the
		// same factor.
		err = b.rescale(ctx, debug, *before.GOGC, change.GOGC)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotChanged, err)
	}
	return func() {
		if _, err := profiling.Control(ctx, debug, before); err != nil {
			b.Generator.Programs.Say("the target keeps " + settings(c) + " instead of " + settings(before) + ", which could not be restored: " + redact.Text(err.Error()))
		}
	}, nil
}

// ErrNotChanged means that an intervention could not change the target's settings.
var ErrNotChanged = errors.New("the target's settings could not be changed")

// Go's default of GOGC, and the highest value that the agent accepts.
const (
	gogcDefault = 100
	gogcMost    = 100_000
)

// rescale corrects a GOGC that was just set, in proportion to the previous value. If the
// collector was off, it is switched off again.
func (b *Runner) rescale(ctx context.Context, debug profiling.Address, before, set int) error {
	if before == gogcDefault {
		return nil
	}
	wanted := before
	if before > 0 {
		wanted = min(before*set/gogcDefault, gogcMost)
	}
	if _, err := profiling.Control(ctx, debug, agent.Control{GOGC: &wanted}); err != nil {
		return err
	}
	if before <= 0 {
		return errors.New("it has switched the collector off (GOGC=off)")
	}
	return nil
}

// settings describes the settings that an intervention changes.
func settings(c agent.Control) string {
	switch {
	case c.GOGC != nil:
		return fmt.Sprintf("GOGC=%d", *c.GOGC)
	case c.Procs != nil:
		return fmt.Sprintf("GOMAXPROCS=%d", *c.Procs)
	}
	return "its settings"
}
