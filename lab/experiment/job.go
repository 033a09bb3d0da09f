package experiment

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/jobs"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/target"
)

// driveJob starts a target that drives itself and reports its work on stdout. It may begin
// immediately: its output waits in the pipe until the plan's driver reads it.
func (b *runner) driveJob(ctx context.Context, s *environment, v scenario.Variant, r *record.Run, d *drive) error {
	told := b.Scenario.LoadOf(v)
	debug, err := s.jobFields(told, r.Step, d.plan)
	if err != nil {
		return err
	}
	p := b.Scenario.TargetOf(v).Process
	p.Args = append(append([]string(nil), p.Args...), told.Args...)
	spec, err := s.process("target", p)
	if err != nil {
		return err
	}
	out, in := io.Pipe()
	spec.ReadyLine, spec.ReadyURL, spec.Stdout = false, nil, in
	spec.CPUs, spec.Env = cpus(b.Scenario.Target.CPUs), append(spec.Env, changed(r.Step.Change)...)
	stop := context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) }) // before the start, there is no reader yet
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
	if b.Scenario.ByConcurrency() && told.Units == 0 && !mentions(told.Args, "${duration}") {
		d.driver, d.steady = jobs.NewSteady("job", out), true
	}
	d.close = func() {
		stop()
		out.Close() // later output of the job is discarded, so that it does not block
		s.target.Stop(grace)
		<-ended
	}
	if debug != "" && mentions(p.Args, "${debug}") {
		d.debug = "http://" + debug
		if err := s.awaitDebug(ctx, d.debug+"/"); err != nil {
			d.close()
			return err
		}
	}
	return nil
}

// jobFields sets the placeholders in a job's arguments, and returns its debug address.
func (s *environment) jobFields(told scenario.Load, step record.Step, plan load.Plan) (debug string, err error) {
	s.fields["rate"] = strconv.FormatFloat(step.Rate, 'g', -1, 64)
	s.fields["ramp_to"] = strconv.FormatFloat(step.RampTo, 'g', -1, 64)
	s.fields["concurrency"], s.fields["units"] = strconv.Itoa(step.Connections), strconv.Itoa(told.Units)
	s.fields["duration"], s.fields["warmup"] = plan.Length.String(), plan.Warmup.String()
	s.fields["rows"] = s.runner.rowsFile
	if debug, err = freeAddress(); err != nil {
		return "", fmt.Errorf("finding an address for ${debug}: %w", err)
	}
	s.fields["debug"] = debug
	return debug, nil
}

// freeAddress returns a free address on this machine. Another process may take it before the job
// does; then the job reports it and the run fails, which is too rare to be worth passing an open
// listener.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// A job prints no ready line, because its stdout contains its windows, so its debug address is
// polled until it answers. It must answer before its first windows have waited too long to be
// read.
const (
	debugPatience = 20 * time.Second
	debugPoll     = 10 * time.Millisecond
)

// awaitDebug returns when the job's debug address answers, or when the job has ended: then its
// output contains the reason, or it had too little work to be observed.
func (s *environment) awaitDebug(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, debugPatience)
	defer cancel()
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	poll := time.NewTicker(debugPoll)
	defer poll.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the job does not answer at %s, the address that ${debug} gave it: %w", url, ctx.Err())
		case <-s.target.Exited():
			return fmt.Errorf("the job ended before its debug address answered%s", lastWords(s.target.Err()))
		case <-poll.C:
		}
	}
}

// lastWords describes how a process ended.
func lastWords(err error) string {
	if err == nil {
		return ", with exit code 0: it had too little to do"
	}
	return ": " + err.Error()
}

func mentions(args []string, placeholder string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, placeholder) })
}
