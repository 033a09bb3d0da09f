// Command inflection applies a published rule to a recorded sweep of rates: a load bends where the
// throughput falls by 40%, the p99 rises by 300 ms and threefold, and the collector's pauses reach
// 200 ms, together. It prints the first rate of each variant at which each of them, and all of them,
// hold against the run with the highest throughput at a lower rate.
//
//	go run ./bench/claims/inflection dyno-out/notify-queues-20260102-150405
//
// It is not for measuring, nor for finding a capacity: dyno does both. It starts no goroutines.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"dyno/bench/claims"
	"dyno/lab/record"
)

func main() { claims.Main("inflection", "dyno-out/notify-queues-20260102-150405", compare) }

// The rule, as it was published.
const (
	rateAtMost    = 0.6 // of the throughput before
	p99AtLeast    = 3.0 // times the p99 before
	p99LongerMs   = 300 // than the p99 before
	pausesAtLeast = 200 // ms
)

// conditions are those of the rule, in the order of the table's columns.
var conditions = []struct {
	name  string
	holds func(before, now *record.Run) bool
}{
	{"throughput -40%", func(before, now *record.Run) bool {
		return now.Totals.ThroughputPerS <= rateAtMost*before.Totals.ThroughputPerS
	}},
	{"p99 +300 ms and x3", func(before, now *record.Run) bool {
		was, is := before.SLO.Observed(before.Totals).P99, now.SLO.Observed(now.Totals).P99
		return is >= p99AtLeast*was && is >= was+p99LongerMs
	}},
	{"pauses 200 ms", func(_, now *record.Run) bool { return now.Totals.Server.GCPauseP99Ms >= pausesAtLeast }},
}

// compare prints a line for each variant with two rates or more.
func compare(w io.Writer, e *record.Experiment) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(out, "variant\trates\tto\t")
	for _, c := range conditions {
		fmt.Fprint(out, c.name, " at\t")
	}
	fmt.Fprintln(out, "together at\t")
	variants, bent := 0, 0
	for _, v := range e.Variants {
		runs := atRates(e, v.Name)
		if len(runs) < 2 {
			continue
		}
		variants++
		first := make([]float64, len(conditions)+1)
		best := runs[0]
		for _, now := range runs[1:] {
			together := true
			for i, c := range conditions {
				holds := c.holds(best, now)
				if together = together && holds; holds && first[i] == 0 {
					first[i] = now.Spec.Rate
				}
			}
			if last := len(conditions); together && first[last] == 0 {
				first[last] = now.Spec.Rate
				bent++
			}
			if now.Totals.ThroughputPerS > best.Totals.ThroughputPerS {
				best = now
			}
		}
		fmt.Fprintf(out, "%s\t%d\t%.0f/s\t", v.Name, len(runs), runs[len(runs)-1].Spec.Rate)
		for _, rate := range first {
			if rate == 0 {
				fmt.Fprint(out, "none\t")
			} else {
				fmt.Fprintf(out, "%.0f/s\t", rate)
			}
		}
		fmt.Fprintln(out)
	}
	if variants == 0 {
		return errors.New("no variant has valid runs at two rates with figures of the process; record a sweep of rates")
	}
	err := out.Flush()
	fmt.Fprintf(w, "the rule holds in %d of %d variants\n", bent, variants)
	return err
}

// atRates returns a variant's valid runs at constant rates, the lowest first.
func atRates(e *record.Experiment, variant string) (runs []*record.Run) {
	for _, r := range e.Runs {
		if r.Spec.Variant == variant && r.Invalid == "" && !r.Spec.Diagnostic() && r.Spec.Rate > 0 && r.Spec.RampTo == 0 && r.Totals.Server != nil && r.Totals.ThroughputPerS > 0 {
			runs = append(runs, r)
		}
	}
	slices.SortStableFunc(runs, func(a, b *record.Run) int { return cmp.Compare(a.Spec.Rate, b.Spec.Rate) })
	return runs
}
