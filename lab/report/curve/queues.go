package curve

import (
	"maps"
	"math"
	"slices"

	"dyno/lab/capacity/queueing"
	"dyno/lab/record"
	"dyno/lab/report/figure"
)

// Queue is a bounded queue as measured, with its theoretical prediction.
type Queue struct {
	queueing.Point
	OnFront   bool
	Predicted *queueing.Prediction // nil: the service did not report its service rate
}

// Gauges by which a service reports the structure of its queue, for the theoretical prediction.
// Without the last two there is no prediction.
const (
	GaugeRoom    = "queue_room"          // its capacity, those in service included
	GaugeServers = "queue_servers"       // consumers
	GaugeService = "queue_service_per_s" // service rate of one consumer, per second
)

// queues compares the panel's variants at the highest offered rate that most of them have: under
// overload, the queue's capacity decides between waiting and loss.
func (p *Panel) queues(e *record.Experiment) {
	at := map[float64][]Queue{}
	for _, v := range p.variants {
		for _, pt := range points(e, v.Name) {
			at[pt.offered] = append(at[pt.offered], newQueue(p.short[v.Name], pt))
		}
	}
	for _, rate := range slices.Sorted(maps.Keys(at)) {
		if queues := at[rate]; len(queues) > 1 && len(queues) >= len(p.Queues) {
			p.At, p.Queues = figure.Value(rate), queues
		}
	}
	var measured []queueing.Point
	for _, q := range p.Queues {
		measured = append(measured, q.Point)
	}
	for _, best := range queueing.Pareto(measured) {
		for i := range p.Queues {
			if p.Queues[i].Point == best {
				p.Queues[i].OnFront = true
			}
		}
	}
}

func newQueue(name string, p point) Queue {
	q := Queue{Point: queueing.Point{Name: name, P99Ms: p.median(p99Of), DropRate: p.median(dropOf)}}
	if math.IsNaN(q.P99Ms) {
		q.P99Ms = 0
	}
	gauge := func(name string) float64 {
		return p.median(func(r *record.Run) float64 {
			if r.Totals.Server == nil {
				return math.NaN()
			}
			return figure.Positive(r.Totals.Server.Gauges[name])
		})
	}
	room, servers, service := gauge(GaugeRoom), gauge(GaugeServers), gauge(GaugeService)
	if !math.IsNaN(room) {
		q.N = int(room)
	}
	if !math.IsNaN(room + servers + service) {
		if predicted, err := queueing.MMcN(p.median(cameIn), service, int(servers), int(room)); err == nil {
			q.Predicted = &predicted
		}
	}
	return q
}

// Numbered reports whether the plot marks its queues by their row in the table: more than a few
// names would overlap.
func (p *Panel) Numbered() bool { return len(p.Queues) > 4 }
