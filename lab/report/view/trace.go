package view

import (
	"maps"
	"math"
	"slices"

	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Point reads a window like a Trace's point: its phase, and its figures by the keys of
// Trace.Series. Missing figures have no key.
func Point(w record.Window) (phase string, figures map[string]float64) {
	figures = map[string]float64{}
	for _, m := range measures {
		if v := m.read(w); !math.IsNaN(v) {
			figures[m.key] = format.Significant(v, 4)
		}
	}
	return phaseOf(w), figures
}

// Bounds on the data of a page, so that it opens quickly on a phone for an experiment of any
// length.
const (
	traceValues = 380_000 // figures in all traces; at about 5.5 bytes each, 2 MB
	maxTraces   = 200     // runs whose series are drawn
	maxPoints   = 900     // points in one trace: more than a chart has pixels
	minPoints   = 24
	MaxGauges   = 12 // gauges drawn for a run
)

// Trace is a run's series thinned for drawing. Times are s from the first measured instant.
type Trace struct {
	Run    string                    `json:"run"`
	Label  string                    `json:"label"`
	Every  float64                   `json:"every_s"` // windows merged into a point
	T      format.Numbers            `json:"t"`       // start of each point's windows
	Bands  []Band                    `json:"bands"`   // phases that were not measured
	Series map[string]format.Numbers `json:"series"`  // client and server; absent: not measured
	Gauges map[string]format.Numbers `json:"gauges"`
	SLOMs  format.Value              `json:"slo_ms"` // the tightest bound on p99, if there is one
}

// Band is a stretch of a run in another phase than the measured one.
type Band struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Phase string  `json:"phase"`
}

// measure is a line: how to read it from a window, and how to merge windows.
type measure struct {
	key   string
	merge func(sum, v float64) float64
	mean  bool // divide by the number of windows
	read  func(w record.Window) float64
}

func add(sum, v float64) float64 { return sum + v }

// perWindow converts a window's count to a rate per second.
func perWindow(n int64) float64 { return float64(n) / record.WindowLength.Seconds() }

func latency(read func(record.Client) float64) func(record.Window) float64 {
	return func(w record.Window) float64 {
		if profiled(w) {
			return math.NaN()
		}
		return format.Positive(read(w.Client))
	}
}

func server(read func(*record.Server) float64) func(record.Window) float64 {
	return func(w record.Window) float64 {
		if w.Server == nil {
			return math.NaN()
		}
		return read(w.Server)
	}
}

// agentOnly reads a figure that /proc does not have.
func agentOnly(read func(*record.Server) float64) func(record.Window) float64 {
	return server(func(s *record.Server) float64 {
		if !s.AgentSeen {
			return math.NaN()
		}
		return read(s)
	})
}

// measures are the lines of a trace. Rates and usage merge to their mean; latencies, peaks and
// queues to their maximum, so that thinning hides no stall.
var measures = []measure{
	{"offered", add, true, func(w record.Window) float64 { return perWindow(w.Client.Offered) }},
	{"achieved", add, true, func(w record.Window) float64 { return perWindow(w.Client.Ended) }},
	{"failed", add, true, func(w record.Window) float64 { return perWindow(w.Client.Failed) }},
	{"refused", add, true, func(w record.Window) float64 { return perWindow(w.Client.Refused) }},
	{"delivered", add, true, func(w record.Window) float64 { return perWindow(w.Client.Delivered) }},
	{"p50", math.Max, false, latency(func(c record.Client) float64 { return c.P50Ms })},
	{"p99", math.Max, false, latency(func(c record.Client) float64 { return c.P99Ms })},
	{"delivery_p99", math.Max, false, latency(func(c record.Client) float64 { return c.DeliveryP99Ms })},
	{"backlog", math.Max, false, func(w record.Window) float64 { return float64(w.Client.Backlog) }},
	{"frames", add, true, func(w record.Window) float64 { return perWindow(w.Client.Frames) }},
	{"bytes_in", add, true, func(w record.Window) float64 { return perWindow(w.Client.Bytes) / (1 << 20) }},
	{"lost", add, false, func(w record.Window) float64 { return float64(w.Client.Lost) }},
	{"generator_cpu", add, true, func(w record.Window) float64 { return w.Client.CPU }},
	{"cpu", add, true, server(func(s *record.Server) float64 { return s.CPU })},
	{"delay", add, true, server(func(s *record.Server) float64 { return s.Delay })},
	{"rss", math.Max, false, server(func(s *record.Server) float64 { return mebibytes(s.RSS) })},
	{"goroutines", math.Max, false, agentOnly(func(s *record.Server) float64 { return float64(s.Goroutines) })},
	{"heap_live", math.Max, false, agentOnly(func(s *record.Server) float64 { return mebibytes(s.HeapLive) })},
	{"heap_goal", math.Max, false, agentOnly(func(s *record.Server) float64 { return mebibytes(s.HeapGoal) })},
	{"gc_pause", math.Max, false, agentOnly(func(s *record.Server) float64 { return s.GCPauseMs })},
	{"allocs", add, true, agentOnly(func(s *record.Server) float64 { return s.Allocs })},
	{"mutex_wait", add, true, agentOnly(func(s *record.Server) float64 { return s.MutexWait })},
}

