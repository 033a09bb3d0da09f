package experiment

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"dyno/lab/load/jobs"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/target"
)

// driveJob starts a target that drives itself and reports what it does on stdout. It may begin at once:
// what it prints waits in the pipe until the plan's driver reads it.
func (b *bench) driveJob(ctx context.Context, s *stand, t scenario.Target, r *record.Run, d *drive) error {
	s.fields["rate"] = strconv.FormatFloat(r.Step.Rate, 'g', -1, 64)
	s.fields["ramp_to"] = strconv.FormatFloat(r.Step.RampTo, 'g', -1, 64)
	s.fields["duration"], s.fields["warmup"] = d.plan.Length.String(), d.plan.Warmup.String()
	p := t.Process
	p.Args = append(append([]string(nil), p.Args...), b.Scenario.Load.Args...)
	spec, err := s.process("target", p)
	if err != nil {
		return err
	}
	out, in := io.Pipe()
	spec.ReadyLine, spec.ReadyURL, spec.Stdout = false, nil, in
	spec.CPUs = cpus(t.CPUs)
	stop := context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) }) // before the start: nobody reads yet
	if s.target, err = target.Start(ctx, spec); err != nil {
		stop()
		return fmt.Errorf("starting the job: %w", err)
	}
	r.Target = record.Target{Command: spec.Command, PID: s.target.PID()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-s.target.Exited()
		in.Close()
	}()
	d.driver = jobs.New("job", out)
	d.close = func() {
		stop()
		out.Close() // a job that still prints is told that nobody listens
		s.target.Stop(grace)
		<-ended
	}
	return nil
}
