package runs

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/generator"
	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/probe/profiling"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// drive is a target that is ready, and what is needed to load it.
type drive struct {
	plan       load.Plan
	requests   *generator.Requests // nil: the load is a job or sessions
	driver     load.Driver
	deliveries []load.Deliveries
	helpers    []int             // other processes that generate load
	steady     bool              // the job is stopped after its measured time, while it is still working
	debug      profiling.Address // the target's; without a URL, the target has none
	close      func()
}

// newDrive starts the target, sets it up and makes the driver that will load it.
func (b *Runner) newDrive(ctx context.Context, s *environment.Testbed, v scenario.Variant, r *record.Run) (*drive, error) {
	d := &drive{close: func() {}}
	warmup := b.Warmup
	if r.Spec.Diagnostic() {
		warmup = b.DiagnoseWarmup
	}
	var err error
	if d.plan, err = b.Generator.Plan(r, v, warmup); err != nil {
		return nil, &scenario.Fault{Err: err}
	}
	if !b.Generator.Scenario.Load.Traits().Sends {
		return d, b.driveJob(ctx, s, v, r, d)
	}
	var debug string
	if r.Target, debug, err = s.Prepare(ctx, v, r.Spec.Change); err != nil {
		return nil, err
	}
	if d.debug, err = b.Generator.Debug(debug, b.Token); err != nil {
		return nil, &scenario.Fault{Err: err}
	}
	if b.Generator.Scenario.Load.Traits().Axis == workload.AxisSessions {
		of, err := b.Generator.Sessions(ctx, s, v, r, &d.plan)
		if err == nil {
			d.driver, d.close, d.helpers = of.Driver, of.Close, b.Generator.PIDs()
			if of.PID != 0 {
				d.helpers = append(d.helpers, of.PID)
			}
		}
		return d, err
	}
	requests, err := b.Generator.Requests(ctx, s, v, r)
	if err != nil {
		return nil, err
	}
	d.requests, d.driver, d.plan.Classes, d.helpers = &requests, requests.Driver, requests.Classes, b.Generator.PIDs()
	follow, end, err := b.Generator.Deliveries(ctx, s, &requests)
	if err != nil {
		return nil, err
	}
	d.deliveries, d.close = follow, end
	return d, nil
}

// driveJob starts a target that drives itself and reports its work on stdout. It may begin
// immediately: its output waits in the pipe until the plan's driver reads it.
func (b *Runner) driveJob(ctx context.Context, s *environment.Testbed, v scenario.Variant, r *record.Run, d *drive) error {
	of := b.Generator.Scenario.LoadOf(v)
	fields := map[string]string{
		"rate": strconv.FormatFloat(r.Spec.Rate, 'g', -1, 64), "ramp_to": strconv.FormatFloat(r.Spec.RampTo, 'g', -1, 64),
		"concurrency": strconv.Itoa(r.Spec.Connections), "units": strconv.Itoa(of.Units),
		"duration": d.plan.Length.String(), "warmup": d.plan.Warmup.String(), "rows": b.Generator.RowsFile,
	}
	out, in := io.Pipe()
	stop := context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) }) // until the load begins, nothing else ends a blocked write
	var err error
	if r.Target, d.debug.URL, err = s.StartJob(ctx, v, fields, r.Spec.Change, in); err != nil {
		stop()
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-s.Target.Exited()
		in.Close()
	}()
	d.driver = windows.New("job", out)
	timed := slices.ContainsFunc(of.Job.Args, func(a string) bool { return strings.Contains(a, "${duration}") })
	if of.Traits().Axis != workload.AxisRate && of.Units == 0 && !timed {
		d.driver, d.steady = windows.NewSteady("job", out), true
	}
	d.close = func() {
		stop()
		out.Close() // from here on the job's output is discarded, so that the job does not block
		s.Target.Stop(environment.Grace)
		<-ended
	}
	if d.debug.URL == "" {
		return nil
	}
	if err := s.AwaitDebug(ctx, d.debug.URL+"/"); err != nil {
		d.close()
		return err
	}
	return nil
}
