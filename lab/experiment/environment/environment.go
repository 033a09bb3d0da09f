// Package environment starts everything that a run needs in addition to its load: it builds the
// scenario's programs, starts the target and its dependencies, fills in their placeholders, and
// sends the requests of the setup.
//
// It neither generates load nor measures: packages generator and runs do that. A Testbed owns its
// processes until Down; its goroutines end with the call that started them.
package environment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"dyno/lab/probe/otlp"
	"dyno/lab/probe/usage"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/scenario"
	"dyno/lab/workload"
	"dyno/parts/process"
)

// Testbed holds the processes of one run: the target and its dependencies.
type Testbed struct {
	Target *process.Process // nil: it is not started, or the lab did not start it

	programs     *Programs
	outer        *Testbed // has dependencies that several testbeds share; nil: there are none
	dependencies []*process.Process
	fields       map[string]string // ${NAME.FIELD} -> value
	logs         string            // folder of the processes' logs
	scratch      string            // contains a folder for each process; Down removes it
	traces       *otlp.Receiver    // nil: the run is not traced
	ready        *record.Target    // the target after its setup; nil: not set up
	debug        string            // base URL of its debug address; empty: none
}

// Grace is the time that a process has to end after SIGTERM. The run is recorded before its
// target is stopped, so an overloaded target need not finish its work.
const Grace = 500 * time.Millisecond

// New returns a testbed without processes, which will write their logs below dir. The testbed
// inherits outer's fields.
func (b *Programs) New(dir string, outer *Testbed) *Testbed {
	s := &Testbed{programs: b, outer: outer, fields: map[string]string{}, logs: filepath.Join(dir, "logs"), scratch: filepath.Join(dir, "scratch")}
	if outer != nil {
		maps.Copy(s.fields, outer.fields)
	}
	return s
}

// Running returns the testbed of a target that the lab did not start; its dependencies are not
// known.
func (b *Programs) Running(url string) *Testbed {
	return &Testbed{programs: b, fields: map[string]string{"target.url": url}}
}

// Expand replaces the placeholders in a text of the scenario.
func (s *Testbed) Expand(what, text string) (string, error) { return s.expand(what, text, nil) }

// With replaces the placeholders in a text, in which others replace or add to the testbed's own.
func (s *Testbed) With(what, text string, others map[string]string) (string, error) {
	return s.expand(what, text, others)
}

// Repeated replaces the placeholders in the n-th copy of a text.
func (s *Testbed) Repeated(what, text string, n int) (string, error) {
	return s.expand(what, text, map[string]string{workload.Count: strconv.Itoa(n)})
}

