package main

import (
	"runtime/metrics"
	"slices"
	"time"

	"dyno/bench/claims/queues/queue"
	"dyno/lab/load/windows"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// gauged adds the queue's own figures to each window; how it is built, since what theory says of a
// queue follows from its room, its consumers and how fast they serve; and what memory costs. The
// collector calls it, one window after the other.
type gauged struct {
	*windows.Writer
	options
	queue  queue.Queue[message]
	memory []metrics.Sample
}

// memoryGauges are what a burst costs beside the queue: the heap with its garbage, what a
// collection found alive, collections, and what they took of the CPU.
var memoryGauges = map[string]string{
	"heap_bytes":      "/memory/classes/heap/objects:bytes",
	"heap_live_bytes": "/gc/heap/live:bytes",
	"gc_cycles_total": "/gc/cycles/total:gc-cycles",
	"gc_cpu_seconds":  "/cpu/classes/gc/total:cpu-seconds",
}

func newGauged(out *windows.Writer, o options, q queue.Queue[message]) *gauged {
	g := &gauged{Writer: out, options: o, queue: q}
	for _, name := range memoryGauges {
		g.memory = append(g.memory, metrics.Sample{Name: name})
	}
	return g
}

func (g *gauged) Window(w record.Window, hists map[string]*hdrhistogram.Histogram) error {
	s := g.queue.Stats()
	gauges := map[string]float64{
		"async_queue_depth":     float64(g.queue.Len()),
		"channel_dropped_total": float64(s.Refused),
		"queue_growths_total":   float64(s.Growths),
		"queue_parks_total":     float64(s.Waits),
		"queue_peak":            float64(s.Peak),
		"queue_room":            float64(g.room()),
		"queue_servers":         float64(g.workers),
	}
	if g.work > 0 {
		gauges["queue_service_per_s"] = float64(time.Second) / float64(g.work)
	}
	if len(s.Depths) > 0 {
		gauges["queue_shard_depth_max"] = float64(slices.Max(s.Depths))
	}
	g.remember(gauges)
	w.Server = &record.Server{Gauges: gauges}
	return g.Writer.Window(w, hists)
}

// remember reads the runtime's metrics. Those that this version of Go does not have are left out.
func (g *gauged) remember(gauges map[string]float64) {
	metrics.Read(g.memory)
	for name, from := range memoryGauges {
		i := slices.IndexFunc(g.memory, func(s metrics.Sample) bool { return s.Name == from })
		switch v := g.memory[i].Value; v.Kind() {
		case metrics.KindUint64:
			gauges[name] = float64(v.Uint64())
		case metrics.KindFloat64:
			gauges[name] = v.Float64()
		}
	}
}
