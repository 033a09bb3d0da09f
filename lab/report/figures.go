package report

import (
	"math"
	"slices"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Figure is a measured figure of a step. Terminal, Markdown, page, JSON and package live show every
// figure of the table Figures, so a new one is one line there.
type Figure struct {
	Key        string // in the JSON of a step
	Name, Unit string
	Short      string // name and unit for narrow tables
	SliceUnit  string // Unit of what is read from slices, if it is another; empty: it is not
	Write      func(format.Value) string
	Run        func(*record.Run) float64   // reads a run; NaN or below 0: not measured
	Slice      func(*record.Slice) float64 // reads a slice, in the same form; nil: slices do not have the figure
	Zero       bool                        // 0 is a measured figure; otherwise it means no measurement
	Peak       bool                        // of several runs the highest figure counts, not the median
	Profiled   bool                        // profiles hardly change it: a run under profiles may have it when no other has
}

// Keys of the figures that the sentences of a report use.
const (
	FigureP99        = "p99_ms"
	FigureCPU        = "cpu_us_per_request"
	FigureAllocs     = "allocs_per_request"
	FigureAllocBytes = "bytes_per_request"
)

// Figures are the measured figures of a step, in the order of the columns and of the JSON.
var Figures = []Figure{
	{Key: FigureP99, Name: "p99", Unit: "ms", Short: "p99 ms", SliceUnit: "ms, SLO met", Write: format.Format,
		Run: func(r *record.Run) float64 { return r.SLO.Observed(r.Totals).P99 },
		Slice: func(s *record.Slice) float64 {
			if s.Kind != record.SliceSLO || !s.Met {
				return math.NaN()
			}
			return format.Positive(s.Latency.P99)
		}},
	{Key: FigureCPU, Name: "CPU", Unit: "us per request", Short: "CPU us", Write: format.Format,
		Run:   ofServer(func(t *record.ServerTotals) float64 { return t.CPUMicrosPerRequest }),
		Slice: ofSlice(record.SliceWork, (*record.Slice).CPUMicros)},
	{Key: FigureAllocs, Name: "allocations", Unit: "per request", Short: "allocs", Write: format.Format, Zero: true,
		Run:   ofServer(func(t *record.ServerTotals) float64 { return t.AllocsPerRequest }),
		Slice: ofSlice(record.SliceSLO, func(s *record.Slice) float64 { return s.Allocs / float64(s.Served) })},
	{Key: FigureAllocBytes, Name: "allocated", Unit: "bytes per request", Short: "alloc B", Write: format.Format, Zero: true,
		Run:   ofServer(func(t *record.ServerTotals) float64 { return t.BytesPerRequest }),
		Slice: ofSlice(record.SliceSLO, func(s *record.Slice) float64 { return s.AllocBytes / float64(s.Served) })},
	{Key: "peak_rss_bytes", Name: "peak RSS", Short: "peak RSS", Write: format.Size, Peak: true, Profiled: true,
		Run: ofServer(func(t *record.ServerTotals) float64 { return float64(t.PeakRSS) })},
	{Key: "peak_goroutines", Name: "peak goroutines", Short: "goroutines", Write: format.Whole, Peak: true, Profiled: true,
		Run: ofServer(func(t *record.ServerTotals) float64 { return float64(t.PeakGoroutines) })},
	{Key: "gc_pause_p99_ms", Name: "GC pause p99", Unit: "ms", Short: "GC p99 ms", Write: format.Format, Zero: true, Profiled: true,
		Run: ofServer(func(t *record.ServerTotals) float64 {
			if t.AllocsPerRequest < 0 { // no agent: a pause of 0 was not measured
				return math.NaN()
			}
			return t.GCPauseP99Ms
		})},
}

// MetricFigures are the keys of the figures that a step's Capacity holds when the metric is not
// the capacity.
var MetricFigures = map[string]string{compare.MetricP99: FigureP99, compare.MetricCPU: FigureCPU}

// FigureOf is the figure of that key; nil: there is none.
func FigureOf(key string) *Figure {
	for i := range Figures {
		if Figures[i].Key == key {
			return &Figures[i]
		}
	}
	return nil
}

// ofServer reads the target's view of a run.
func ofServer(read func(*record.ServerTotals) float64) func(*record.Run) float64 {
	return func(r *record.Run) float64 {
		if r.Totals.Server == nil {
			return math.NaN()
		}
		return read(r.Totals.Server)
	}
}

// ofSlice reads the slices of one kind in which requests were served.
func ofSlice(kind string, read func(*record.Slice) float64) func(*record.Slice) float64 {
	return func(s *record.Slice) float64 {
		if s.Kind != kind || s.Served == 0 {
			return math.NaN()
		}
		return read(s)
	}
}

// Of is the figure of one run.
func (f *Figure) Of(r *record.Run) format.Value { return f.value(f.Run(r)) }

// value is v, or unknown where v means no measurement.
func (f *Figure) value(v float64) format.Value {
	if !(v >= 0) || v == 0 && !f.Zero {
		return format.Unknown
	}
	return format.Value(v)
}

func (f *Figure) over(runs []*record.Run) format.Value {
	var all []float64
	for _, r := range runs {
		if v := f.Of(r); v.Known() {
			all = append(all, float64(v))
		}
	}
	if f.Peak && len(all) > 0 {
		return format.Value(slices.Max(all))
	}
	return format.MedianOf(all)
}

// overSlices is the figure of several slices.
func (f *Figure) overSlices(of []*record.Slice) format.Value {
	var all []float64
	for _, s := range of {
		if v := f.Slice(s); v >= 0 {
			all = append(all, v)
		}
	}
	return f.value(float64(format.MedianOf(all)))
}

// Figure is a measured figure of the step, by its key.
func (s *VariantResult) Figure(key string) format.Value {
	if v, ok := s.Figures[key]; ok {
		return v
	}
	return format.Unknown
}
