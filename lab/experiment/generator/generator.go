// Package generator makes the load generator of a run from the scenario: the plan of its rate, its
// requests with the feeder's rows, the driver that sends them, and the stream of deliveries.
//
// It starts no processes other than the feeder's and the load.driver's, and it does not measure:
// packages environment and runs do that. Its goroutines end with the call that started them or,
// for sessions, when the caller closes them.
package generator

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"dyno/lab/experiment/environment"
	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/deliveries"
	"dyno/lab/load/engine"
	"dyno/lab/record"
	"dyno/lab/record/redact"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// Generator makes the loads of a scenario for the environments of its programs.
type Generator struct {
	Scenario *scenario.Scenario
	Programs *environment.Programs // of the scenario
	// Permit is called for each host other than loopback before load is sent to it; nil permits
	// none.
	Permit func(host string) error
	// Agents send the requests in place of this process; nil: there are none.
	Agents Agents
	// RowsFile is the file into which Feed copies the feeder's rows; if empty, Feed sets it for a job.
	RowsFile string

	rows     *corpus.Rows           // rows of the feeder; nil: there is no feeder
	supplies map[any]*corpus.Supply // of corpora that are sent once: by testbed, or by host if the lab did not start the target
}

// New returns a generator for the environments of some programs.
func New(programs *environment.Programs) *Generator {
	return &Generator{Scenario: programs.Scenario, Programs: programs}
}

// Agents are processes, on this machine or others, that share a load of requests.
type Agents interface {
	// Driver returns a driver by which the agents share a load.
	Driver(*corpus.Spec) (load.Driver, error)
	// PIDs returns the processes of the agents on this machine.
	PIDs() []int
}

// PIDs returns the processes on this machine that generate load for the lab.
func (b *Generator) PIDs() []int {
	if b == nil || b.Agents == nil {
		return nil
	}
	return b.Agents.PIDs()
}

// Permitted returns an error if load may not be sent to a URL. A URL with placeholders in its
// host is checked once they are filled in.
func (b *Generator) Permitted(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || load.Loopback(u.Hostname()) {
		return nil
	}
	if b.Permit == nil {
		return fmt.Errorf("%s is not this machine, and loading it was not permitted", u.Hostname())
	}
	return b.Permit(u.Hostname())
}

// Requests makes the requests and the driver of a run, for a target that is ready, and stores
// their URL in the run.
func (b *Generator) Requests(ctx context.Context, s *environment.Testbed, v scenario.Variant, r *record.Run) (Requests, error) {
	out := Requests{Run: runName(r.ID)}
	l, u, err := b.load(s, v)
	if err != nil {
		return out, err
	}
	r.Load.URL = shown(u)
	spec, err := b.spec(s, l, out.Run, r.Load.Seed)
	if err == nil {
		err = b.permitSteps(spec.Load.Steps)
	}
	if err != nil {
		return out, &scenario.Fault{Err: fmt.Errorf("load: %w", err)}
	}
	if l.Once {
		spec.Supply = b.supply(s, u)
	}
	if workload.OverSocket(l.Deliveries) { // an Ethereum node's
		committed := &atomic.Pointer[deliveries.Blocks]{}
		out.committed = committed
		spec.Accepted = func(seq uint64, answer []byte) {
			if b := committed.Load(); b != nil {
				b.Accepted(seq, answer)
			}
		}
	}
	if err := b.describe(ctx, l, spec); err != nil {
		return out, &scenario.Fault{Err: err}
	}
	if b.Agents != nil {
		out.Driver, err = b.Agents.Driver(spec)
	} else {
		out.Driver, out.corpus, err = engine.New(spec)
	}
	if err != nil {
		return out, &scenario.Fault{Err: fmt.Errorf("load: %w", err)}
	}
	out.Classes, out.rows = spec.Load.ClassNames(), rowsOf(spec)
	if len(spec.Load.Steps) > 0 {
		r.Load.Steps = out.Classes
	}
	return out, nil
}

// load returns the load of a variant, with its URL filled in.
func (b *Generator) load(s *environment.Testbed, v scenario.Variant) (scenario.Load, *url.URL, error) {
	l, t := b.Scenario.LoadOf(v), b.Scenario.TargetOf(v)
	address, err := s.Template("load.url", cmp.Or(l.URL, t.URL), nil)
	if t.URL != "" && b.Scenario.Target.URL != t.URL {
		address = t.URL // the variant has a target of its own
	}
	if err != nil {
		return l, nil, err
	}
	if err := b.Permitted(address); err != nil {
		return l, nil, err
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return l, nil, &scenario.Fault{Err: fmt.Errorf("load.url %q is not a URL with a host", redact.URL(address))}
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return l, nil, &scenario.Fault{Err: fmt.Errorf("load.url %q has no port from 1 to 65535", redact.URL(address))}
		}
	}
	l.URL = address
	return l, u, nil
}

// runName returns the run's name in request bodies: eight hexadecimal digits.
func runName(id string) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d", id, time.Now().UnixNano())
	return fmt.Sprintf("%08x", h.Sum32())
}

// spec returns the corpus.Spec of a load: the load and what its driver needs in addition.
func (b *Generator) spec(s *environment.Testbed, l scenario.Load, run string, seed uint64) (*corpus.Spec, error) {
	trust, err := b.tls()
	if err != nil {
		return nil, err
	}
	spec := &corpus.Spec{Bodies: map[string][][]byte{}, Rows: b.rows, Run: run, Seed: seed, CA: trust.CA, Permit: b.Permitted}
	if spec.Load, err = b.resolve(s, l); err != nil {
		return nil, err
	}
	for i := range l.Requests {
		file := l.Requests[i].Body.Corpus
		if file == "" || spec.Bodies[file] != nil {
			continue
		}
		if spec.Bodies[file], err = readFile(b.Scenario, file, corpus.ReadBodies); err != nil {
			return nil, fmt.Errorf("corpus %s: %w", file, err)
		}
	}
	return spec, nil
}

