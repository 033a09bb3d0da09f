package experiment

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"dyno/lab/load"
	"dyno/lab/probe"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/target"
)

// drive is a target that is ready, with the way to load it.
type drive struct {
	plan     load.Plan
	driver   load.Driver
	receipts []load.Receipts
	steady   bool   // a job that is stopped while it works, after its measured time
	debug    string // base URL of the target's debug address; empty: none
	run      string // the run's name in request bodies
	close    func()
}

// newDrive starts the target, sets it up and makes the driver that will load it.
func (b *runner) newDrive(ctx context.Context, s *environment, v scenario.Variant, r *record.Run) (*drive, error) {
	t := b.Scenario.TargetOf(v)
	d := &drive{close: func() {}}
	var err error
	if d.plan, err = b.plan(r); err != nil {
		return nil, &ScenarioError{err}
	}
	if b.Scenario.Load.Kind == scenario.Jobs {
		return d, b.driveJob(ctx, s, v, r, d)
	}
	if s.ready != nil {
		r.Target = *s.ready
	} else if err := b.startTarget(ctx, s, t, r); err != nil {
		return nil, err
	}
	if d.debug, err = s.debugOf(t); err != nil {
		return nil, err
	}
	if s.ready == nil {
		if err := s.setup(ctx, b.Scenario.SetupOf(v)); err != nil {
			return nil, err
		}
		ready := r.Target
		s.ready = &ready
	}
	return d, b.driveRequests(ctx, s, v, r, d)
}

// startTarget starts the target's process, or enters the address of one that already runs.
func (b *runner) startTarget(ctx context.Context, s *environment, t scenario.Target, r *record.Run) error {
	const name = "target"
	if t.URL != "" {
		s.fields[name+".url"] = t.URL
		r.Target.PID = b.pidOf(t.URL)
		return nil
	}
	spec, err := s.process(name, t.Process)
	if err != nil {
		return err
	}
	spec.Env = append(spec.Env, changed(r.Step.Change)...)
	spec.CPUs = cpus(t.CPUs)
	s.target, err = target.Start(ctx, spec)
	if err != nil {
		return fmt.Errorf("starting the target: %w", err)
	}
	s.started(name, s.target.Ready())
	if listen, ok := s.fields[name+".listen"]; ok {
		s.fields[name+".url"] = "http://" + listen
	}
	r.Target = record.Target{Command: spec.Command, PID: s.target.PID(), Ready: s.target.ReadyAfter()}
	return nil
}

// pidOf returns the process that listens at a URL on this machine, so that it can be watched from
// outside; 0: not known.
func (b *runner) pidOf(address string) int {
	if b.PID != 0 {
		return b.PID
	}
	return listenerAt(address)
}

// listenerAt returns the process that listens at a URL on this machine; 0: not known.
func listenerAt(address string) int {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	pid, err := probe.Listener(net.JoinHostPort(u.Hostname(), port))
	if err != nil || slices.Contains(forwarders, probe.Command(pid)) {
		return 0
	}
	return pid
}

// forwarders listen on behalf of a service that runs elsewhere.
var forwarders = []string{"docker-proxy", "kubectl", "ssh", "rootlessport", "socat"}

