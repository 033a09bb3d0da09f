// Package flows drives a target with flows: several HTTP requests one after the other, as one user
// makes them, with cookies, values taken from earlier answers, and pauses. The flows begin on the
// plan's schedule. The latency of a flow's first step counts from the flow's intended time, that of
// each further step from the end of the answer before it plus the step's pause, so that a late
// generator shows. A step that fails ends its flow.
//
// It is not for single requests (raw, std), which cost less, nor for connections that stay open
// (sessions). Drive owns the pool's goroutines and those of the clients' connections, and closes
// all when it returns.
package flows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/notes"
	"dyno/lab/load/pool"
	"dyno/lab/load/request"
	"dyno/lab/load/std"
	"dyno/lab/workload"
)

// Config says what a flow does.
type Config struct {
	Steps  []Step
	Values *corpus.Live
	TLS    std.TLS
	HTTP2  bool // HTTP/2: by ALPN over TLS, by prior knowledge without TLS
	// Permit is called with the scheme, host and port of a redirect to another host; nil permits none.
	Permit func(origin string) error
	// Paced keeps the pauses in the closed model as well. Without it a closed model measures how much
	// work the target does, for which no user pauses.
	Paced bool
}

// Step is one request of a flow. URL, the headers' values and Body are templates of corpus.Live,
// with the values that earlier steps saved.
type Step struct {
	Name   string // of the class in results
	Method string
	URL    string // its host has no placeholder
	Header map[string]string
	Body   string
	Check  request.Check
	Follow int           // number of redirects that are followed
	Think  time.Duration // pause before the step; not of the first
	Save   []Save        // taken from the answer
}

// Save takes a value from an answer.
type Save struct {
	Name string
	From workload.Save
}

// Driver is a load.Driver. It can drive several plans, one after the other.
type Driver struct {
	config Config
	steps  []step
	names  []string
	failed notes.Notes
	spoken std.Spoken
}

var _ load.Driver = (*Driver)(nil)

// mostSteps bounds the steps of a flow, since a step's class is a byte.
const mostSteps = 256

// New checks the configuration and parses the templates. It does not connect.
func New(c Config) (*Driver, error) {
	if len(c.Steps) == 0 || len(c.Steps) > mostSteps {
		return nil, fmt.Errorf("a flow has from 1 to %d steps, not %d", mostSteps, len(c.Steps))
	}
	if c.Values == nil {
		var err error
		if c.Values, err = corpus.NewLive(corpus.Spec{}); err != nil {
			return nil, err
		}
	}
	d := &Driver{config: c}
	var saved []string
	for i := range c.Steps {
		s, err := compile(&c.Steps[i], c.Values, saved)
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", cmp.Or(c.Steps[i].Name, fmt.Sprint(i+1)), err)
		}
		d.steps, d.names = append(d.steps, s), append(d.names, s.Name)
		for _, v := range s.Save {
			saved = append(saved, v.Name)
		}
	}
	return d, nil
}

// Classes are the names of the steps, for load.Plan.
func (d *Driver) Classes() []string { return d.names }

// Thinking is the time that a flow pauses in all.
func (d *Driver) Thinking() (sum time.Duration) {
	for i := range d.steps {
		sum += d.steps[i].Think
	}
	return sum
}

// Share makes the flows take the rows and keys of the k-th of n processes; see corpus.Live.
func (d *Driver) Share(k, n int) { d.config.Values.Share(k, n) }

// Engine returns the driver's name.
func (d *Driver) Engine() string { return "flows" }

// Notes returns which steps failed, each with the first reason.
func (d *Driver) Notes() []string { return d.failed.Notes() }

// Protocol returns what the connections negotiated; see notes.Negotiating.
func (d *Driver) Protocol() string { return d.spoken.String() }

// Drive carries out the plan, whose Connections bound the flows that run concurrently: further ones
// wait for their turn, which the latency of their first step includes.
func (d *Driver) Drive(ctx context.Context, p *load.Plan, rec *load.Recorder) error {
	clients, err := d.newClients()
	if err != nil {
		return err
	}
	defer clients.close()
	drive := &drive{Driver: d, plan: p, clients: clients, hurried: p.Count > 0 || !p.Open() && !d.config.Paced}
	return (&pool.Driver{Name: d.Engine(), Doer: drive, Stepwise: true}).Drive(ctx, p, rec)
}

// step is a Step with its templates parsed.
type step struct {
	Step
	host      *url.URL
	url, body corpus.Template
	header    map[string]corpus.Template
	looks     bool             // at the body
	patterns  []*regexp.Regexp // of Save; nil: the source is another
}

func compile(from *Step, values *corpus.Live, saved []string) (step, error) {
	s := step{Step: *from, header: map[string]corpus.Template{}}
	var err error
	if s.host, err = Host(s.URL); err != nil {
		return s, err
	}
	if err := s.Check.Compile(); err != nil {
		return s, err
	}
	if s.url, err = values.URL(s.URL, saved); err != nil {
		return s, fmt.Errorf("url: %w", err)
	}
	if s.body, err = values.Body(s.Body, s.Header, saved); err != nil {
		return s, fmt.Errorf("body: %w", err)
	}
	for name, value := range s.Header {
		if s.header[name], err = values.Header(value, saved); err != nil {
			return s, fmt.Errorf("header %s: %w", name, err)
		}
	}
	s.looks = len(s.Check.JSON) > 0
	for _, v := range s.Save {
		var pattern *regexp.Regexp
		if v.From.Matches != "" {
			if pattern, err = regexp.Compile(v.From.Matches); err != nil {
				return s, fmt.Errorf("save %s: %w", v.Name, err)
			}
		}
		s.patterns = append(s.patterns, pattern)
		s.looks = s.looks || v.From.JSON != "" || pattern != nil
	}
	_, err = http.NewRequest(s.Method, "http://host/", nil)
	return s, err
}

// Host returns the part of a step's URL before its placeholders, and an error unless the host is
// known before the load: load is sent to hosts that were permitted, and to no other.
func Host(text string) (*url.URL, error) {
	before, _, _ := strings.Cut(text, "${")
	u, err := url.Parse(before)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || before != text && u.Path == "" && u.RawQuery == "" {
		return nil, errors.New("its url needs a scheme and a host without placeholders, as in http://127.0.0.1:8080/orders/${order}")
	}
	return u, nil
}