// latencies are the measures that a run under profiles does not show.
var latencies = []string{"p50", "p99", "delivery_p99"}

func mebibytes(b int64) float64 { return float64(b) / (1 << 20) }

// profiled reports whether a profile was being taken: latency from such a window is never shown.
func profiled(w record.Window) bool {
	return w.Phase == record.PhaseProfile || w.Server != nil && w.Server.Profiling
}

func phaseOf(w record.Window) string {
	if profiled(w) {
		return record.PhaseProfile
	}
	return w.Phase
}

// Traces thins the series of the experiment's runs to the page's bounds. left is the number of runs
// left out.
func Traces(e *record.Experiment) (out []Trace, left int) {
	var runs []*record.Run
	for _, r := range e.Runs {
		if len(r.Series) == 0 {
			continue
		}
		if len(runs) == maxTraces {
			left++
			continue
		}
		runs = append(runs, r)
	}
	if len(runs) == 0 {
		return nil, left
	}
	lines := len(measures) + MaxGauges/2
	points := max(minPoints, min(maxPoints, traceValues/lines/len(runs)))
	for _, r := range runs {
		out = append(out, newTrace(r, points))
	}
	return out, left
}

// newTrace thins a run to about the given number of points. A point never mixes phases.
func newTrace(r *record.Run, points int) Trace {
	each := (len(r.Series) + points - 1) / points
	t := Trace{Bands: []Band{}, // a run without warm-up has none
		Run: r.ID, Label: format.Run(r), Every: float64(each) * record.WindowLength.Seconds(),
		Series: map[string]format.Numbers{}, Gauges: map[string]format.Numbers{}, SLOMs: format.P99Bound(r.SLO),
	}
	names := gaugeNames(r)
	for rest := r.Series; len(rest) > 0; {
		n := 1
		for n < len(rest) && n < each && phaseOf(rest[n]) == phaseOf(rest[0]) {
			n++
		}
		t.point(rest[:n], r.Begin, names)
		rest = rest[n:]
	}
	for key, c := range t.Series {
		if c.Empty() || r.Spec.Role == record.RoleProfile && slices.Contains(latencies, key) {
			delete(t.Series, key)
		}
	}
	return t
}

func (t *Trace) point(ws []record.Window, begin int64, gauges []string) {
	from := float64(ws[0].Start-begin) / 1e9
	to := float64(ws[len(ws)-1].Start-begin)/1e9 + record.WindowLength.Seconds()
	t.T = append(t.T, from)
	if phase := phaseOf(ws[0]); phase != record.PhaseMeasure {
		if last := len(t.Bands) - 1; last >= 0 && t.Bands[last].Phase == phase && t.Bands[last].To >= from-1e-6 {
			t.Bands[last].To = to
		} else {
			t.Bands = append(t.Bands, Band{From: from, To: to, Phase: phase})
		}
	}
	for _, m := range measures {
		t.Series[m.key] = append(t.Series[m.key], m.over(ws))
	}
	for _, name := range gauges {
		g := measure{merge: math.Max, read: server(func(s *record.Server) float64 {
			v, ok := s.Gauges[name]
			if !ok {
				return math.NaN()
			}
			return v
		})}
		t.Gauges[name] = append(t.Gauges[name], g.over(ws))
	}
}

// over merges windows; NaN if none of them has the figure.
func (m measure) over(ws []record.Window) float64 {
	sum, n := math.NaN(), 0
	for _, w := range ws {
		v := m.read(w)
		switch {
		case math.IsNaN(v):
			continue
		case n == 0:
			sum = v
		default:
			sum = m.merge(sum, v)
		}
		n++
	}
	if m.mean && n > 0 {
		return sum / float64(n)
	}
	return sum
}

// gaugeNames are the first gauges of a run, in order.
func gaugeNames(r *record.Run) []string {
	seen := map[string]bool{}
	for _, w := range r.Series {
		if w.Server == nil {
			continue
		}
		for name := range w.Server.Gauges {
			seen[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(seen))
	return names[:min(len(names), MaxGauges)]
}
