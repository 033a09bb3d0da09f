package report

import (
	"fmt"
	"math"
	"sort"

	"dyno/lab/capacity"
	"dyno/lab/capacity/queueing"
	"dyno/lab/record"
)

// Gauges by which a service tells how its queue is built, so that theory can stand beside it. Without
// the last two there is no prediction.
const (
	GaugeRoom    = "queue_room"          // how many it holds, those in service included
	GaugeServers = "queue_servers"       // consumers
	GaugeService = "queue_service_per_s" // what one consumer serves, per second
)

// sweep fills in what the declared loads showed.
func (r *Report) sweep(e *record.Experiment) {
	s := &Sweep{At: Unknown}
	r.Sweep = s
	for _, name := range variantNames(e) {
		for _, p := range points(e, name) {
			s.Rows = append(s.Rows, newSweepRow(name, p))
		}
	}
	r.Charts = append(r.Charts, flowChart(e))
	s.queues(e)
}

func newSweepRow(variant string, p point) SweepRow {
	return SweepRow{
		Variant: variant, Offered: Value(p.offered), Runs: len(p.runs),
		Accepted:  Value(p.median(acceptedOf)),
		Delivered: Value(p.median(deliveredOf)),
		Refused:   Value(p.median(refusedOf)),
		P50:       Value(p.median(func(r *record.Run) float64 { return positive(r.SLO.Observed(r.Totals).P50) })),
		P99:       Value(p.median(p99Of)),
		CPU: Value(p.median(func(r *record.Run) float64 {
			if r.Totals.Server == nil {
				return math.NaN()
			}
			return positive(r.Totals.Server.CPUMicrosPerRequest)
		})),
	}
}

func p99Of(r *record.Run) float64 { return positive(r.SLO.Observed(r.Totals).P99) }

// deliveredOf is the rate of receipts; without any, nothing is known of delivery.
func deliveredOf(r *record.Run) float64 {
	if r.Totals.Delivered+r.Totals.Undelivered == 0 {
		return math.NaN()
	}
	return r.Totals.DeliveredPerS
}

// dropOf is the share of offers that came to nothing.
func dropOf(r *record.Run) float64 {
	if r.Totals.Offered == 0 {
		return math.NaN()
	}
	return float64(r.Totals.Failed+r.Totals.Undelivered) / float64(r.Totals.Offered)
}

// mostInflections is how many are listed: more would be skipped over by any reader.
const mostInflections = 40

// inflections asks the joint detector about every run that counts. What gave way together comes first;
// left is how many more there were than are listed.
func inflections(e *record.Experiment) (out []Inflection, left int) {
	for _, r := range e.Runs {
		if r.Invalid != "" {
			continue
		}
		joint, alone := capacity.Inflections(r.Series, capacity.Thresholds{})
		for _, i := range joint {
			out = append(out, Inflection{runLabel(r), seconds(i.At - r.Begin), true, i.InWords})
		}
		for _, i := range alone {
			out = append(out, Inflection{runLabel(r), seconds(i.At - r.Begin), false, i.InWords})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Joint && !out[j].Joint })
	shown := min(len(out), mostInflections)
	return out[:shown], len(out) - shown
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// queues sets the variants against one another at the offered rate, common to all of them, at which
// their drop rates lie furthest apart: below it none drops, far above it all do.
func (s *Sweep) queues(e *record.Experiment) {
	common := map[float64][]Queue{}
	names := variantNames(e)
	for _, name := range names {
		for _, p := range points(e, name) {
			common[p.offered] = append(common[p.offered], newQueue(name, p))
		}
	}
	widest := -1.0
	for at, queues := range common {
		if len(queues) < len(names) || len(queues) < 2 {
			continue
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, q := range queues {
			lo, hi = min(lo, q.DropRate), max(hi, q.DropRate)
		}
		if spread := hi - lo; spread > widest || spread == widest && at > float64(s.At) {
			widest, s.At, s.Queues = spread, Value(at), queues
		}
	}
	var measured []queueing.Point
	for _, q := range s.Queues {
		measured = append(measured, q.Point)
	}
	for _, best := range queueing.Pareto(measured) {
		for i := range s.Queues {
			if s.Queues[i].Point == best {
				s.Queues[i].OnFront = true
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
			return positive(r.Totals.Server.Gauges[name])
		})
	}
	room, servers, service := gauge(GaugeRoom), gauge(GaugeServers), gauge(GaugeService)
	if !math.IsNaN(room) {
		q.N = int(room)
	}
	if !math.IsNaN(room + servers + service) {
		if predicted, err := queueing.MMcN(p.offered, service, int(servers), int(room)); err == nil {
			q.Predicted = &predicted
		}
	}
	return q
}

// plot draws the measured queues and what theory says of each: p99 against the share dropped.
func (s *Sweep) plot() plot {
	p := plot{title: "p99 against the share of offers dropped, measured and predicted", xLabel: "dropped, % of offers", yLabel: "p99, ms"}
	var xs, ys []float64
	place := func(d dot) {
		xs, ys = append(xs, d.x), append(ys, d.y)
		p.dots = append(p.dots, d)
	}
	var front polyline
	front.class = "front"
	for _, q := range s.Queues {
		d := dot{x: q.DropRate * 100, y: q.P99Ms, class: "measured", label: q.Name}
		if q.OnFront {
			d.class = "measured best"
		}
		d.title = fmt.Sprintf("%s: room for %s, p99 %s ms, %s dropped", q.Name, roomWords(q.N), figure(Value(q.P99Ms)), percent(Value(q.DropRate)))
		place(d)
		if q.Predicted != nil {
			place(dot{x: q.Predicted.Blocking * 100, y: q.Predicted.P99Ms, class: "predicted",
				title: fmt.Sprintf("theory for %s: p99 %s ms, %s dropped", q.Name, figure(Value(q.Predicted.P99Ms)), percent(Value(q.Predicted.Blocking)))})
			p.lines = append(p.lines, polyline{class: "pull", xs: []float64{q.DropRate * 100, q.Predicted.Blocking * 100}, ys: []float64{q.P99Ms, q.Predicted.P99Ms}})
		}
	}
	best := make([]Queue, 0, len(s.Queues))
	for _, q := range s.Queues {
		if q.OnFront {
			best = append(best, q)
		}
	}
	sort.Slice(best, func(i, j int) bool { return best[i].DropRate < best[j].DropRate })
	for _, q := range best {
		front.xs, front.ys = append(front.xs, q.DropRate*100), append(front.ys, q.P99Ms)
	}
	p.lines = append(p.lines, front)
	p.x, p.y = newAxis(false, xs...), newAxis(true, ys...)
	return p
}

func roomWords(n int) string {
	if n <= 0 {
		return "an unknown number"
	}
	return count(int64(n))
}