// rowsOf returns the number of rows, or of prebuilt bodies, that a load has for its requests.
func rowsOf(s *corpus.Spec) (rows int) {
	if s.Rows != nil {
		rows = s.Rows.Len()
	}
	for _, bodies := range s.Bodies {
		rows = max(rows, len(bodies))
	}
	return rows
}

// resolve returns a load as its driver takes it: the content of files replaces the names of
// bodies' files, and the environment's placeholders are filled in.
func (b *Generator) resolve(s *environment.Testbed, l scenario.Load) (scenario.Load, error) {
	// The generator reads the files of rows, authorities, descriptors and times itself.
	l.Feeder, l.TLS.CA, l.Schedule.File = nil, "", ""
	if l.GRPC != nil {
		l.GRPC = &workload.Call{Call: l.GRPC.Call}
	}
	l.Requests = slices.Clone(l.Requests)
	for i := range l.Requests {
		if err := b.open(&l.Requests[i].Body); err != nil {
			return l, err
		}
	}
	l.Steps = slices.Clone(l.Steps)
	for i := range l.Steps {
		if err := b.open(&l.Steps[i].Body); err != nil {
			return l, fmt.Errorf("step %s: %w", l.Steps[i].Name, err)
		}
	}
	return l.Walk(func(name, text string, kept []string) (string, error) {
		if len(l.Requests) > 0 {
			kept = append(kept, workload.Count)
		}
		return s.Template(name, text, kept)
	})
}

// open replaces a body's file name by the file's content.
func (b *Generator) open(of *workload.Body) error {
	file := of.File
	if file == "" {
		return nil
	}
	content, err := readFile(b.Scenario, file, func(r io.Reader) ([]byte, error) {
		return io.ReadAll(io.LimitReader(r, corpus.MaxBody+1))
	})
	if err == nil && len(content) > corpus.MaxBody {
		err = fmt.Errorf("larger than %d MiB", corpus.MaxBody>>20)
	}
	if err != nil {
		return fmt.Errorf("body_file %s: %w", file, err)
	}
	of.File, of.Text = "", string(content)
	return nil
}

// reachTimeout bounds one attempt to reach a target. It allows for one lost SYN, which the kernel
// sends again after 1 s.
const reachTimeout = 2 * time.Second

// Reach connects once to each target that the lab does not start. If the target is absent or its
// certificate is not trusted, the experiment thus ends before it measures. A target that stops
// answering later is measured. The warnings are about answers that do not count as a success.
func (b *Generator) Reach(ctx context.Context) (warnings []string, err error) {
	if b.Scenario.Load.Traits().Probe == "" || len(b.Scenario.Dependencies) > 0 {
		return nil, nil
	}
	seen := map[string]bool{}
	for _, v := range b.Programs.Variants {
		t := b.Scenario.TargetOf(v)
		place := t.URL + " " + b.Scenario.LoadOf(v).URL
		if t.URL == "" || seen[place] {
			continue
		}
		seen[place] = true
		warning, err := b.try(ctx, b.Programs.Running(t.URL), v)
		switch {
		case ctx.Err() != nil:
			return warnings, ctx.Err()
		case err != nil:
			return warnings, err
		case warning != "":
			warnings = append(warnings, warning)
		}
	}
	return warnings, nil
}

// trySocket makes one WebSocket to a target that the lab did not start.
func (b *Generator) trySocket(ctx context.Context, s *corpus.Spec, requests *corpus.Corpus) error {
	d, err := engine.Sockets(s, requests)
	if err != nil {
		return &scenario.Fault{Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	return d.Try(ctx)
}

// try sends a variant's first request to a target that the lab did not start. It returns a
// warning if the answer does not count as a success, unless the setup might change that.
func (b *Generator) try(ctx context.Context, s *environment.Testbed, v scenario.Variant) (warning string, err error) {
	l, u, err := b.load(s, v)
	if err != nil {
		return "", err
	}
	spec, requests, err := b.first(s, l)
	if err != nil {
		return "", &scenario.Fault{Err: fmt.Errorf("load: %w", err)}
	}
	if l.Traits().Sockets {
		return "", b.trySocket(ctx, spec, requests)
	}
	d, err := engine.Standard(spec, requests)
	if err != nil {
		return "", &scenario.Fault{Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	began := time.Now()
	status, location, err := d.Try(ctx)
	first := requests.Requests[0]
	if err != nil || status == 0 || len(b.Scenario.SetupOf(v)) > 0 || requests.Classes[first.Class].Check.PassStatus(status) {
		return "", err
	}
	took, asked := time.Since(began).Round(time.Millisecond/10), first.Method+" "+redact.URL(u.Host+first.Path)
	if corpus.Redirects(status) {
		return fmt.Sprintf("the target answered in %v with %s: %s", took, corpus.Redirected(status, location), asked), nil
	}
	return fmt.Sprintf("the target answered %d %s in %v, which does not count as a success: %s", status, http.StatusText(status), took, asked), nil
}

// first returns the requests that probe a target: the load's own, or one that only connects.
func (b *Generator) first(s *environment.Testbed, l scenario.Load) (*corpus.Spec, *corpus.Corpus, error) {
	if l.Traits().Probe == workload.ProbeConnection {
		trust, err := b.tls()
		return &corpus.Spec{Load: l, CA: trust.CA}, onlyConnection(), err
	}
	spec, err := b.spec(s, l, runName(""), 0)
	if err != nil {
		return nil, nil, err
	}
	requests, err := corpus.Build(*spec)
	return spec, requests, err
}
