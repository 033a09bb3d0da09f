package facts

import (
	"math"
	"time"

	"dyno/lab/record"
)

// Gauge is what became of one of the service's own figures over the measured time of a run.
type Gauge struct {
	Mean   float64
	Growth float64       // from the first window to the last; NaN where it ever fell: it is no sum then
	Over   time.Duration // between those two
}

// PerSecond is how fast a sum grew; NaN where it is none, or was seen once.
func (g Gauge) PerSecond() float64 {
	if g.Over <= 0 {
		return math.NaN()
	}
	return g.Growth / g.Over.Seconds()
}

// Gauges are those that were seen in a run.
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
