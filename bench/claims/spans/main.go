// Command spans fits a published formula, a*log2(c)*exp(-b*L/c), to a recorded sweep of a job with
// several loads L over the concurrency c, and prints where the formula bends beside the knee that
// its author sees at 2.4*L^0.42.
//
// It is not for measuring: dyno run scenarios/ledger-spans.yaml does, and its report has the
// Universal Scalability Law and min(k*c, roof) for the same points. It starts no goroutines.
package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"dyno/bench/claims"
	"dyno/lab/record"
)

func main() { claims.Main("spans", "dyno-out/ledger-spans-20260102-150405", compare) }

// compare prints the fit to all valid runs of variants with a number of units, and the inflection
// for each number.
func compare(w io.Writer, e *record.Experiment) error {
	var points []point
	loads := map[float64]bool{}
	for _, r := range e.Runs {
		v, _ := e.Variant(r.Spec.Variant)
		if r.Invalid != "" || !r.ByConcurrency() || r.Spec.Diagnostic() || r.Spec.Connections < 2 || v.Units == 0 || r.Totals.ThroughputPerS <= 0 {
			continue
		}
		l := float64(v.Units)
		points, loads[l] = append(points, point{float64(r.Spec.Connections), l, r.Totals.ThroughputPerS}), true
	}
	c, err := fit(points)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "a*log2(c)*exp(-b*L/c): a = %.4g/s, b = %.3g, error %.1f%% per point (%d points)\n", c.a, c.b, 100*c.off(points), len(points))
	if c.b < 0 {
		fmt.Fprintln(w, "b is below 0, so the formula does not apply")
		return nil
	}
	fmt.Fprintln(w, "it rises without bound, so it shows no knee; it stops bending upwards at concurrency")
	for _, l := range slices.Sorted(maps.Keys(loads)) {
		fmt.Fprintf(w, "L = %g: %s as fitted, %s with the published b = %g, claimed %.1f\n", l, bend(c.b, l), bend(publishedB, l), publishedB, claimedInflection(l))
	}
	return nil
}

func bend(b, l float64) string {
	if c, ok := inflection(b, l); ok {
		return fmt.Sprintf("%.1f", c)
	}
	return "none"
}
