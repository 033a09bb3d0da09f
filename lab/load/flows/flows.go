// Package flows drives a target with flows: several HTTP requests one after the other, as one
// user makes them, with cookies, values taken from earlier answers, and pauses. The flows begin
// on the plan's schedule. The latency of a flow's first step counts from the flow's intended
// time. The latency of each further step counts from the end of the answer before it plus the
// step's pause, so that it includes any delay in the generator. A step that fails ends its flow.
//
// It is not for single requests, which http1 and nethttp send at a lower cost, nor for
// connections that stay open (sessions). Drive owns the pool's goroutines and those of the
// clients' connections; all have ended when it returns.
package flows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/nethttp"
	"dyno/lab/load/pool"
	"dyno/lab/workload"
)

// Driver is a load.Driver. It can drive several plans, one after the other.
type Driver struct {
	spec       corpus.Spec
	values     *corpus.Live
	steps      []step
	failed     load.Notes
	negotiated nethttp.Negotiated
}

var _ load.Driver = (*Driver)(nil)

// mostSteps bounds the steps of a flow: a completion stores the step's index as its class, in one
// byte.
const mostSteps = 256

// New checks the steps and parses their templates. It does not connect. In the closed model flows
// pause only if the load's own schedule is closed. In other closed plans, which measure how much
// work the target can do, pauses are left out.
func New(s corpus.Spec) (*Driver, error) {
	steps := s.Load.Steps
	if len(steps) == 0 || len(steps) > mostSteps {
		return nil, fmt.Errorf("a flow has from 1 to %d steps, not %d", mostSteps, len(steps))
	}
	values, err := corpus.NewLive(s)
	if err != nil {
		return nil, err
	}
	d := &Driver{spec: s, values: values}
	var saved []string
	for i := range steps {
		made, err := compile(&s.Load, &steps[i], values, saved)
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", cmp.Or(steps[i].Name, fmt.Sprint(i+1)), err)
		}
		d.steps = append(d.steps, made)
		for _, v := range made.save {
			saved = append(saved, v.name)
		}
	}
	return d, nil
}

// Share makes the flows take the rows and keys of the k-th of n processes; see corpus.Live.Share.
func (d *Driver) Share(k, n int) { d.values.Share(k, n) }

// Engine returns the driver's name.
func (d *Driver) Engine() string { return "flows" }

// Notes returns which steps failed, how often, and the first reason of each.
func (d *Driver) Notes() []string { return d.failed.Notes() }

// Protocol returns what the connections negotiated; see load.Negotiating.
func (d *Driver) Protocol() string { return d.negotiated.String() }

// Drive carries out the plan. Plan.Connections bounds the flows that run concurrently; further
// flows wait, and the latency of their first step includes that wait.
func (d *Driver) Drive(ctx context.Context, p *load.Plan, rec *load.Recorder) error {
	clients, err := d.newClients()
	if err != nil {
		return err
	}
	defer clients.close()
	drive := &drive{Driver: d, plan: p, clients: clients, hurried: p.Count > 0 || !p.Open() && d.spec.Load.Schedule.Kind != workload.Closed}
	return (&pool.Driver{Name: d.Engine(), Doer: drive, Stepwise: true}).Drive(ctx, p, rec)
}

// step is a step of the load with its templates parsed.
type step struct {
	name, method string
	host         *url.URL
	url, body    corpus.Template
	header       map[string]corpus.Template
	check        corpus.Check
	follow       int           // maximum number of redirects to follow
	think        time.Duration // pause before the step; ignored for the first
	save         []save        // the values to save, sorted by name
	looks        bool          // the step needs the answer's body
}

// save says how to take a value from an answer.
type save struct {
	name    string
	from    workload.Save
	pattern *regexp.Regexp // of from.Matches; nil: the value has another source
}

// compile fills in what a step leaves to the load's defaults, and parses the step's templates.
func compile(l *workload.Load, from *workload.Step, values *corpus.Live, saved []string) (step, error) {
	s := step{name: from.Name, method: from.Method, header: map[string]corpus.Template{}, follow: cmp.Or(from.Follow, l.Follow), think: from.Think}
	if s.check.Check = l.Check; from.Check != nil {
		s.check.Check = *from.Check
	}
	if err := s.check.Compile(); err != nil {
		return s, err
	}
	address, err := addressOf(l, from)
	if err != nil {
		return s, err
	}
	if s.host, err = host(address); err != nil {
		return s, err
	}
	if s.url, err = values.URL(address, saved); err != nil {
		return s, fmt.Errorf("url: %w", err)
	}
	header := map[string]string{}
	for _, fields := range []map[string]string{l.Headers, from.Headers} {
		for name, value := range fields {
			header[http.CanonicalHeaderKey(name)] = value
		}
	}
	for name, value := range header {
		if s.header[name], err = values.Header(value, saved); err != nil {
			return s, fmt.Errorf("header %s: %w", name, err)
		}
	}
	if s.body, err = values.Body(from.Body.Text, header, saved); err != nil {
		return s, fmt.Errorf("body: %w", err)
	}
	if s.method == "" {
		s.method = http.MethodGet
		if from.Body.Text != "" {
			s.method = http.MethodPost
		}
	}
	if err := s.saves(from.Save); err != nil {
		return s, err
	}
	_, err = http.NewRequest(s.method, "http://host/", nil)
	return s, err
}

// saves compiles the rules by which the step saves values.
func (s *step) saves(of map[string]workload.Save) error {
	s.looks = len(s.check.JSON) > 0
	for _, name := range slices.Sorted(maps.Keys(of)) {
		v := save{name: name, from: of[name]}
		if v.from.Matches != "" {
			var err error
			if v.pattern, err = regexp.Compile(v.from.Matches); err != nil {
				return fmt.Errorf("save %s: %w", name, err)
			}
		}
		s.save = append(s.save, v)
		s.looks = s.looks || v.from.JSON != "" || v.pattern != nil
	}
	return nil
}

// addressOf returns the URL of a step: its own URL, or its path on the load's host.
func addressOf(l *workload.Load, s *workload.Step) (string, error) {
	if s.URL != "" {
		return s.URL, nil
	}
	u, err := url.Parse(l.URL)
	if err != nil {
		return "", err
	}
	return u.Scheme + "://" + u.Host + s.Path, nil
}

// Hosts returns the hosts of a load's steps. It returns an error if one of them is not known
// before the run: a load may only be sent to hosts that were permitted.
func Hosts(l *workload.Load) (out []string, err error) {
	for i := range l.Steps {
		address, err := addressOf(l, &l.Steps[i])
		if err != nil {
			return nil, err
		}
		u, err := host(address)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, u.Hostname()) {
			out = append(out, u.Hostname())
		}
	}
	return out, nil
}

// host parses the part of a step's URL before its first placeholder, which must contain the host.
func host(text string) (*url.URL, error) {
	before, _, _ := strings.Cut(text, "${")
	u, err := url.Parse(before)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || before != text && u.Path == "" && u.RawQuery == "" {
		return nil, errors.New("its url needs a scheme and a host without placeholders, as in http://127.0.0.1:8080/orders/${order}")
	}
	return u, nil
}
