package runs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"dyno/lab/experiment/environment"
	"dyno/lab/probe"
	"dyno/lab/probe/host"
	"dyno/lab/probe/profiling"
	"dyno/lab/probe/usage"
	"dyno/lab/record"
)

// downstream is a process that the target calls and that is profiled in the same run. The methods
// of a nil downstream do nothing.
type downstream struct {
	inspection inspection
	debug      profiling.Address
	dir        string
	target     record.Target
	watch      *probe.Watcher
}

// DownstreamAnswers returns an error if the debug address in Downstream does not answer. It is
// called before anything is measured.
func (b *Runner) DownstreamAnswers(ctx context.Context) error {
	if b.Downstream == "" {
		return nil
	}
	at, err := b.Generator.Debug(b.Downstream, "")
	if err != nil {
		return err
	}
	w, err := probe.Watch(ctx, probe.Options{Debug: at})
	if err != nil {
		return fmt.Errorf("--also: %w", err)
	}
	w.Close()
	return nil
}

// watchDownstream begins to watch the process at Downstream, which the process target calls. It
// returns nil if there is none.
func (b *Runner) watchDownstream(ctx context.Context, target int, dir string) (*downstream, error) {
	if b.Downstream == "" {
		return nil, nil
	}
	at, err := b.Generator.Debug(b.Downstream, "")
	if err != nil {
		return nil, err
	}
	a := &downstream{debug: at, dir: filepath.Join(dir, record.DownstreamFolder)}
	a.target.PID = environment.ListenerAt(b.Downstream)
	notGo := host.ProgramOf(a.target.PID).NotGo
	watched := usage.Processes{PID: a.target.PID, Dependencies: []int{target}, Self: os.Getpid(), GeneratorPIDs: b.Generator.PIDs(), Calls: notGo}
	if a.watch, err = probe.Watch(ctx, probe.Options{Processes: watched, Debug: at}); err != nil {
		return nil, fmt.Errorf("--also: %w", err)
	}
	if err := os.MkdirAll(a.dir, 0o755); err != nil {
		return nil, err
	}
	describe(ctx, at, a.watch, &a.target)
	return a, nil
}

func (a *downstream) close() {
	if a != nil {
		a.watch.Close()
	}
}

// begin takes the downstream's profiles while the target's are taken.
func (a *downstream) begin(ctx context.Context, taking *sync.WaitGroup) {
	if a != nil {
		taking.Go(func() {
			a.inspection.take(ctx, profiling.Inspection{Debug: a.debug, Agent: a.target.Agent, Dir: a.dir}, a.target)
		})
	}
}

// finish stores the downstream's profiles and readings in the run.
func (a *downstream) finish(ctx context.Context, r *record.Run) error {
	if a == nil {
		return nil
	}
	a.inspection.name(ctx, a.dir)
	below := &record.Downstream{Target: a.target, System: a.watch.System(r.Begin, r.Begin+int64(r.Length))}
	below.Profiles = a.inspection.entered(r, "the downstream")
	r.Downstream = below
	return a.inspection.writeTrace(a.dir)
}