// Template replaces the testbed's placeholders in a text whose other placeholders the load fills
// in for each request. Placeholders of the load, those named in kept, and $$ stay as they are
// written.
func (s *Testbed) Template(what, text string, kept []string) (string, error) {
	tokens, err := workload.Tokens(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	var out strings.Builder
	for _, t := range tokens {
		piece := t.Text
		if t.Name != "" && !slices.Contains(kept, t.Name) {
			if piece, err = s.Expand(what, t.Text); err != nil {
				return "", err
			}
		}
		out.WriteString(piece)
	}
	return out.String(), nil
}

// expand replaces placeholders by others or by the testbed's fields. Its error lists the names of
// the fields.
func (s *Testbed) expand(what, text string, others map[string]string) (string, error) {
	out, err := workload.Expand(text, func(name string) (string, bool) {
		if v, ok := others[name]; ok {
			return v, true
		}
		v, ok := s.fields[name]
		return v, ok
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w (known here: %s)", what, err, strings.Join(slices.Sorted(maps.Keys(s.fields)), ", "))
	}
	return out, nil
}

// process turns a process of the scenario into a process.Spec.
func (s *Testbed) process(name string, p scenario.Process) (process.Spec, error) {
	command := s.programs.command(p)
	if s.traces != nil {
		command = append(command, p.Traced...)
	}
	if err := s.ownFolder(name); err != nil {
		return process.Spec{}, err
	}
	for i := range command {
		var err error
		if command[i], err = s.Expand(name+": argument "+command[i], command[i]); err != nil {
			return process.Spec{}, err
		}
	}
	spec := process.Spec{Name: name, Command: command, ReadyLine: p.Ready.AwaitLine(), ReadyTimeout: p.Ready.Timeout,
		Log: filepath.Join(s.logs, name+".log")}
	if p.Ready.Port != nil {
		spec.Find = (&ports{wanted: *p.Ready.Port}).find
	}
	if p.Dir != "" {
		spec.Dir = s.programs.Scenario.Resolve(p.Dir)
	}
	for key, value := range p.Env {
		value, err := s.Expand(name+": env "+key, value)
		if err != nil {
			return process.Spec{}, err
		}
		spec.Env = append(spec.Env, key+"="+value)
	}
	slices.Sort(spec.Env)
	if p.Ready.URL != "" {
		spec.ReadyURL = func(line map[string]string) (string, error) {
			s.started(name, line)
			return s.Expand(name+": ready.url", p.Ready.URL)
		}
	}
	return spec, nil
}

// ownFolder makes a new folder for a process and sets ${scratch} to it.
func (s *Testbed) ownFolder(name string) error {
	dir, err := filepath.Abs(filepath.Join(s.scratch, name))
	if err != nil {
		return err
	}
	s.fields[workload.Scratch] = dir
	return os.MkdirAll(dir, 0o755)
}

// started stores the fields of a process's ready line.
func (s *Testbed) started(name string, line map[string]string) {
	for field, value := range line {
		s.fields[name+"."+field] = value
	}
}

// Up starts the dependencies in the scenario's order, except those that outer has started.
func (s *Testbed) Up(ctx context.Context) error {
	return s.up(ctx, func(c scenario.Dependency) bool { return s.outer == nil || !c.Shared })
}

// UpShared starts the dependencies that are shared by the testbeds whose outer is this one.
func (s *Testbed) UpShared(ctx context.Context) error {
	return s.up(ctx, func(c scenario.Dependency) bool { return c.Shared })
}

func (s *Testbed) up(ctx context.Context, chosen func(scenario.Dependency) bool) error {
	os.MkdirAll(s.logs, 0o755) // if this fails, starting a process reports that its log cannot be created
	for _, c := range s.programs.Scenario.Dependencies {
		if !chosen(c) {
			continue
		}
		spec, err := s.process(c.Name, c.Process)
		if err != nil {
			return err
		}
		s.fields[c.Name+"."+workload.Scratch] = s.fields[workload.Scratch]
		if c.Ready.Exit {
			if err := finish(ctx, spec); err != nil {
				return fmt.Errorf("companion %s: %w", c.Name, err)
			}
			continue
		}
		p, err := Start(ctx, spec)
		if err != nil {
			return fmt.Errorf("starting companion %s: %w", c.Name, err)
		}
		s.dependencies = append(s.dependencies, p)
		s.started(c.Name, p.Ready())
	}
	return nil
}

// finish runs a program to its end, which must come within the spec's time limit.
func finish(ctx context.Context, spec process.Spec) error {
	limit := cmp.Or(spec.ReadyTimeout, process.ReadyTimeout)
	p, err := Start(ctx, spec)
	if err != nil {
		return err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.Exited():
		return p.Err()
	case <-timer.C:
		p.Stop(Grace)
		return fmt.Errorf("it should end (ready.exit) and still ran after %v: raise its ready.timeout, or give it less to do", limit)
	case <-ctx.Done():
		p.Stop(Grace)
		return ctx.Err()
	}
}

// Down stops the target, then the dependencies, the last started first. It ignores how they end,
// since their results are recorded.
func (s *Testbed) Down() {
	if s.Target != nil {
		s.Target.Stop(Grace)
	}
	for _, p := range slices.Backward(s.dependencies) {
		p.Stop(Grace)
	}
	os.RemoveAll(s.scratch)
}

// DependencyPIDs returns the processes of the dependencies, including those of outer.
func (s *Testbed) DependencyPIDs() []int {
	if s == nil {
		return nil
	}
	pids := s.outer.DependencyPIDs()
	for _, p := range s.dependencies {
		pids = append(pids, p.PID())
	}
	return pids
}

// ReadWait bounds the wait for the agent's readings of a window. The agent answers within
// milliseconds after the window's end; if it gets no CPU for longer, the window is recorded
// without them.
const ReadWait = 300 * time.Millisecond

const (
	// idleShare is the share of a core below which a target counts as idle, over idleSpan.
	idleShare = 0.2
	idleSpan  = 10 * time.Millisecond
	// idleLimit bounds that wait: a target that never becomes idle always has background work.
	idleLimit = time.Second
)

// AwaitIdle returns when the target and its dependencies have become idle. Their remaining work
// would otherwise fall into the next variant's turn.
func AwaitIdle(ctx context.Context, m *usage.Meter) {
	tick := time.NewTicker(idleSpan)
	defer tick.Stop()
	last := m.Read()
	for began := time.Now(); time.Since(began) < idleLimit; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := m.Read()
		used := now.Since(last)
		if (used.Target+used.Dependencies)*1e9 < idleShare*float64(used.At) {
			return
		}
		last = now
	}
}

// TakeTraces receives traces at an address (empty: any free port) until end is called. Processes
// that are started meanwhile get the arguments that make them send traces.
func (s *Testbed) TakeTraces(addr string) (end func() error, err error) {
	if s.traces, err = otlp.Listen(cmp.Or(addr, "127.0.0.1:0")); err != nil {
		return nil, err
	}
	s.fields["otlp"] = s.traces.URL()
	return s.traces.Close, nil
}

// lastTraces is the time that a target has to send the spans it has gathered: exporters send
// every 5 s by default.
const lastTraces = 6 * time.Second

// EnterStages adds the latency by stage to a run, after the last spans have arrived: it stops a
// target that the lab started, which then sends its remaining spans, and waits for any other
// target.
func (s *Testbed) EnterStages(ctx context.Context, r *record.Run) error {
	if s.Target != nil {
		s.Target.Stop(lastTraces)
		for _, p := range slices.Backward(s.dependencies) {
			p.Stop(lastTraces)
		}
	} else {
		select {
		case <-ctx.Done():
		case <-time.After(lastTraces):
		}
	}
	r.Stages = s.traces.Stages(r.Begin, r.Begin+int64(r.Length))
	if len(r.Stages) == 0 {
		r.Warnings = append(r.Warnings, "no trace arrived at "+s.traces.URL()+": does the target export OTLP over HTTP to there?")
	}
	if lost := s.traces.Losses(); lost != (otlp.Losses{}) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("not every trace was counted: %+v", lost))
	}
	return folder.Rewrite(r)
}
