package report

import (
	"cmp"

	"dyno/lab/compare"
	"dyno/lab/record"
)

// tableColumn is a column of the table of steps, the same in every form of the report.
type tableColumn struct {
	Head   string
	Unit   string
	Short  string // head and unit where there is little room
	Number bool
	Cell   func(*Step) string
	Detail func(*Step) string // an interval, after the cell; may be nil
	known  func(*Step) bool   // a column that no step knows is left out; nil: always shown
}

// columns are those of the table of steps that have something to show.
func (r *Report) columns() []tableColumn {
	value := func(head, unit, short string, read func(*Step) Value, write func(Value) string) tableColumn {
		return tableColumn{Head: head, Unit: unit, Short: short, Number: true,
			Cell:  func(s *Step) string { return write(read(s)) },
			known: func(s *Step) bool { return read(s).Known() }}
	}
	head, unit, short := "capacity", "per second", "capacity/s"
	switch r.Metric {
	case compare.MetricP99:
		head, unit, short = "p99", "ms", "p99 ms"
	case compare.MetricCPU:
		head, unit, short = "CPU", "us per request", "CPU us"
	}
	main := value(head, unit, short, func(s *Step) Value { return s.Capacity }, figure)
	main.Detail, main.known = func(s *Step) string { return between(s.Interval) }, nil
	ratio := value("of baseline", "ratio", "x baseline", func(s *Step) Value { return s.Ratio }, times)
	ratio.Detail = func(s *Step) string { return betweenRatios(s.RatioInterval) }
	before := value("of the step before", "ratio", "x before", func(s *Step) Value { return s.StepRatio }, times)
	before.Detail = func(s *Step) string { return betweenRatios(s.StepInterval) }
	against := ""
	if r.Kind == record.KindLadder {
		against = "against the step before"
	}
	all := []tableColumn{
		{Head: "step", Short: "step", Cell: func(s *Step) string { return s.Name }},
		main, ratio, before,
	}
	if r.Scaling != nil {
		all = append(all,
			value("at once", "units", "at once", func(s *Step) Value { return s.AtOnce }, whole),
			tableColumn{Head: "waits for", Short: "waits for", Cell: func(s *Step) string { return cmp.Or(s.Waits, dash) },
				known: func(s *Step) bool { return s.Waits != "" }})
		if r.Scaling.tail != "p99" {
			all = append(all, value(r.Scaling.tail, "ms", r.Scaling.tail+" ms", func(s *Step) Value { return s.Tail }, figure))
		}
	}
	if r.Metric != compare.MetricP99 {
		all = append(all, value("p99", "ms", "p99 ms", func(s *Step) Value { return s.P99 }, figure))
	}
	if r.Metric != compare.MetricCPU {
		all = append(all, value("CPU", "us per request", "CPU us", func(s *Step) Value { return s.CPU }, figure))
	}
	all = append(all,
		value("allocations", "per request", "allocs", func(s *Step) Value { return s.Allocs }, figure),
		value("allocated", "bytes per request", "alloc B", func(s *Step) Value { return s.AllocBytes }, figure),
		value("peak RSS", "", "peak RSS", func(s *Step) Value { return s.PeakRSS }, size),
		value("peak goroutines", "", "goroutines", func(s *Step) Value { return s.Goroutines }, whole),
		value("GC pause p99", "ms", "GC p99 ms", func(s *Step) Value { return s.GCPauseP99 }, figure),
		tableColumn{Head: "without it", Unit: "ratio of the last step", Short: "x without", Number: true,
			Cell: func(s *Step) string {
				if s.LeaveOut == nil {
					return dash
				}
				return times(measured(s.LeaveOut.Ratio))
			},
			Detail: func(s *Step) string {
				if s.LeaveOut == nil {
					return ""
				}
				return betweenRatios(interval(s.LeaveOut.Interval))
			},
			known: func(s *Step) bool { return s.LeaveOut != nil }},
		tableColumn{Head: "bound by", Short: "bound by", Cell: func(s *Step) string { return boundBy(r.diagnosis(s.Name)) },
			known: func(s *Step) bool { return r.diagnosis(s.Name) != nil }},
		tableColumn{Head: "verdict", Unit: against, Short: "verdict", Cell: func(s *Step) string {
			if s.Invalid != "" {
				return "no result: " + s.Invalid
			}
			return s.Verdict
		}, known: func(s *Step) bool { return s.Verdict != "" || s.Invalid != "" }},
	)
	for i := range all {
		if detail := all[i].Detail; detail != nil && !r.any(func(s *Step) bool { return detail(s) != "" }) {
			all[i].Detail = nil
		}
	}
	var shown []tableColumn
	for _, c := range all {
		if c.known == nil || r.any(c.known) {
			shown = append(shown, c)
		}
	}
	return shown
}

func (r *Report) any(known func(*Step) bool) bool {
	for i := range r.Steps {
		if known(&r.Steps[i]) {
			return true
		}
	}
	return false
}
