// Package generator makes the load generator of a run from the scenario: the plan of its rate, its
// requests with the feeder's rows, the driver that sends them, and the stream of receipts.
//
// It is not for starting processes, except the feeder's, nor for measuring: packages environment
// and runs do those. Its goroutines end with the call that started them.
package generator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"dyno/lab/experiment/environment"
	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/engine"
	"dyno/lab/load/receipts/ethereum"
	"dyno/lab/load/request"
	"dyno/lab/record"
	"dyno/lab/record/redact"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// Generator makes the loads of a scenario for the environments of its programs.
type Generator struct {
	Scenario *scenario.Scenario
	Programs *environment.Programs // of the scenario
	// Permit is called for each host beyond loopback before it is loaded; nil permits none.
	Permit func(host string) error
	// Agents send the requests in place of this process; nil: there are none.
	Agents Agents
	// RowsFile is the file into which Feed copies the feeder's rows; if empty, Feed sets it for a job.
	RowsFile string

	rows     *corpus.Rows            // rows of the feeder; nil: there is none
	supplies map[any]*request.Supply // of corpora that are sent once: by process, or by the URL of one that already runs
}

// New returns a generator for the environments of some programs.
func New(programs *environment.Programs) *Generator {
	return &Generator{Scenario: programs.Scenario, Programs: programs}
}

// Agents are processes, here or on other machines, that share a load of requests.
type Agents interface {
	// Driver makes a driver with which they share the work.
	Driver(engine.Work) (load.Driver, error)
	// PIDs returns the processes of those on this machine.
	PIDs() []int
}

// Helpers returns the processes on this machine that generate load for the lab.
func (b *Generator) Helpers() []int {
	if b == nil || b.Agents == nil {
		return nil
	}
	return b.Agents.PIDs()
}

// Permitted returns an error if load may not be sent to a URL. A URL with placeholders in its
// host is checked when they are known.
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

// Requests makes the requests of a run for a target that is ready, and enters their URL into the
// run.
func (b *Generator) Requests(ctx context.Context, s *environment.Environment, v scenario.Variant, r *record.Run) (Requests, error) {
	out := Requests{Run: runName(r.ID)}
	u, err := b.address(s, v)
	if err != nil {
		return out, err
	}
	r.Load.URL = shown(u)
	l := b.Scenario.LoadOf(v)
	if len(b.Scenario.Load.Steps) > 0 {
		err := b.flows(s, l, u, r, &out)
		return out, err
	}
	requests, rows, err := b.corpus(s, l, u, out.Run, r.Load.Seed)
	if err != nil {
		return out, &scenario.Fault{Err: fmt.Errorf("load: %w", err)}
	}
	if l.Once {
		requests.Supply = b.supply(s, u)
	}
	if blocks(l.Deliveries) {
		committed := &atomic.Pointer[ethereum.Blocks]{}
		out.committed = committed
		requests.Accepted = func(seq uint64, answer []byte) {
			if b := committed.Load(); b != nil {
				b.Accepted(seq, answer)
			}
		}
	}
	out.corpus, out.rows, out.Classes = requests, rows, requests.ClassNames()
	if out.Driver, err = b.engine(ctx, l, u, requests); err != nil {
		return out, &scenario.Fault{Err: err}
	}
	return out, nil
}

// address returns the URL of a variant's load.
func (b *Generator) address(s *environment.Environment, v scenario.Variant) (*url.URL, error) {
	t := b.Scenario.TargetOf(v)
	address, err := s.Template("load.url", cmp.Or(b.Scenario.LoadOf(v).URL, t.URL), 0)
	if t.URL != "" && b.Scenario.Target.URL != t.URL {
		address = t.URL // a variant that runs elsewhere
	}
	if err != nil {
		return nil, err
	}
	if err := b.Permitted(address); err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, &scenario.Fault{Err: fmt.Errorf("load.url %q is not a URL with a host", redact.URL(address))}
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, &scenario.Fault{Err: fmt.Errorf("load.url %q has no port from 1 to 65535", redact.URL(address))}
		}
	}
	return u, nil
}

// runName is the run's identity in request bodies: eight hexadecimal digits.
func runName(id string) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d", id, time.Now().UnixNano())
	return fmt.Sprintf("%08x", h.Sum32())
}

// work describes the load of requests to a URL.
func (b *Generator) work(l scenario.Load, u *url.URL, requests *request.Corpus) engine.Work {
	return engine.Work{URL: u.String(), Engine: l.Engine, Corpus: requests, HTTP2: l.TLS.HTTP2 || b.Scenario.Load.GRPC != nil, TLS: b.tls(), Think: l.Think, Follow: l.Follow, Pipeline: l.Pipeline}
}

// engine makes the driver of a load of requests.
func (b *Generator) engine(ctx context.Context, l scenario.Load, u *url.URL, requests *request.Corpus) (load.Driver, error) {
	w := b.work(l, u, requests)
	if b.Agents != nil && l.Deliveries != "" {
		return nil, errors.New("a load with receipts comes from one process: it cannot be split between agents yet")
	}
	if err := b.describe(ctx, l, &w); err != nil {
		return nil, err
	}
	return b.driver(w)
}

// driver makes the driver of a load, which agents send if there are some.
func (b *Generator) driver(w engine.Work) (load.Driver, error) {
	if b.Agents == nil {
		return w.Driver()
	}
	return b.Agents.Driver(w)
}

