package generator

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"dyno/lab/experiment/environment"
	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/engine"
	"dyno/lab/load/flows"
	"dyno/lab/load/request"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// mostFlows bounds the flows that run concurrently on a schedule, if the scenario does not: each
// has a connection, and as many again fit the usual limit of open files.
const mostFlows = 4096

// Paced prepares a plan for flows on a schedule: those that pause run beside many others, and
// each step must be offered at the plan's rate in all of the measured time. The warm-up therefore
// lasts as long as a flow pauses at least, and so does the drain.
func (b *Generator) Paced(p *load.Plan, v scenario.Variant) {
	if len(b.Scenario.Load.Steps) == 0 {
		return
	}
	l := b.Scenario.LoadOf(v)
	p.Connections = cmp.Or(l.Connections, mostFlows)
	if pauses := l.Thinking(); pauses > 0 {
		window := record.WindowLength
		pauses = (pauses + window - 1) / window * window
		p.Warmup = max(p.Warmup, pauses)
		p.Drain += pauses
	}
}

// flows makes the flows of a run, and enters their steps into it.
func (b *Generator) flows(s *environment.Environment, l scenario.Load, u *url.URL, r *record.Run, out *Requests) error {
	flow, err := b.flow(s, l, u, out.Run, r.Load.Seed)
	if err != nil {
		return &scenario.Fault{Err: fmt.Errorf("load: %w", err)}
	}
	w := b.work(l, u, &request.Corpus{})
	w.Flow, w.Permit = flow, b.Permitted
	if out.Driver, err = b.driver(w); err != nil {
		return &scenario.Fault{Err: fmt.Errorf("load: %w", err)}
	}
	for i := range flow.Steps {
		out.Classes = append(out.Classes, flow.Steps[i].Name)
	}
	out.corpus, r.Load.Steps = w.Corpus, out.Classes
	return nil
}

// onlyConnection is a request with which std.Driver.Try connects and sends nothing, since the steps
// of a flow and gRPC calls may change something at the target.
func onlyConnection() *request.Corpus {
	return &request.Corpus{Requests: []request.Request{{Method: http.MethodPost, Path: "/"}}, Classes: make([]request.Class, 1)}
}

func (b *Generator) flow(s *environment.Environment, l scenario.Load, u *url.URL, run string, seed uint64) (*engine.Flow, error) {
	out := &engine.Flow{Values: corpus.Spec{Load: workload.Load{Keys: l.Keys}, Rows: b.rows, Run: run, Seed: seed}, Paced: l.Schedule.Kind == workload.Closed}
	var saved []string
	for i := range l.Steps {
		step, err := b.flowStep(s, l, u, &l.Steps[i], saved)
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", l.Steps[i].Name, err)
		}
		out.Steps = append(out.Steps, step)
		for _, v := range step.Save {
			saved = append(saved, v.Name)
		}
	}
	return out, nil
}

// flowStep completes a step of the scenario with the load's common fields.
func (b *Generator) flowStep(s *environment.Environment, l scenario.Load, u *url.URL, from *workload.Step, saved []string) (flows.Step, error) {
	out := flows.Step{Name: from.Name, Header: map[string]string{}, Follow: cmp.Or(from.Follow, l.Follow), Think: from.Think}
	x := expander{environment: s, later: saved}
	body := from.Body
	if err := b.open(&body); err != nil {
		return out, err
	}
	out.Body = x.text("body", body.Text)
	out.Method = http.MethodGet
	if body.Text != "" {
		out.Method = http.MethodPost
	}
	out.Method = cmp.Or(from.Method, out.Method)
	if out.URL = x.text("url", from.URL); from.URL == "" {
		out.URL = u.Scheme + "://" + u.Host + x.text("path", from.Path)
	} else if err := b.Permitted(out.URL); err != nil {
		return out, err
	}
	for _, headers := range []map[string]string{l.Headers, from.Headers} {
		for name, value := range headers {
			out.Header[http.CanonicalHeaderKey(name)] = x.text("header "+name, value)
		}
	}
	check := l.Check
	if from.Check != nil {
		check = *from.Check
	}
	out.Check = checkOf(check)
	for _, name := range slices.Sorted(maps.Keys(from.Save)) {
		out.Save = append(out.Save, flows.Save{Name: name, From: from.Save[name]})
	}
	return out, x.err
}

func checkOf(check workload.Check) request.Check {
	return request.Check{Status: check.Status, Header: check.Header, JSON: check.JSON}
}
