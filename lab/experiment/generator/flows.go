package generator

import (
	"cmp"
	"fmt"
	"net/http"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// mostFlows bounds the flows that run concurrently on a schedule, if the scenario does not: each
// has a connection, and as many again fit the usual limit of open files.
const mostFlows = 4096

// WithThinkTimes prepares a plan for flows on a schedule: those that pause run with many others,
// and each step must be sent at the plan's rate in all of the measured time. The warm-up
// therefore lasts as long as a flow pauses at least, and so does the drain.
func (b *Generator) WithThinkTimes(p *load.Plan, v scenario.Variant) {
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

// permitSteps returns an error if the steps of a flow may not be sent to their hosts.
func (b *Generator) permitSteps(steps []workload.Step) error {
	for i := range steps {
		if err := b.Permitted(steps[i].URL); err != nil {
			return fmt.Errorf("step %s: %w", steps[i].Name, err)
		}
	}
	return nil
}

// onlyConnection is a request with which nethttp.Driver.Try connects and sends nothing, since the
// steps of a flow and gRPC calls may change something at the target.
func onlyConnection() *corpus.Corpus {
	return &corpus.Corpus{Requests: []corpus.Request{{Method: http.MethodPost, Path: "/"}}, Classes: make([]corpus.Class, 1)}
}
