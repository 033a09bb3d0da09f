// Package timeseries makes time series of an experiment, and sends them by OTLP over HTTP to the
// database that has the service's own, such as Prometheus. Graphs then show the load next to the
// service, and alert rules can read what was measured.
//
// It is not for scraping (a run has ended when it is sent), and it computes no result: package
// report does. It starts no goroutines but those of net/http.
package timeseries

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report"
)

// Series is one metric of one set of labels.
type Series struct {
	Name   string
	Labels map[string]string
	Points []Point
}

// Point is a value at a time.
type Point struct {
	At    time.Time
	Value float64
}

// Of returns the series of an experiment: the windows of its runs, its slices, and the capacity of
// each variant and whether the result is valid at its end.
func Of(e *record.Experiment, r *report.Report) []Series {
	var all []Series
	ended := e.Started
	for _, run := range e.Runs {
		windows := ofRun(e, run)
		for _, s := range windows {
			if at := s.Points[len(s.Points)-1].At; at.After(ended) {
				ended = at
			}
		}
		all = append(all, windows...)
	}
	slices, last := ofSlices(e)
	all = append(all, slices...)
	if last.After(ended) {
		ended = last
	}
	valid := 1.0
	if r.Outcome.Status != record.OutcomeComplete {
		valid = 0
	}
	labels := map[string]string{"experiment": e.Name, "service": e.Service}
	all = append(all, Series{"dyno_valid", labels, []Point{{ended, valid}}})
	if r.Metric == compare.MetricP99 || r.Metric == compare.MetricCPU {
		return all // the steps' figure is no rate
	}
	for _, step := range r.Steps {
		if step.Capacity.Known() && step.Capacity > 0 {
			of := maps.Clone(labels)
			of["variant"] = step.Name
			all = append(all, Series{"dyno_capacity_per_second", of, []Point{{ended, float64(step.Capacity)}}})
		}
	}
	return all
}

// ofRun returns the series of a run's windows.
func ofRun(e *record.Experiment, r *record.Run) []Series {
	if len(r.Series) == 0 {
		return nil
	}
	rows := &rows{labels: map[string]string{"experiment": e.Name, "service": e.Service, "run": r.ID, "variant": r.Spec.Variant, "role": r.Spec.Role}, by: map[string]*Series{}}
	clock := wall(r)
	perSecond := float64(time.Second) / float64(record.WindowLength)
	for _, w := range r.Series {
		rows.at = clock(w.Start)
		c := w.Client
		rows.add("dyno_offered_per_second", float64(c.Offered)*perSecond)
		rows.add("dyno_completed_per_second", float64(c.Ended)*perSecond)
		rows.add("dyno_failed_per_second", float64(c.Failed)*perSecond)
		rows.add("dyno_backlog", float64(c.Backlog))
		rows.add("dyno_generator_cpu_cores", c.CPU)
		rows.add("dyno_send_lag_seconds", c.LagP99Us/1e6)
		if r.Totals.Sessions != nil {
			rows.add("dyno_frames_per_second", float64(c.Frames)*perSecond)
			rows.add("dyno_sessions_lost", float64(c.Lost))
		}
		if c.Ended > 0 {
			rows.add("dyno_response_seconds", c.P50Ms/1e3, "quantile", "0.5")
			rows.add("dyno_response_seconds", c.P99Ms/1e3, "quantile", "0.99")
		}
		s := w.Server
		if s == nil {
			continue
		}
		rows.add("dyno_target_cpu_cores", s.CPU)
		rows.add("dyno_target_resident_bytes", float64(s.RSS))
		if !s.AgentSeen {
			continue
		}
		rows.add("dyno_target_goroutines", float64(s.Goroutines))
		rows.add("dyno_target_heap_live_bytes", float64(s.HeapLive))
		for name, value := range s.Gauges {
			rows.add("dyno_target_gauge", value, "gauge", name)
		}
	}
	return rows.all()
}

// rows are the series of a run, or of a variant's slices, while they are filled, by name and own
// label.
type rows struct {
	labels map[string]string
	at     time.Time
	by     map[string]*Series
}

func (r *rows) add(name string, value float64, label ...string) {
	key := fmt.Sprint(name, label)
	s := r.by[key]
	if s == nil {
		s = &Series{Name: name, Labels: r.labels}
		if len(label) == 2 {
			s.Labels = maps.Clone(r.labels)
			s.Labels[label[0]] = label[1]
		}
		r.by[key] = s
	}
	s.Points = append(s.Points, Point{r.at, value})
}

func (r *rows) all() []Series {
	out := make([]Series, 0, len(r.by))
	for _, key := range slices.Sorted(maps.Keys(r.by)) {
		out = append(out, *r.by[key])
	}
	return out
}

// wall returns the wall clock of a run's windows. Records of earlier versions have only when the
// run began, before its target did.
func wall(r *record.Run) func(start int64) time.Time {
	at, from := r.BeginAt, r.Begin
	if at.IsZero() {
		at, from = r.Started.Add(r.Target.Ready), r.Series[0].Start
	}
	return func(start int64) time.Time { return at.Add(time.Duration(start - from)) }
}