// cpus returns the CPUs a target is pinned to: the number that the scenario grants it, or else
// the generator's remainder.
func cpus(granted float64) []int {
	_, forTarget := target.CPUPlan(runtime.NumCPU())
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
func (s *environment) debugOf(t scenario.Target) (string, error) {
	if t.Debug != "" {
		return s.expand("target.debug", t.Debug)
	}
	if addr, ok := s.fields["target.debug"]; ok {
		return "http://" + addr, nil
	}
	return "", nil
}

// Defaults of a load's fields.
const (
	defaultConnections = 64
	defaultTimeout     = 10 * time.Second
	defaultLength      = 10 * time.Second
	// longestDrain bounds the wait for offers in flight at the end. Offers that take longer are
	// recorded at their age, which by then exceeds any useful objective.
	longestDrain = 2 * time.Second
)

// plan returns the load plan of a run.
func (b *runner) plan(r *record.Run) (load.Plan, error) {
	l := b.Scenario.Load
	p := load.Plan{Connections: l.Connections, Timeout: l.Timeout, Length: r.Step.Length, Warmup: b.pace().warmup}
	if r.Step.Connections > 0 {
		p.Connections = r.Step.Connections
	}
	if p.Connections == 0 {
		p.Connections = defaultConnections
	}
	if p.Timeout == 0 {
		p.Timeout = defaultTimeout
	}
	if p.Length == 0 {
		p.Length = defaultLength
	}
	if r.Step.RampTo > 0 {
		p.Warmup = 0 // its lowest rate warms up as well
	}
	if r.Step.Diagnostic() {
		p.Warmup = looks[b.Depth].warmup
	}
	p.Drain = drainFor(r.SLO, p.Timeout)
	seed := seedOf(l.Schedule.Seed, b.Scenario.Name, r.Step.Round)
	if err := b.schedule(&p, r.Step, seed); err != nil {
		return p, err
	}
	steady := r.Step.Rate
	if r.Step.RampTo > 0 {
		steady = 0
	}
	if err := withinMaxRate(&p, steady, l.MaxRate); err != nil {
		return p, err
	}
	if l.Receipts != "" {
		p.Deliveries = pendingReceipts(max(r.Step.Rate, r.Step.RampTo))
	}
	r.Load = record.Load{Kind: l.Kind, Model: "open", Schedule: describeSchedule(l, r.Step),
		Connections: p.Connections, Timeout: p.Timeout, Seed: seed}
	if r.Load.Kind == "" {
		r.Load.Kind = scenario.Requests
	}
	if !p.Open() {
		r.Load.Model = "closed"
	}
	if !p.Open() && !r.Step.Diagnostic() && !r.ByConcurrency() {
		r.Warnings = append(r.Warnings, "closed-loop: hides stalls, since a waiting connection offers nothing")
	}
	return p, nil
}

// drainFor is several times the SLO's bound: longer than any offer that could still meet it.
func drainFor(slo record.SLO, timeout time.Duration) time.Duration {
	const times = 3
	bound := 0.0
	for _, ms := range slo.Latency {
		bound = max(bound, ms)
	}
	if bound == 0 {
		return min(longestDrain, timeout)
	}
	return min(max(times*time.Duration(bound*float64(time.Millisecond)), record.WindowLength), longestDrain, timeout)
}

// pendingReceipts is the number of offers that may await their receipts concurrently: the offers
// of 20 s, longer than any offer of a run may take.
func pendingReceipts(rate float64) int { return max(1<<14, int(20*rate)) }

// seedOf gives every variant of a round the same arrivals, and every round different ones.
func seedOf(stated uint64, name string, round int) uint64 {
	if stated != 0 {
		return stated
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", name, round)
	return h.Sum64()
}

// schedule sets the plan's schedule. Kinds that state their own times have no warm-up before
// them.
func (b *runner) schedule(p *load.Plan, step record.Step, seed uint64) error {
	s, rate := b.Scenario.Load.Schedule, step.Rate
	span := p.Warmup + p.Length
	if step.Closed {
		return nil
	}
	if step.RampTo > 0 {
		p.Schedule = func() load.Schedule { return load.Ramp(rate, step.RampTo, span) }
		return nil
	}
	switch s.Kind {
	case scenario.Closed:
	case scenario.Poisson, "":
		p.Schedule = func() load.Schedule { return load.Poisson(rate, span, seed) }
	case scenario.Constant:
		p.Schedule = func() load.Schedule { return load.Constant(rate, span) }
	case scenario.Ramp:
		p.Warmup = 0
		p.Schedule = func() load.Schedule { return load.Ramp(s.From, s.To, p.Length) }
	case scenario.Step:
		p.Warmup, p.Length = 0, 0
		var stages []load.Stage
		for _, st := range s.Stages {
			stages = append(stages, load.Stage{PerSecond: st.Rate, Length: st.Length})
			p.Length += st.Length
		}
		p.Schedule = func() load.Schedule { return load.Steps(stages) }
	case scenario.File:
		return b.scheduleFile(p, s.File)
	default:
		return fmt.Errorf("unknown schedule %q", s.Kind)
	}
	if needsRate := s.Kind == scenario.Poisson || s.Kind == "" || s.Kind == scenario.Constant; needsRate && rate <= 0 {
		return errors.New("the schedule has no rate: set load.schedule.rate, or -r")
	}
	return nil
}

func (b *runner) scheduleFile(p *load.Plan, file string) error {
	f, err := os.Open(b.Scenario.Resolve(file))
	if err != nil {
		return fmt.Errorf("load.schedule.file: %w", err)
	}
	defer f.Close()
	at, err := load.ReadTimes(f)
	if err != nil {
		return fmt.Errorf("load.schedule.file %s: %w", file, err)
	}
	if len(at) == 0 {
		return fmt.Errorf("load.schedule.file %s contains no times", file)
	}
	p.Warmup, p.Length = 0, time.Duration(at[len(at)-1]+1)
	p.Schedule = func() load.Schedule { return load.Times(at) }
	return nil
}

func describeSchedule(l scenario.Load, step record.Step) string {
	s, rate := l.Schedule, step.Rate
	if step.Closed && l.Kind == scenario.Jobs {
		return fmt.Sprintf("%d concurrent units", step.Connections)
	}
	if step.RampTo > 0 {
		s.Kind, s.From, s.To = scenario.Ramp, rate, step.RampTo
	}
	switch s.Kind {
	case scenario.Closed:
		return "closed"
	case scenario.Ramp:
		return fmt.Sprintf("ramp %.6g/s to %.6g/s", s.From, s.To)
	case scenario.Step:
		return fmt.Sprintf("%d stages", len(s.Stages))
	case scenario.File:
		return "file " + s.File
	case scenario.Constant:
		return fmt.Sprintf("constant %.6g/s", rate)
	}
	return fmt.Sprintf("poisson %.6g/s", rate)
}
