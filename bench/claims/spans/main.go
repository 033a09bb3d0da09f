// Command spans fits a published formula, a*log2(c)*exp(-b*L/c), to a recorded sweep of a job with
// several loads L over the concurrency c. It prints where the formula bends, and the 2.4*L^0.42 at
// which its author sees a knee. With --json it prints the fit as docs/results has it.
//
// It is not for measuring: dyno run scenarios/ledger-spans.yaml does, and its report has the
// Universal Scalability Law and min(k*c, roof) for the same points. It starts no goroutines.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"

	"dyno/bench/claims"
	"dyno/lab/record"
)

func main() {
	asJSON := flag.Bool("json", false, "print JSON")
	claims.Main("spans", "dyno-out/ledger-spans-20260102-150405", func(w io.Writer, e *record.Experiment) error {
		if *asJSON {
			return writeJSON(w, e)
		}
		return compare(w, e)
	})
}

// step is the fit to all runs, with the least and the most that a round alone gives.
type step struct {
	Name    string     `json:"name"`
	A       float64    `json:"formula_a"`
	B       float64    `json:"formula_b"`
	OfRound [2]float64 `json:"formula_b_rounds"`
	Error   float64    `json:"formula_error"` // of a point, as a share
}

func writeJSON(w io.Writer, e *record.Experiment) error {
	all, loads := points(e.Runs, e)
	c, err := fit(all)
	if err != nil {
		return err
	}
	s := step{Name: fmt.Sprintf("%d loads", len(loads)), A: c.a, B: c.b, OfRound: [2]float64{c.b, c.b}, Error: c.off(all)}
	rounds := map[int][]*record.Run{}
	for _, r := range e.Runs {
		rounds[r.Spec.Round] = append(rounds[r.Spec.Round], r)
	}
	for _, runs := range rounds {
		of, _ := points(runs, e)
		if c, err := fit(of); err == nil { // a round may have been ended early
			s.OfRound = [2]float64{min(s.OfRound[0], c.b), max(s.OfRound[1], c.b)}
		}
	}
	return claims.Write(w, "spans", e, []step{s})
}

// points are the valid runs of variants with a number of units, and those numbers.
func points(runs []*record.Run, e *record.Experiment) (of []point, loads map[float64]bool) {
	loads = map[float64]bool{}
	for _, r := range runs {
		v, _ := e.Variant(r.Spec.Variant)
		if r.Invalid != "" || r.Axis() != record.AxisConcurrency || r.Spec.Diagnostic() || r.Spec.Connections < 2 || v.Units == 0 || r.Totals.ThroughputPerS <= 0 {
			continue
		}
		l := float64(v.Units)
		of, loads[l] = append(of, point{float64(r.Spec.Connections), l, r.Totals.ThroughputPerS}), true
	}
	return of, loads
}

// compare prints the fit to all valid runs of variants with a number of units, and the inflection
// for each number.
func compare(w io.Writer, e *record.Experiment) error {
	all, loads := points(e.Runs, e)
	c, err := fit(all)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "a*log2(c)*exp(-b*L/c): a = %.4g/s, b = %.3g, error %.1f%% per point (%d points)\n", c.a, c.b, 100*c.off(all), len(all))
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