// corpus builds the requests of a run, and returns the number of rows or bodies that it has for
// them.
func (b *Generator) corpus(s *environment.Environment, l scenario.Load, u *url.URL, run string, seed uint64) (requests *request.Corpus, rows int, err error) {
	spec := corpus.Spec{Rows: b.rows, Run: run, Seed: seed, Once: l.Once}
	if b.rows != nil {
		rows = b.rows.Len()
	}
	if l.Keys != nil {
		spec.Keys = *l.Keys
	}
	classes := l.Requests
	if len(classes) == 0 {
		classes = []workload.Request{{}}
	}
	for _, c := range classes {
		class, err := b.class(s, l, u, c)
		if err != nil {
			return nil, 0, err
		}
		spec.Classes = append(spec.Classes, class)
		rows = max(rows, len(class.Bodies))
	}
	if requests, err = corpus.Build(spec); err != nil {
		return nil, 0, err
	}
	requests.Units = l.Units
	return requests, rows, nil
}

// class completes a class of the scenario with the load's common fields.
func (b *Generator) class(s *environment.Environment, l scenario.Load, u *url.URL, c workload.Request) (corpus.Class, error) {
	out := corpus.Class{Name: c.Name, Weight: c.Weight, Path: c.Path, Header: map[string]string{}}
	var err error
	if out.Path == "" {
		if out.Path, err = pathOf(u); err != nil {
			return out, err
		}
	}
	if out.Body, err = b.body(c.Body); err != nil {
		return out, err
	}
	out.JSON = l.Traits().Sockets || b.Scenario.Load.GRPC != nil
	if out.Array = c.Body.Array; c.Body.Copies == 0 {
		out.Body, err = s.Template("body", out.Body, 0)
	} else {
		out.Copies, err = copies(s, out.Body, c.Body.Copies)
	}
	if err != nil {
		return out, err
	}
	if out.Path, err = s.Template("path", out.Path, 0); err != nil {
		return out, err
	}
	if file := c.Body.Corpus; file != "" {
		if out.Bodies, err = readFile(b.Scenario, file, corpus.ReadBodies); err != nil {
			return out, fmt.Errorf("corpus %s: %w", file, err)
		}
	}
	out.Method = c.Method
	if out.Method == "" {
		out.Method = http.MethodGet
		if out.Body != "" || len(out.Bodies) > 0 || len(out.Copies) > 0 {
			out.Method = http.MethodPost
		}
	}
	maps.Copy(out.Header, l.Headers)
	maps.Copy(out.Header, c.Headers)
	for name, value := range out.Header {
		if out.Header[name], err = s.Template("header "+name, value, 0); err != nil {
			return out, err
		}
	}
	check := l.Check
	if c.Check != nil {
		check = *c.Check
	}
	out.Check = checkOf(check)
	return out, nil
}

// copies returns a body's template as often as it is repeated, with its placeholders replaced.
func copies(s *environment.Environment, template string, repeat int) ([]string, error) {
	out, bytes := make([]string, repeat), 0
	for n := range out {
		var err error
		if out[n], err = s.Template("body", template, n); err != nil {
			return nil, err
		}
		if bytes += len(out[n]) + 1; bytes > maxBody {
			return nil, fmt.Errorf("body: %d copies take more than %d MiB; lower repeat", repeat, maxBody>>20)
		}
	}
	return out, nil
}

// maxBody bounds a body's template, from a file or of many lines.
const maxBody = 16 << 20

// body returns a template, from its file if it has one.
func (b *Generator) body(of workload.Body) (string, error) {
	file := of.File
	if file == "" {
		return of.Text, nil
	}
	content, err := readFile(b.Scenario, file, func(r io.Reader) ([]byte, error) {
		return io.ReadAll(io.LimitReader(r, maxBody+1))
	})
	if err == nil && len(content) > maxBody {
		err = fmt.Errorf("larger than %d MiB", maxBody>>20)
	}
	if err != nil {
		return "", fmt.Errorf("body_file %s: %w", file, err)
	}
	return string(content), nil
}

// reachTimeout bounds one attempt to reach a target: it allows for one lost SYN, which is sent
// again after 1 s.
const reachTimeout = 2 * time.Second

// Reach connects once to each target that already runs, so that one which is absent, or whose
// certificate is not trusted, ends the experiment before the measurement. A target that stops
// answering later is measured. Processes that the lab starts are known to be ready. The warnings
// are about answers that do not count as a success.
func (b *Generator) Reach(ctx context.Context) (warnings []string, err error) {
	if !b.Scenario.Load.Traits().Sends || b.Scenario.Load.Sessions != nil || len(b.Scenario.Companions) > 0 {
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

// trySocket makes one connection to a target that already runs.
func (b *Generator) trySocket(ctx context.Context, l scenario.Load, u *url.URL, requests *request.Corpus) error {
	d, err := b.work(l, u, requests).Sockets()
	if err != nil {
		return &scenario.Fault{Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	return d.Try(ctx)
}

// try sends a variant's first request to a target that already runs. It returns a warning if the
// answer does not count as a success, unless it may after the setup.
func (b *Generator) try(ctx context.Context, s *environment.Environment, v scenario.Variant) (warning string, err error) {
	u, err := b.address(s, v)
	if err != nil {
		return "", err
	}
	l := b.Scenario.LoadOf(v)
	requests, _, err := b.corpus(s, l, u, runName(""), 0)
	if len(b.Scenario.Load.Steps) > 0 || b.Scenario.Load.GRPC != nil {
		requests, err = onlyConnection(), nil
	}
	if err != nil {
		return "", &scenario.Fault{Err: fmt.Errorf("load: %w", err)}
	}
	if l.Traits().Sockets {
		return "", b.trySocket(ctx, l, u, requests)
	}
	d, err := b.work(l, u, requests).Standard()
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
	if request.Redirects(status) {
		return fmt.Sprintf("the target answered in %v with %s: %s", took, request.Redirected(status, location), asked), nil
	}
	return fmt.Sprintf("the target answered %d %s in %v, which does not count as a success: %s", status, http.StatusText(status), took, asked), nil
}
