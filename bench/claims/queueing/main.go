// Command queueing compares the queues of a recorded sweep with the steady state of a bounded queue
// in front of c servers (M/M/c/N: Poisson arrivals, exponential service times, first come first
// served, arrivals to a full queue dropped). The service must report the gauges queue_room,
// queue_servers and queue_service_per_s, as bench/claims/queues does. Formulas:
// L. Kleinrock, Queueing Systems, volume 1, 1975, section 3.6 and following.
//
// It is not for measuring a queue: dyno run scenarios/notify-queues.yaml does. It starts no
// goroutines.
package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"dyno/bench/claims"
	"dyno/lab/record"
)

func main() { claims.Main("queueing", "dyno-out/notify-queues-20260102-150405", compare) }

// Gauges by which a service reports the structure of its queue.
const (
	gaugeRoom    = "queue_room"          // its capacity, those in service included
	gaugeServers = "queue_servers"       // consumers
	gaugeService = "queue_service_per_s" // service rate of one consumer, per second
)

// compare prints a line for each valid run at a constant rate of a queue whose structure is known.
func compare(w io.Writer, e *record.Experiment) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "variant\toffered/s\troom\tp99 ms\tpredicted\tdropped\tpredicted\t")
	lines := 0
	for _, r := range e.Runs {
		t := r.Totals
		if r.Invalid != "" || r.Spec.RampTo > 0 || r.Spec.Diagnostic() || t.Server == nil || t.Offered == 0 {
			continue
		}
		g := t.Server.Gauges
		p, err := MMcN(t.OfferedPerS, g[gaugeService], int(g[gaugeServers]), int(g[gaugeRoom]))
		if err != nil {
			continue
		}
		lines++
		// A message that was accepted and still waits is late, not dropped.
		fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%.3g\t%.3g\t%.1f%%\t%.1f%%\t\n", r.Spec.Variant, t.OfferedPerS, g[gaugeRoom],
			r.SLO.Observed(t).P99, p.P99Ms, 100*float64(t.Failed)/float64(t.Offered), 100*p.Blocking)
	}
	if lines == 0 {
		return fmt.Errorf("no run reports %s, %s and %s", gaugeRoom, gaugeServers, gaugeService)
	}
	return out.Flush()
}
