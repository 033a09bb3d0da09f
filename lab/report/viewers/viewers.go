// Package viewers writes an experiment for programs that draw it: its runs, slices and windows as
// a trace that Perfetto opens (ui.perfetto.dev, chrome://tracing), and its profiles as a file that
// Speedscope opens.
//
// It computes no result: package report does. It starts no goroutines.
package viewers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"dyno/lab/record"
)

// Formats are the writers by the name of their format.
var Formats = map[string]func(io.Writer, *record.Experiment) error{"perfetto": Perfetto, "speedscope": Speedscope}

// event is an event of the JSON trace format.
type event struct {
	Name     string  `json:"name"`
	Phase    string  `json:"ph"`           // X: from ts for dur; C: counters; M: a name of a process
	At       float64 `json:"ts"`           // us
	Duration float64 `json:"dur,omitzero"` // us
	Process  int     `json:"pid"`
	Thread   int     `json:"tid"`
	Args     any     `json:"args,omitempty"`
}

// Perfetto writes the trace: a process for each run, with its phases and the windows as counters,
// and one for the turns of variants, with a thread for each variant.
func Perfetto(w io.Writer, e *record.Experiment) error {
	events := []event{}
	add := func(one event) { events = append(events, one) }
	begin := first(e)
	us := func(ns int64) float64 { return float64(ns-begin) / 1e3 }
	for i, r := range e.Runs {
		pid := i + 1
		add(event{Name: "process_name", Phase: "M", Process: pid, Args: map[string]string{"name": r.ID}})
		for _, p := range phases(r) {
			add(event{Name: p.name, Phase: "X", At: us(p.from), Duration: float64(p.to-p.from) / 1e3, Process: pid})
		}
		for _, w := range r.Series {
			count := func(name string, values map[string]float64) {
				add(event{Name: name, Phase: "C", At: us(w.Start), Process: pid, Args: values})
			}
			perSecond := 1e9 / float64(record.WindowLength)
			count("requests/s", map[string]float64{"offered": float64(w.Client.Offered) * perSecond, "answered": float64(w.Client.Ended) * perSecond, "failed": float64(w.Client.Failed) * perSecond})
			if w.Client.Frames > 0 {
				count("frames/s", map[string]float64{"received": float64(w.Client.Frames) * perSecond})
			}
			if w.Client.Ended > 0 {
				count("response ms", map[string]float64{"p50": w.Client.P50Ms, "p99": w.Client.P99Ms})
			}
			count("backlog", map[string]float64{"offered and not finished": float64(w.Client.Backlog)})
			if s := w.Server; s != nil {
				count("cores", map[string]float64{"target": s.CPU, "generator": w.Client.CPU})
				count("bytes", map[string]float64{"resident": float64(s.RSS), "live heap": float64(s.HeapLive)})
				for _, name := range slices.Sorted(maps.Keys(s.Gauges)) {
					count(name, map[string]float64{"value": s.Gauges[name]})
				}
			}
		}
	}
	turns(e, us, add)
	if len(events) == 0 {
		return errors.New("the experiment has no run and no slice to draw")
	}
	return encode(w, map[string]any{"traceEvents": events, "displayTimeUnit": "ms"})
}

// turns adds the slices, a thread for each variant.
func turns(e *record.Experiment, us func(int64) float64, add func(event)) {
	if len(e.Slices) == 0 {
		return
	}
	pid := len(e.Runs) + 1
	add(event{Name: "process_name", Phase: "M", Process: pid, Args: map[string]string{"name": "turns"}})
	threads := map[string]int{}
	for _, s := range e.Slices {
		of := s.Variant
		if s.Role == record.RoleControl {
			of += " (twin)"
		}
		if threads[of] == 0 {
			threads[of] = len(threads) + 1
			add(event{Name: "thread_name", Phase: "M", Process: pid, Thread: threads[of], Args: map[string]string{"name": of}})
		}
		add(event{Name: s.Kind, Phase: "X", At: us(s.Start), Duration: float64(s.Length) / 1e3, Process: pid, Thread: threads[of],
			Args: map[string]any{"served_per_s": s.PerS(), "cpu_us": s.CPUMicros(), "rate_per_s": s.Rate, "met": s.Met, "steal": s.Steal, "block": s.Block, "generation": s.Generation}})
	}
}

// phase is a part of a run, in ns of the record's clock.
type phase struct {
	name     string
	from, to int64
}

func phases(r *record.Run) (all []phase) {
	for _, w := range r.Series {
		end := w.Start + int64(record.WindowLength)
		if n := len(all); n > 0 && all[n-1].name == w.Phase {
			all[n-1].to = end
			continue
		}
		all = append(all, phase{w.Phase, w.Start, end})
	}
	return all
}

// first is the earliest instant of the experiment.
func first(e *record.Experiment) int64 {
	at := int64(0)
	earlier := func(t int64) {
		if at == 0 || t < at {
			at = t
		}
	}
	for _, r := range e.Runs {
		if len(r.Series) > 0 {
			earlier(r.Series[0].Start)
		}
	}
	for _, s := range e.Slices {
		earlier(s.Start)
	}
	return at
}

func encode(w io.Writer, value any) error {
	if err := json.NewEncoder(w).Encode(value); err != nil {
		return fmt.Errorf("writing the file: %w", err)
	}
	return nil
}
