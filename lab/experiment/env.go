package experiment

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dyno/lab/probe/otlp"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/target"
	"dyno/parts/process"
)

// environment is everything that is up during one run: the companions and the target.
type environment struct {
	runner     *runner
	outer      *environment // its companions are shared with other runs or seats; nil: there are none
	companions []*process.Process
	target     *process.Process  // nil: it already ran, or a job has not started
	fields     map[string]string // ${NAME.FIELD} -> value
	logs       string            // folder of the processes' logs
	scratch    string            // contains a folder for each process; removed with its content
	traces     *otlp.Receiver    // nil: the run is not traced
	ready      *record.Target    // the target after its setup; nil: not set up
}

// grace is the time that a process has to end after SIGTERM. Targets are stopped after their run
// was recorded, so an overloaded one need not finish its work.
const grace = 500 * time.Millisecond

func (s *environment) lookup(name string) (string, bool) {
	v, ok := s.fields[name]
	return v, ok
}

// expand replaces the placeholders in a text of the scenario.
func (s *environment) expand(what, text string) (string, error) {
	out, err := scenario.Expand(text, s.lookup)
	if err != nil {
		return "", s.unknown(what, err)
	}
	return out, nil
}

// unknown adds the known names to an error.
func (s *environment) unknown(what string, err error) error {
	return fmt.Errorf("%s: %w (known here: %s)", what, err, strings.Join(s.known(), ", "))
}

// copyFields returns the fields that processes of an outer environment provide; a nil environment
// has none.
func (s *environment) copyFields() map[string]string {
	if s == nil {
		return map[string]string{}
	}
	return maps.Clone(s.fields)
}

func (s *environment) known() []string {
	var names []string
	for name := range s.fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// process turns a scenario's process into a Spec of package target.
func (s *environment) process(name string, p scenario.Process) (process.Spec, error) {
	command := slices.Clone(p.Command)
	if p.Build != "" {
		command = []string{s.runner.bins[p.Build]}
	}
	command = append(command, p.Args...)
	if s.traces != nil {
		command = append(command, p.Traced...)
	}
	if err := s.ownFolder(name); err != nil {
		return process.Spec{}, err
	}
	for i := range command {
		var err error
		if command[i], err = s.expand(name+": argument "+command[i], command[i]); err != nil {
			return process.Spec{}, err
		}
	}
	spec := process.Spec{Name: name, Command: command, ReadyLine: p.Ready.AwaitLine(), ReadyTimeout: p.Ready.Timeout,
		Log: filepath.Join(s.logs, name+".log")}
	if p.Dir != "" {
		spec.Dir = s.runner.Scenario.Resolve(p.Dir)
	}
	for key, value := range p.Env {
		value, err := s.expand(name+": env "+key, value)
		if err != nil {
			return process.Spec{}, err
		}
		spec.Env = append(spec.Env, key+"="+value)
	}
	slices.Sort(spec.Env)
	if p.Ready.URL != "" {
		spec.ReadyURL = func(line map[string]string) (string, error) {
			s.started(name, line)
			return s.expand(name+": ready.url", p.Ready.URL)
		}
	}
	return spec, nil
}

// ownFolder makes ${scratch} a new folder for a process.
func (s *environment) ownFolder(name string) error {
	dir, err := filepath.Abs(filepath.Join(s.scratch, name))
	if err != nil {
		return err
	}
	s.fields[scenario.Scratch] = dir
	return os.MkdirAll(dir, 0o755)
}

// started stores the fields of a process's ready line.
func (s *environment) started(name string, line map[string]string) {
	for field, value := range line {
		s.fields[name+"."+field] = value
	}
}

// up starts the companions, in order.
func (s *environment) up(ctx context.Context, companions []scenario.Companion) error {
	for _, c := range companions {
		spec, err := s.process(c.Name, c.Process)
		if err != nil {
			return err
		}
		p, err := target.Start(ctx, spec)
		if err != nil {
			return fmt.Errorf("starting companion %s: %w", c.Name, err)
		}
		s.companions = append(s.companions, p)
		s.started(c.Name, p.Ready())
	}
	return nil
}

// down stops the target first, then the companions, last started first. It ignores how they end:
// their results were recorded.
func (s *environment) down() {
	if s.target != nil {
		s.target.Stop(grace)
	}
	for _, p := range slices.Backward(s.companions) {
		p.Stop(grace)
	}
	os.RemoveAll(s.scratch)
}

// companionPIDs returns the processes of its companions, the shared ones included.
func (s *environment) companionPIDs() []int {
	if s == nil {
		return nil
	}
	pids := s.outer.companionPIDs()
	for _, p := range s.companions {
		pids = append(pids, p.PID())
	}
	return pids
}

// shared starts the companions that all places of a generation share.
func (b *runner) shared(ctx context.Context, exp *record.Experiment, generation int) (*environment, error) {
	s, err := b.environment(exp, fmt.Sprintf("%d-shared", generation), nil)
	if err != nil {
		return nil, err
	}
	if err := s.up(ctx, b.companions(true)); err != nil {
		s.down()
		return nil, err
	}
	return s, nil
}

// companions returns the scenario's companions that all places share, or the others.
func (b *runner) companions(shared bool) (out []scenario.Companion) {
	for _, c := range b.Scenario.Companions {
		if c.Shared == shared {
			out = append(out, c)
		}
	}
	return out
}

// environment makes the folders of an environment for some turns; it inherits the fields of
// outer.
func (b *runner) environment(exp *record.Experiment, name string, outer *environment) (*environment, error) {
	dir := filepath.Join(exp.Dir, "turns", fileName(name))
	s := &environment{runner: b, outer: outer, fields: outer.copyFields(), logs: filepath.Join(dir, "logs"), scratch: filepath.Join(dir, "scratch")}
	return s, os.MkdirAll(s.logs, 0o755)
}
