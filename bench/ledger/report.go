package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"dyno/lab/compare"
)

// report is what all rounds showed.
type report struct {
	*bench
	rates     map[string][]float64 // ledgers/s by side and round; 0: it could not be measured
	cpu       map[string][]float64 // us for each ledger, likewise
	usage     map[string][]usage   // by limits
	elsewhere []time.Duration
}

func newReport(b *bench) *report {
	return &report{bench: b, rates: map[string][]float64{}, cpu: map[string][]float64{}, usage: map[string][]usage{}}
}

// bar is a bound of a figure; the zero bar asks for nothing.
type bar struct{ atLeast, atMost float64 }

// verdict is what an interval says of a bar: all of it has to lie on one side.
func (b bar) verdict(in *[2]float64) string {
	switch {
	case b == bar{}:
		return ""
	case in == nil:
		return "not shown"
	case b.atLeast > 0 && in[0] >= b.atLeast, b.atMost > 0 && in[1] <= b.atMost:
		return "met"
	case b.atLeast > 0 && in[1] < b.atLeast, b.atMost > 0 && in[0] > b.atMost:
		return "not met"
	}
	return "not shown"
}

func (b bar) String() string {
	switch {
	case b.atLeast > 0:
		return fmt.Sprintf(">= %g", b.atLeast)
	case b.atMost > 0:
		return fmt.Sprintf("<= %g", b.atMost)
	}
	return "-"
}

// row is a figure with its bar.
type row struct {
	what string
	compare.Comparison
	bar
}

// alone is a figure by itself: its geometric mean, as a ratio to one.
func alone(what string, data []float64, b bar) row {
	return row{what, compare.Ratio(compare.MetricCapacity, slices.Repeat([]float64{1}, len(data)), data), b}
}

func (r *report) over(what, a, b string, bound bar) row {
	return row{what, compare.Ratio(compare.MetricCapacity, r.rates[a], r.rates[b]), bound}
}

// ratios are of sides, each over the rounds in which both count.
func (r *report) ratios() []row {
	return []row{
		{syncL2 + " over " + memory + ", CPU for a ledger", compare.Ratio(compare.MetricCPU, r.cpu[memory], r.cpu[syncL2]), bar{atMost: 1.6}},
		r.over(syncL2+" over "+memory, memory, syncL2, bar{}),
		r.over(syncL4+" over "+signatures, signatures, syncL4, bar{atLeast: 0.85}),
		r.over(syncL2+" over "+plainL2, plainL2, syncL2, bar{}),
	}
}

// fewest is how many rounds the ratio with the fewest has.
func (r *report) fewest() int {
	return slices.MinFunc(r.ratios(), func(a, b row) int { return a.Pairs - b.Pairs }).Pairs
}

func (r *report) rows() []row {
	out := []row{
		alone(syncL2+", ledgers/s", r.rates[syncL2], bar{atLeast: 400}),
		alone(syncL4+", ledgers/s", r.rates[syncL4], bar{atLeast: 100}),
		alone(plainL2+", ledgers/s", r.rates[plainL2], bar{}),
		alone(memory+", ledgers/s", r.rates[memory], bar{}),
		alone(signatures+", ledgers/s", r.rates[signatures], bar{}),
	}
	out = append(out, r.ratios()...)
	for _, l := range budgets {
		var shares []float64
		for _, u := range r.usage[l.limits] {
			shares = append(shares, u.share)
		}
		out = append(out, alone(fmt.Sprintf("%d x %s, share of the budget", l.servers, l.limits), shares, bar{atLeast: 0.95}))
	}
	return out
}

func (r *report) print(w io.Writer) error {
	fmt.Fprintf(w, "%s; %d rounds to count; ledgers of 90 transactions; --assembly %s, signatures by %s; simulator on the same cores\n\n",
		r.machine, r.pairs, r.assembly, r.signatures)
	if rows := slices.DeleteFunc(r.rows(), func(x row) bool { return x.Pairs == 0 && r.only != "" }); len(rows) > 0 { // else it is of another part
		if err := tabulate(w, rows); err != nil {
			return err
		}
	}
	for _, l := range budgets {
		if len(r.usage[l.limits]) == 0 {
			continue
		}
		worst := 0.0
		for _, u := range r.usage[l.limits] {
			worst = max(worst, u.refused)
		}
		fmt.Fprintf(w, "%d x %s: at most %.3f%% of the requests of a round were refused after %v (bar: < 0.1%%)\n", l.servers, l.limits, 100*worst, l.settle+r.warm)
	}
	if n := len(r.elsewhere); n > 0 {
		slices.Sort(r.elsewhere)
		fmt.Fprintf(w, "%d failed requests: another answer came after %v in the median, %v at most (bar: <= 800ms)\n", n,
			r.elsewhere[n/2].Round(time.Millisecond), r.elsewhere[n-1].Round(time.Millisecond))
	}
	switch c := r.counts; {
	case c.disturbed > 0 && r.quick:
		fmt.Fprintf(w, "warning: %d of %d runs would not count: the machine does other work, and these figures are worth nothing\n", c.disturbed, c.runs)
	case c.disturbed > 0:
		fmt.Fprintf(w, "%d of %d runs did not count and were repeated\n", c.disturbed, c.runs)
	}
	return nil
}

func tabulate(w io.Writer, rows []row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\tmean or ratio\t95%% interval\trounds\tbar\t\t\n")
	for _, x := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%v\t%s\t\n", x.what, figure(x.Ratio), span(x.Interval), x.Pairs, x.bar, x.bar.verdict(x.Interval))
	}
	fmt.Fprintln(table)
	return table.Flush()
}

// figure writes a number with three digits.
func figure(x float64) string {
	if !(x > 0) {
		return "-"
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(x)))), x)
}

func span(in *[2]float64) string {
	if in == nil {
		return "-"
	}
	return figure(in[0]) + " to " + figure(in[1])
}
