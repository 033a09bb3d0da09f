package report

import (
	"cmp"
	"fmt"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/record"
)

// tableColumn is a column of the table of steps, the same in every form of the report.
type tableColumn struct {
	Head   string
	Unit   string
	Short  string // head and unit for narrow tables
	Number bool
	Cell   func(*Step) string
	Detail func(*Step) string // an interval, after the cell; may be nil
	known  func(*Step) bool   // a column that no step knows is left out; nil: always shown
	brief  bool               // on a terminal of 100 columns, without its Detail
	roomy  bool               // only in tables wider than 100 columns
}

// columns are the columns of the table of steps that have content.
func (r *Report) columns() []tableColumn {
	value := func(head, unit, short string, read func(*Step) Value, write func(Value) string) tableColumn {
		return tableColumn{Head: head, Unit: unit, Short: short, Number: true,
			Cell:  func(s *Step) string { return write(read(s)) },
			known: func(s *Step) bool { return read(s).Known() }}
	}
	if r.Turns != nil {
		return r.shown(r.turnColumns(value))
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
	ratio := value("vs baseline", "ratio", "x baseline", func(s *Step) Value { return s.Ratio }, times)
	ratio.Detail = func(s *Step) string { return betweenRatios(s.RatioInterval) }
	before := value("vs previous step", "ratio", "x before", func(s *Step) Value { return s.StepRatio }, times)
	before.Detail = func(s *Step) string { return betweenRatios(s.StepInterval) }
	against := ""
	if r.Kind == record.KindLadder {
		against = "against the previous step"
	}
	all := []tableColumn{
		{Head: "step", Short: "step", Cell: func(s *Step) string { return s.Name }},
		main, besideColumn(), ratio, before,
	}
	if r.Scaling != nil {
		inFlight := value("concurrency", "units in flight", "in flight", func(s *Step) Value { return s.AtOnce }, whole)
		inFlight.known = func(s *Step) bool { return s.AtOnce > 1 } // a job without a number of units has 1
		all = append(all, inFlight,
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
	cpu := value("vs baseline", "ratio of CPU per request", "x base", func(s *Step) Value { return s.CPURatio }, times)
	cpu.Detail = func(s *Step) string { return betweenRatios(s.CPUInterval) }
	all = append(all, cpu)
	all = append(all,
		value("allocations", "per request", "allocs", func(s *Step) Value { return s.Allocs }, figure),
		value("allocated", "bytes per request", "alloc B", func(s *Step) Value { return s.AllocBytes }, figure),
		value("peak RSS", "", "peak RSS", func(s *Step) Value { return s.PeakRSS }, size),
		value("peak goroutines", "", "goroutines", func(s *Step) Value { return s.Goroutines }, whole),
		value("GC pause p99", "ms", "GC p99 ms", func(s *Step) Value { return s.GCPauseP99 }, figure),
		r.leaveOutColumn(), r.boundColumn(),
		tableColumn{Head: "verdict", Unit: against, Short: "verdict", Cell: func(s *Step) string {
			if s.Invalid != "" {
				return "no result: " + s.Invalid
			}
			return s.verdictWords()
		}, known: func(s *Step) bool { return s.Verdict != "" || s.Invalid != "" }},
	)
	return r.shown(all)
}

// verdictWords format the verdict against the previous step; with too few rounds, also their
// number.
func (s *Step) verdictWords() string {
	if s.Verdict == compare.NotDecided && s.StepInterval == nil && s.Rounds > 0 && s.Rounds < compare.MinPairs {
		return fmt.Sprintf("%s (%d of %d rounds)", s.Verdict, s.Rounds, compare.MinPairs)
	}
	return s.Verdict
}

// turnColumns are those of an experiment by turns: the capacity as an absolute figure, work rate
// and CPU as ratios. Those that are not roomy fit a terminal of 100 columns.
func (r *Report) turnColumns(value func(head, unit, short string, read func(*Step) Value, write func(Value) string) tableColumn) []tableColumn {
	detailed := func(c tableColumn, write func(*Interval) string, read func(*Step) *Interval) tableColumn {
		c.Detail = func(s *Step) string { return write(read(s)) }
		return c
	}
	roomy := func(c tableColumn) tableColumn {
		c.roomy = true
		return c
	}
	verdict := tableColumn{Head: "verdict", Unit: "against the previous step", Short: "verdict", Cell: func(s *Step) string {
		if s.Invalid != "" {
			return "no result: " + s.Invalid
		}
		switch {
		case s.Verdict == compare.Faster || s.Verdict == compare.Slower:
		case s.CPUVerdict == compare.Faster:
			return "less CPU"
		case s.CPUVerdict == compare.Slower:
			return "more CPU"
		}
		return strings.TrimPrefix(s.Verdict, "equal ")
	}, known: func(s *Step) bool { return s.Verdict != "" || s.Invalid != "" }}
	if r.Kind == record.KindCompare {
		verdict.Unit = ""
	}
	ratioOf := "work rates"
	if r.RatioMetric == compare.MetricP99 {
		ratioOf = "p99"
	}
	return []tableColumn{
		{Head: "step", Short: "step", Cell: func(s *Step) string { return s.Name }},
		detailed(value("capacity", "per second within SLO", "capacity/s", func(s *Step) Value { return s.Capacity }, figure), between, func(s *Step) *Interval { return s.Interval }),
		value("work rate", "per second, peak", "work/s", func(s *Step) Value { return s.Work }, figure),
		besideColumn(),
		detailed(value("vs baseline", "ratio of "+ratioOf, "x base", func(s *Step) Value { return s.Ratio }, times), betweenRatios, func(s *Step) *Interval { return s.RatioInterval }),
		roomy(detailed(value("vs previous step", "ratio of "+ratioOf, "x before", func(s *Step) Value { return s.StepRatio }, times), betweenRatios, func(s *Step) *Interval { return s.StepInterval })),
		value("CPU", "us per request", "CPU us", func(s *Step) Value { return s.CPU }, figure),
		func() tableColumn {
			c := detailed(value("vs baseline", "ratio of CPU per request", "x base", func(s *Step) Value { return s.CPURatio }, times), betweenRatios, func(s *Step) *Interval { return s.CPUInterval })
			c.brief = true
			return c
		}(),
		verdict,
		roomy(tableColumn{Head: "CPU verdict", Unit: r.againstWords(), Cell: func(s *Step) string {
			return cmp.Or(betterWords(compare.MetricCPU, s.CPUVerdict), dash)
		}, known: func(s *Step) bool { return s.CPUVerdict != "" }}),
		roomy(value("p99", "ms, SLO met", "p99 ms", func(s *Step) Value { return s.P99 }, figure)),
		roomy(value("allocations", "per request", "allocs", func(s *Step) Value { return s.Allocs }, figure)),
		roomy(value("allocated", "bytes per request", "alloc B", func(s *Step) Value { return s.AllocBytes }, figure)),
		roomy(value("peak RSS", "", "peak RSS", func(s *Step) Value { return s.PeakRSS }, size)),
		roomy(detailed(value("knee", "per second, half within SLO", "knee/s", func(s *Step) Value { return s.Knee }, figure), between, func(s *Step) *Interval { return s.KneeInterval })),
		roomy(r.leaveOutColumn()),
		roomy(r.boundColumn()),
	}
}

// narrow are the columns that fit a terminal of 100 columns, and the table of a pull request.
func (r *Report) narrow() (out []tableColumn) {
	for _, c := range r.columns() {
		if !c.roomy {
			out = append(out, c)
		}
	}
	return out
}

// leaveOutColumn is the ratio of the last step without each change.
func (r *Report) leaveOutColumn() tableColumn {
	return tableColumn{Head: "without it", Unit: "ratio of the last step", Short: "x without", Number: true,
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
		known: func(s *Step) bool { return s.LeaveOut != nil }}
}

// boundColumn is the bottleneck of each step.
func (r *Report) boundColumn() tableColumn {
	return tableColumn{Head: "bound by", Short: "bound by", Cell: func(s *Step) string { return boundBy(r.diagnosis(s.Name)) },
		known: func(s *Step) bool { return r.diagnosis(s.Name) != nil }}
}

// shown returns the columns that have content.
func (r *Report) shown(all []tableColumn) []tableColumn {
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
