package facts

import (
	"math"
	"time"

	"dyno/lab/record"
)

// Gauge summarises one of the service's gauges over the measured time of a run.
type Gauge struct {
	Mean   float64
	Growth float64       // from the first window to the last; NaN if the gauge ever fell, since it is not a sum then
	Over   time.Duration // time between those two windows
}

// PerSecond is the growth rate of a sum; NaN if it is no sum, or was seen once.
func (g Gauge) PerSecond() float64 {
	if g.Over <= 0 {
		return math.NaN()
	}
	return g.Growth / g.Over.Seconds()
}

// Gauges returns the gauges seen in a run, by name.
func Gauges(r *record.Run) map[string]Gauge {
	type track struct {
		begin, end  int64 // of the windows
		first, last float64
		sum, n      float64
		fell        bool
	}
	tracks := map[string]*track{}
	for _, w := range r.Series {
		if w.Phase != record.PhaseMeasure || w.Server == nil {
			continue
		}
		for name, v := range w.Server.Gauges {
			t := tracks[name]
			if t == nil {
				t = &track{begin: w.Start, first: v, last: v}
				tracks[name] = t
			}
			t.fell = t.fell || v < t.last
			t.end, t.last = w.Start, v
			t.sum, t.n = t.sum+v, t.n+1
		}
	}
	out := make(map[string]Gauge, len(tracks))
	for name, t := range tracks {
		g := Gauge{Mean: t.sum / t.n, Growth: t.last - t.first, Over: time.Duration(t.end - t.begin)}
		if t.fell {
			g.Growth = math.NaN()
		}
		out[name] = g
	}
	return out
}
