package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/capacity/queueing"
	"dyno/lab/record"
)

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
			p.At, p.Queues = Value(rate), queues
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
			return positive(r.Totals.Server.Gauges[name])
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

// Plot draws the measured queues with the predictions: p99 against the share dropped.
func (p *Panel) Plot() plot {
	out := plot{title: "p99 against the share of offers dropped, measured and predicted", xLabel: "dropped, % of offers", yLabel: "p99, ms"}
	var xs, ys []float64
	var best []Queue
	for i, q := range p.Queues {
		d := dot{x: q.DropRate * 100, y: q.P99Ms, class: "measured", label: q.Name}
		if p.Numbered() {
			d.label = strconv.Itoa(i + 1)
		}
		if q.OnFront {
			d.class, best = "measured best", append(best, q)
		}
		d.title = fmt.Sprintf("%s: capacity %s, p99 %s ms, %s dropped", q.Name, roomWords(q.N), figure(Value(q.P99Ms)), percent(Value(q.DropRate)))
		xs, ys, out.dots = append(xs, d.x), append(ys, d.y), append(out.dots, d)
		if t := q.Predicted; t != nil {
			d := dot{x: t.Blocking * 100, y: t.P99Ms, class: "predicted",
				title: fmt.Sprintf("theory for %s: p99 %s ms, %s dropped", q.Name, figure(Value(t.P99Ms)), percent(Value(t.Blocking)))}
			xs, ys, out.dots = append(xs, d.x), append(ys, d.y), append(out.dots, d)
			out.lines = append(out.lines, polyline{class: "pull", xs: []float64{q.DropRate * 100, d.x}, ys: []float64{q.P99Ms, d.y}})
		}
	}
	slices.SortFunc(best, func(a, b Queue) int {
		return cmp.Or(cmp.Compare(a.DropRate, b.DropRate), cmp.Compare(b.P99Ms, a.P99Ms))
	})
	front := polyline{class: "front"}
	for _, q := range best {
		front.xs, front.ys = append(front.xs, q.DropRate*100), append(front.ys, q.P99Ms)
	}
	out.lines = append(out.lines, front)
	out.x, out.y = newAxis(false, xs...), newAxis(true, ys...)
	out.join()
	return out
}

// join gives overlapping dots one label.
func (p *plot) join() {
	const nearX, nearY = 2.5, 6.0 // percent of the plot: a label's height and half its width
	for i := range p.dots {
		a := &p.dots[i]
		if a.label == "" {
			continue
		}
		labels := []string{a.label}
		for j := i + 1; j < len(p.dots); j++ {
			b := &p.dots[j]
			if b.label != "" && math.Abs(p.x.percentOf(a.x)-p.x.percentOf(b.x)) < nearX && math.Abs(p.y.percentOf(a.y)-p.y.percentOf(b.y)) < nearY {
				labels, b.label = append(labels, b.label), ""
			}
		}
		a.label = strings.Join(labels, ", ")
	}
}

func roomWords(n int) string {
	if n <= 0 {
		return "an unknown number"
	}
	return count(int64(n))
}
