package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/report/format"
)

// StepColumn is a column of the table of steps.
type StepColumn = format.Column[*VariantResult]

// Columns are the columns of the table of steps that have content.
func (r *Report) Columns() []StepColumn {
	all := r.runColumns
	if r.Turns != nil {
		all = r.turnColumns
	}
	var rows []*VariantResult
	for i := range r.Steps {
		rows = append(rows, &r.Steps[i])
	}
	return format.Shown(all(), rows)
}

func number(head, unit, short string, read func(*VariantResult) format.Value, write func(format.Value) string) StepColumn {
	return StepColumn{Head: head, Unit: unit, Short: short, Number: true, Cell: func(s *VariantResult) string { return write(read(s)) }}
}

func ranged(c StepColumn, write func(*format.Interval) string, read func(*VariantResult) *format.Interval) StepColumn {
	c.Detail = func(s *VariantResult) string { return write(read(s)) }
	return c
}

func (f *Figure) column() StepColumn {
	return number(f.Name, f.Unit, f.Short, func(s *VariantResult) format.Value { return s.Figure(f.Key) }, f.Write)
}

var stepColumn = StepColumn{Head: "step", Short: "step", Always: true, Cell: func(s *VariantResult) string { return s.Name }}

// runColumns are the columns of an experiment by whole runs: the capacity, or the figure of the
// metric, and its ratios.
func (r *Report) runColumns() []StepColumn {
	head, unit, short := "capacity", "per second", "capacity/s"
	if r.SessionRuns != nil {
		unit, short = "sessions", "sessions"
	}
	metric := MetricFigures[r.Metric]
	if f := FigureOf(metric); f != nil {
		head, unit, short = f.Name, f.Unit, f.Short
	}
	main := ranged(number(head, unit, short, func(s *VariantResult) format.Value { return s.Capacity }, format.Format), format.Between, func(s *VariantResult) *format.Interval { return s.Interval })
	main.Always = true
	all := []StepColumn{
		stepColumn, main, referenceColumn,
		ranged(number("vs baseline", "ratio", "x baseline", func(s *VariantResult) format.Value { return s.Ratio }, format.Times), format.BetweenRatios, func(s *VariantResult) *format.Interval { return s.RatioInterval }),
		ranged(number("vs previous step", "ratio", "x before", func(s *VariantResult) format.Value { return s.StepRatio }, format.Times), format.BetweenRatios, func(s *VariantResult) *format.Interval { return s.StepInterval }),
	}
	if r.Scaling != nil {
		all = append(all,
			number("concurrency", "units in flight", "in flight", r.inFlight, format.Whole),
			StepColumn{Head: "waits for", Short: "waits for", Cell: func(s *VariantResult) string { return cmp.Or(s.Waits, format.Dash) }})
		if tail := r.Scaling.Tail; tail != "p99" {
			all = append(all, number(tail, "ms", tail+" ms", func(s *VariantResult) format.Value { return s.Tail }, format.Format))
		}
	}
	for i := range Figures {
		if Figures[i].Key != metric {
			all = append(all, Figures[i].column())
		}
		if Figures[i].Key == FigureCPU {
			all = append(all, cpuRatioColumn())
		}
	}
	return append(all, leaveOutColumn, r.boundColumn(),
		StepColumn{Head: "verdict", Unit: r.previousText(), Short: "verdict", Cell: func(s *VariantResult) string {
			if s.Invalid != "" {
				return "no result: " + s.Invalid
			}
			return s.verdictText()
		}})
}

// verdictText formats the verdict against the previous step; with too few rounds, also their
// number.
func (s *VariantResult) verdictText() string {
	if s.Verdict == compare.NotDecided && s.StepInterval == nil && s.Rounds > 0 && s.Rounds < compare.MinSamples {
		return fmt.Sprintf("%s (%d of %d rounds)", s.Verdict, s.Rounds, compare.MinSamples)
	}
	return s.Verdict
}

// turnColumns are the columns of an experiment by turns: the capacity as an absolute figure, work
// rate and CPU as ratios.
func (r *Report) turnColumns() []StepColumn {
	verdict := StepColumn{Head: "verdict", Unit: r.previousText(), Short: "verdict", Cell: func(s *VariantResult) string {
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
	}}
	ratioOf := "work rates"
	if r.RatioMetric == compare.MetricP99 {
		ratioOf = "p99"
	}
	cpuRatio := cpuRatioColumn()
	cpuRatio.Brief = true
	narrow := []StepColumn{
		stepColumn,
		ranged(number("capacity", "per second within SLO", "capacity/s", func(s *VariantResult) format.Value { return s.Capacity }, format.Format), format.Between, func(s *VariantResult) *format.Interval { return s.Interval }),
		number("work rate", "per second, peak", "work/s", func(s *VariantResult) format.Value { return s.Work }, format.Format),
		referenceColumn,
		ranged(number("vs baseline", "ratio of "+ratioOf, "x base", func(s *VariantResult) format.Value { return s.Ratio }, format.Times), format.BetweenRatios, func(s *VariantResult) *format.Interval { return s.RatioInterval }),
		FigureOf(FigureCPU).column(), cpuRatio, verdict,
	}
	roomy := []StepColumn{
		ranged(number("vs previous step", "ratio of "+ratioOf, "x before", func(s *VariantResult) format.Value { return s.StepRatio }, format.Times), format.BetweenRatios, func(s *VariantResult) *format.Interval { return s.StepInterval }),
		{Head: "CPU verdict", Unit: r.AgainstText(), Cell: func(s *VariantResult) string {
			return cmp.Or(format.Better(compare.MetricCPU, s.CPUVerdict), format.Dash)
		}},
	}
	for i := range Figures {
		if f := &Figures[i]; f.Key != FigureCPU {
			c := f.column()
			c.Unit = cmp.Or(f.SliceUnit, f.Unit)
			roomy = append(roomy, c)
		}
	}
	roomy = append(roomy,
		ranged(number("knee", "per second, half within SLO", "knee/s", func(s *VariantResult) format.Value { return s.Rate50 }, format.Format), format.Between, func(s *VariantResult) *format.Interval { return s.Rate50Interval }),
		leaveOutColumn, r.boundColumn())
	for i := range roomy {
		roomy[i].Roomy = true
	}
	const ratios = 5 // columns up to the ratio of work rates, which the ratio to the previous step follows
	return slices.Concat(narrow[:ratios], roomy[:1], narrow[ratios:], roomy[1:])
}

// leaveOutColumn is what each change gives to the whole: the ratio of the last step to the last step
// without it.
var leaveOutColumn = StepColumn{Head: "last / without it", Unit: "last step over the last without it", Short: "x adds", Number: true,
	Cell: func(s *VariantResult) string {
		if s.Ablation == nil {
			return format.Dash
		}
		return format.Times(format.Measured(s.Ablation.Ratio))
	},
	Detail: func(s *VariantResult) string {
		if s.Ablation == nil {
			return ""
		}
		return format.BetweenRatios(format.IntervalOf(s.Ablation.Interval))
	}}

func (r *Report) boundColumn() StepColumn {
	return StepColumn{Head: "bound by", Short: "bound by", Cell: func(s *VariantResult) string { return format.BoundBy(r.Diagnosis(s.Name)) }}
}
