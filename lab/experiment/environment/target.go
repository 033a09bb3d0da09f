package environment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"dyno/lab/record"
	"dyno/lab/scenario"
)

// Prepare starts the target of a variant, with a change of its runtime settings if there is one,
// and sends the requests of its setup. It returns the target and the base URL of its debug
// address (empty: it has none). If the target is prepared already, it only returns the same
// again.
func (s *Testbed) Prepare(ctx context.Context, v scenario.Variant, change *record.Change) (prepared record.Target, debug string, err error) {
	if s.ready != nil {
		return *s.ready, s.debug, nil
	}
	sc := s.programs.Scenario
	t := sc.TargetOf(v)
	if prepared, err = s.startTarget(ctx, t, change); err != nil {
		return prepared, "", err
	}
	if s.debug, err = s.debugOf(t); err != nil {
		return prepared, "", err
	}
	if err := s.setup(ctx, sc.SetupOf(v)); err != nil {
		return prepared, "", err
	}
	s.ready = &prepared
	return prepared, s.debug, nil
}

// startTarget starts the target's process, unless the target has a URL.
func (s *Testbed) startTarget(ctx context.Context, t scenario.Target, change *record.Change) (record.Target, error) {
	const name = "target"
	if t.URL != "" {
		s.fields[name+".url"] = t.URL
		return record.Target{PID: s.programs.pidOf(t.URL)}, nil
	}
	out, err := s.launch(ctx, t.Process, t.CPUs, change, nil)
	if err != nil {
		return out, err
	}
	out.Ready = s.Target.ReadyAfter()
	s.started(name, s.Target.Ready())
	if listen, ok := s.fields[name+".listen"]; ok {
		s.fields[name+".url"] = "http://" + listen
	}
	return out, nil
}

// launch starts the target's process. If stdout is not nil, the process is a job and prints no
// ready line.
func (s *Testbed) launch(ctx context.Context, p scenario.Process, granted float64, change *record.Change, stdout io.Writer) (record.Target, error) {
	spec, err := s.process("target", p)
	if err != nil {
		return record.Target{}, err
	}
	what := "target"
	if stdout != nil {
		what, spec.ReadyLine, spec.ReadyURL, spec.Stdout = "job", false, nil, stdout
	}
	spec.CPUs, spec.Env = cpus(granted), append(spec.Env, changed(change)...)
	if s.Target, err = Start(ctx, spec); err != nil {
		return record.Target{}, fmt.Errorf("starting the %s: %w", what, err)
	}
	return record.Target{Command: spec.Command, PID: s.Target.PID()}, nil
}

// Ended returns an error if the target has ended on its own; a job may end with exit code 0.
func (s *Testbed) Ended() error {
	p := s.Target
	if p == nil || !s.programs.Scenario.Load.Traits().Sends && p.Err() == nil {
		return nil
	}
	select {
	case <-p.Exited():
		if p.Err() == nil {
			return errors.New("the target ended during the run, with exit code 0")
		}
		return fmt.Errorf("the target ended during the run: %w", p.Err()) // the error shows the end of the log
	default:
		return nil
	}
}

// pidOf returns the process of a target that the lab did not start; 0: it is not known.
func (b *Programs) pidOf(address string) int {
	if b.PID != 0 {
		return b.PID
	}
	return ListenerAt(address)
}

// cpus returns the CPUs to which a target is pinned: as many as the scenario grants or, if it
// does not say, those that the generator does not use.
func cpus(granted float64) []int {
	_, forTarget := CPUPlan(runtime.NumCPU())
	if granted == 0 || int(granted) >= runtime.NumCPU() {
		return forTarget
	}
	var out []int
	for c := range max(1, int(granted)) {
		out = append(out, c)
	}
	return out
}

// debugOf returns the base URL of the target's debug address.
func (s *Testbed) debugOf(t scenario.Target) (string, error) {
	if t.Debug != "" {
		return s.Expand("target.debug", t.Debug)
	}
	if addr, ok := s.fields["target.debug"]; ok {
		if !strings.Contains(addr, "://") {
			addr = "http://" + addr
		}
		return addr, nil
	}
	return "", nil
}

// changed returns the environment variables that apply a change of runtime settings.
func changed(c *record.Change) []string {
	var env []string
	if c == nil {
		return nil
	}
	if c.GOGC != 0 {
		env = append(env, fmt.Sprintf("GOGC=%d", c.GOGC))
	}
	if c.Procs != 0 {
		env = append(env, fmt.Sprintf("GOMAXPROCS=%d", c.Procs))
	}
	return env
}

// StartJob starts a job, which drives itself and reports its work on stdout. fields are the
// placeholders of the run, apart from ${debug}. StartJob returns the base URL of the job's debug
// address; empty: the job has none.
func (s *Testbed) StartJob(ctx context.Context, v scenario.Variant, fields map[string]string, change *record.Change, stdout io.Writer) (started record.Target, debug string, err error) {
	maps.Copy(s.fields, fields)
	address, err := freeAddress()
	if err != nil {
		return started, "", fmt.Errorf("finding an address for ${debug}: %w", err)
	}
	s.fields["debug"] = address
	sc := s.programs.Scenario
	p := sc.TargetOf(v).Process
	p.Args = append(append([]string(nil), p.Args...), sc.LoadOf(v).Job.Args...)
	if started, err = s.launch(ctx, p, sc.Target.CPUs, change, stdout); err != nil {
		return started, "", err
	}
	if slices.ContainsFunc(p.Args, func(a string) bool { return strings.Contains(a, "${debug}") }) {
		debug = "http://" + address
	}
	return started, debug, nil
}

// freeAddress returns a free address on this machine. Another process may take it before the job
// does, which makes the run fail; that is too rare to justify passing an open listener.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// A job prints no ready line, because its stdout has its windows. The lab instead polls the job's
// debug address until it answers. The job's windows wait in the pipe meanwhile, so this must not
// take long.
const (
	debugPatience = 20 * time.Second
	debugPoll     = 10 * time.Millisecond
)

// AwaitDebug waits until the job's debug address answers. It returns an error if the job ends
// first.
func (s *Testbed) AwaitDebug(ctx context.Context, url string) error {
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
		case <-s.Target.Exited():
			return fmt.Errorf("the job ended before its debug address answered%s", lastOutput(s.Target.Err()))
		case <-poll.C:
		}
	}
}

// lastOutput describes how a job ended.
func lastOutput(err error) string {
	if err == nil {
		return ", with exit code 0: it had too little to do"
	}
	return ": " + err.Error()
}
