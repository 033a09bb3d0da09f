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

// mostFlows bounds the flows that run concurrently on a schedule, unless the scenario does. Each
// has a connection, and twice as many connections are within the usual limit of open files.
const mostFlows = 4096

// WithThinkTimes adapts a plan to flows with pauses, on a schedule. Such flows overlap with many
// others, and each step must be sent at the plan's rate during the whole measured time. Therefore
// the warm-up lasts at least as long as all pauses of a flow, and the drain is longer by as much.
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

// onlyConnection is a request for which nethttp.Driver.Try connects but sends nothing, since
// steps of flows and gRPC calls may change something at the target.
func onlyConnection() *corpus.Corpus {
	return &corpus.Corpus{Requests: []corpus.Request{{Method: http.MethodPost, Path: "/"}}, Classes: make([]corpus.Class, 1)}
}
