package experiment

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dyno/lab/probe/otlp"
	"dyno/lab/scenario"
	"dyno/lab/target"
)

// stand is what is up during one run: the companions and the target.
type stand struct {
	bench      *bench
	companions []*target.Process
	target     *target.Process   // nil: it ran already, or a job has not begun
	fields     map[string]string // ${NAME.FIELD} -> value
	logs       string            // the folder that the processes log to
	traces     *otlp.Receiver    // nil: the run is not traced
}

// grace is how long a process may take to end after SIGTERM. Targets are stopped after their run was
// recorded; what an overloaded one still wants to finish is of no interest.
const grace = 500 * time.Millisecond

// setupTimeout bounds one request of the setup.
const setupTimeout = 10 * time.Second

func (s *stand) lookup(name string) (string, bool) {
	v, ok := s.fields[name]
	return v, ok
}

// expand replaces the placeholders in a text of the scenario.
func (s *stand) expand(what, text string) (string, error) {
	out, err := scenario.Expand(text, s.lookup)
	if err != nil {
		return "", fmt.Errorf("%s: %w (known here: %s)", what, err, strings.Join(s.known(), ", "))
	}
	return out, nil
}

func (s *stand) known() []string {
	var names []string
	for name := range s.fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// process turns a scenario's process into what target starts.
func (s *stand) process(name string, p scenario.Process) (target.Spec, error) {
	command := slices.Clone(p.Command)
	if p.Build != "" {
		command = []string{s.bench.bins[p.Build]}
	}
	command = append(command, p.Args...)
	if s.traces != nil {
		command = append(command, p.Traced...)
	}
	for i := range command {
		var err error
		if command[i], err = s.expand(name+": argument "+command[i], command[i]); err != nil {
			return target.Spec{}, err
		}
	}
	spec := target.Spec{Name: name, Command: command, ReadyLine: p.Ready.AwaitLine(), ReadyTimeout: p.Ready.Timeout,
		Log: filepath.Join(s.logs, name+".log")}
	if p.Dir != "" {
		spec.Dir = s.bench.Scenario.Resolve(p.Dir)
	}
	for key, value := range p.Env {
		value, err := s.expand(name+": env "+key, value)
		if err != nil {
			return target.Spec{}, err
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

// started notes the fields of a process's ready line.
func (s *stand) started(name string, line map[string]string) {
	for field, value := range line {
		s.fields[name+"."+field] = value
	}
}

// up starts the companions, in order.
func (s *stand) up(ctx context.Context, companions []scenario.Companion) error {
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

// down stops the target first, then the companions, last started first. How they end no longer matters:
// what they did was recorded.
func (s *stand) down() {
	if s.target != nil {
		s.target.Stop(grace)
	}
	for _, p := range slices.Backward(s.companions) {
		p.Stop(grace)
	}
}

func (s *stand) companionPIDs() []int {
	var pids []int
	for _, p := range s.companions {
		pids = append(pids, p.PID())
	}
	return pids
}

// setup sends the scenario's setup requests.
func (s *stand) setup(ctx context.Context, requests []scenario.Request) error {
	client := &http.Client{Timeout: setupTimeout}
	defer client.CloseIdleConnections()
	for i, r := range requests {
		if err := s.send(ctx, client, r); err != nil {
			return fmt.Errorf("setup, request %d: %w", i+1, err)
		}
	}
	return nil
}

func (s *stand) send(ctx context.Context, client *http.Client, r scenario.Request) error {
	url, err := s.expand("url", r.URL)
	if err != nil {
		return err
	}
	body, err := s.expand("body", r.Body)
	if err != nil {
		return err
	}
	method := r.Method
	if method == "" {
		method = http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range r.Headers {
		if value, err = s.expand("header "+name, value); err != nil {
			return err
		}
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	const shown = 300 // bytes of an answer that an error quotes
	answer, err := io.ReadAll(io.LimitReader(resp.Body, shown))
	if err != nil {
		return err
	}
	if len(r.Expect) == 0 && resp.StatusCode < 400 || slices.Contains(r.Expect, resp.StatusCode) {
		return nil
	}
	return fmt.Errorf("%s %s answered %s: %s", method, url, resp.Status, bytes.TrimSpace(answer))
}
