package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"dyno/lab/compare"
	"dyno/lab/record"
)

// report is what all rounds showed.
type report struct {
	options
	machine    record.Machine
	sides      []string // in the order of the tables
	skipped    []string
	conditions []string
	data       map[string][]datum
	rate       float64              // per second, of p99
	p99        map[string][]float64 // ms, at rate; 0: it could not be measured
	counts     func() (runs, disturbed int)
}

func newReport(b *bench) *report {
	r := &report{options: b.options, machine: b.machine, sides: slices.Clone(servers), data: map[string][]datum{}, p99: map[string][]float64{},
		counts: func() (int, int) { return b.counts.runs, b.counts.disturbed }}
	if b.pgbench == nil {
		r.skipped = append(r.skipped, bare+": "+noPgbench)
	} else {
		r.sides = append(r.sides, bare)
	}
	return r
}

// prepared notes what the preparations chose.
func (r *report) prepared(b *bench) {
	r.conditions = []string{
		fmt.Sprintf("PostgreSQL %s as ordersd starts it: %s; %d orders of %d accounts", b.database.version, b.database.settings, r.rows, r.accounts),
		fmt.Sprintf("load over %d connections; a capacity is at %s; %s: --assembly %s", r.connections, objective, ordersd, assembly),
		fmt.Sprintf("%s: %d connections to the database, of %v what it did best with", peer, b.pool, r.poolSizes()),
	}
	if p := b.pgbench; p != nil {
		r.conditions = append(r.conditions, fmt.Sprintf("%s: -M prepared -c %d -j %d, of %v clients what it did best with; %s", bare, p.clients, min(pgbenchThreads, p.clients), r.clientCounts(), p.version))
	}
}

func (r *report) add(side string, d datum) { r.data[side] = append(r.data[side], d) }

func (r *report) capacities(side string) []float64 {
	return r.of(side, func(d datum) float64 { return d.capacity })
}
func (r *report) peaks(side string) []float64 {
	return r.of(side, func(d datum) float64 { return d.peak })
}

func (r *report) of(side string, figure func(datum) float64) []float64 {
	out := make([]float64, len(r.data[side]))
	for i, d := range r.data[side] {
		out[i] = figure(d)
	}
	return out
}

// row is a ratio, ordersd over something, and the bar that it is held against.
type row struct {
	what, over string
	compare.Comparison
	bar bar
}

// bar is a bound of a ratio; the zero bar asks for nothing.
type bar struct {
	atLeast, atMost float64
}

// Verdicts on a bar.
const (
	met      = "met"
	notMet   = "not met"
	notShown = "not shown"
)

// verdict is what an interval says of a bar: all of it has to lie on one side.
func (b bar) verdict(in *[2]float64) string {
	switch {
	case b == bar{}:
		return ""
	case in == nil:
		return notShown
	case b.atLeast > 0 && in[0] >= b.atLeast, b.atMost > 0 && in[1] <= b.atMost:
		return met
	case b.atLeast > 0 && in[1] < b.atLeast, b.atMost > 0 && in[0] > b.atMost:
		return notMet
	}
	return notShown
}

func (b bar) String() string {
	switch {
	case b.atLeast > 0:
		return fmt.Sprintf(">= %.1f", b.atLeast)
	case b.atMost > 0:
		return fmt.Sprintf("<= %.1f", b.atMost)
	}
	return "-"
}

// ratios are those of the rounds.
func (r *report) ratios() []row {
	mine := r.capacities(ordersd)
	over := func(what, over, metric string, a, b []float64, bar bar) row {
		return row{what, over, compare.Ratio(metric, a, b), bar}
	}
	out := []row{over("capacity", peer, compare.MetricCapacity, r.capacities(peer), mine, bar{atLeast: 4})}
	if r.measured(bare) {
		out = append(out, over("capacity", bare, compare.MetricCapacity, r.peaks(bare), mine, bar{atLeast: 1}))
	}
	out = append(out, over("p99 at one rate", peer, compare.MetricP99, r.p99[peer], r.p99[ordersd], bar{atMost: 0.3}),
		over("capacity", plain, compare.MetricCapacity, r.capacities(plain), mine, bar{}))
	for _, side := range r.sides[1:] {
		out = append(out, over("closed model", side, compare.MetricCapacity, r.peaks(side), r.peaks(ordersd), bar{}))
	}
	return out
}

func (r *report) measured(side string) bool { return slices.Contains(r.sides, side) }

func (r *report) print(w io.Writer) error {
	fmt.Fprintf(w, "%s; %d pairs of %v a run\n", r.machine, r.pairs, r.length)
	for _, c := range r.conditions {
		fmt.Fprintln(w, c)
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "medians\tcapacity/s\t95%% interval\tclosed model/s\t95%% interval\tp99 ms at %.0f/s\t95%% interval\t\n", r.rate)
	for _, side := range r.sides {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t\n", side, summary(r.capacities(side), "%.0f"), summary(r.peaks(side), "%.0f"), summary(r.p99[side], "%.2f"))
	}
	table.Flush()
	fmt.Fprintf(w, "\nRatios of the same rounds, ordersd over the others:\n")
	table = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\tover\tratio\t95%% interval\tpairs\tbar\t\t\n")
	rows := r.ratios()
	for _, x := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%v\t%s\t\n", x.what, x.over, figure(x.Ratio), span(x.Interval, "%.2f"), x.Pairs, x.bar, x.bar.verdict(x.Interval))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	r.warn(w, rows)
	return nil
}

// warn says what is to be known of the figures.
func (r *report) warn(w io.Writer, rows []row) {
	for _, x := range rows {
		for _, text := range x.Warnings {
			if !r.quick { // which has no intervals, as everybody knows who asked for it
				fmt.Fprintf(w, "warning: %s over %s: %s\n", x.what, x.over, text)
			}
		}
	}
	runs, disturbed := r.counts()
	switch {
	case disturbed > 0 && r.quick:
		fmt.Fprintf(w, "warning: %d of %d runs would not count: the machine does other work, and these figures are worth nothing\n", disturbed, runs)
	case disturbed > 0:
		fmt.Fprintf(w, "%d of %d runs failed or did not count; each was tried once more\n", disturbed, runs)
	}
	for _, s := range r.skipped {
		fmt.Fprintf(w, "skipped: %s\n", s)
	}
}

// summary is two cells: the median, and the interval of the geometric mean.
func summary(data []float64, format string) string {
	data = slices.DeleteFunc(slices.Clone(data), func(x float64) bool { return x == 0 })
	if len(data) == 0 {
		return "-\t-"
	}
	// A mean is a ratio to one.
	mean := compare.Ratio(compare.MetricCapacity, slices.Repeat([]float64{1}, len(data)), data)
	return fmt.Sprintf(format, median(data)) + "\t" + span(mean.Interval, format)
}

// median of what could be measured; 0 of nothing.
func median(data []float64) float64 {
	data = slices.DeleteFunc(slices.Clone(data), func(x float64) bool { return x == 0 })
	if len(data) == 0 {
		return 0
	}
	slices.Sort(data)
	return (data[(len(data)-1)/2] + data[len(data)/2]) / 2
}

// figure writes a ratio with three digits.
func figure(x float64) string {
	if !(x > 0) {
		return "-"
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(x)))), x)
}

func span(in *[2]float64, format string) string {
	if in == nil {
		return "-"
	}
	return fmt.Sprintf(format+" to "+format, in[0], in[1])
}
