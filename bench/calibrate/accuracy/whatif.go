package accuracy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"dyno/bench/calibrate/calibration"
	"dyno/bench/stored"
	"dyno/lab/diagnose/whatif"
)

// WhatIf writes what was estimated before each change, next to what the change brought, and
// explains what is off by more than 25%.
func WhatIf(w io.Writer, all []calibration.Prediction) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "step\tbound before\tgone of CPU\tat most\twith new\tmeasured\t95%\tCPU at least\tmeasured\t95%\tthe bound")
	tally := map[string]int{}
	for _, f := range all {
		mark, by := f.Mark()
		tally[mark]++
		verdict := mark
		if mark != calibration.Open {
			verdict = fmt.Sprintf("%s (%+.0f%%)", mark, 100*by)
		}
		gone, least := "-", "-"
		if f.Estimate.AtMost > 0 {
			gone = fmt.Sprintf("%.0f%%", 100*f.Removes.CPU)
		}
		if f.Estimate.AtMost > 0 && f.Estimate.CPU > 0 {
			least = fmt.Sprintf("%.2fx", f.Estimate.CPU)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Step, f.Bound, gone, times(f.Estimate.AtMost), times(f.WithNew.AtMost), times(f.Work.Times), between(f.Work),
			least, times(f.CPU.Times), between(f.CPU), verdict)
	}
	t.Flush()
	fmt.Fprintln(w)
	var open []string
	for _, f := range all {
		switch mark, _ := f.Mark(); mark {
		case calibration.Held:
		case calibration.Undecided:
			open = append(open, f.Step)
		default:
			fmt.Fprintf(w, "%s (%s): %s.\n", f.Step, f.Change, cmp.Or(f.Why(), "not explained by the record"))
		}
		if f.Cheaper() {
			fmt.Fprintf(w, "%s (%s): CPU per request fell to %.2fx, below %.2fx, which the record does not explain.\n", f.Step, f.Change, f.CPU.Times, f.Estimate.CPU)
		}
	}
	if len(open) > 0 {
		fmt.Fprintf(w, "%s: not decided, since the measured ratio is not exact enough.\n", strings.Join(open, ", "))
	}
	var counts []string
	for _, mark := range []string{calibration.Held, calibration.Replaced, calibration.Loose, calibration.Exceeded, calibration.Undecided} {
		if tally[mark] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", tally[mark], mark))
		}
	}
	if n := tally[calibration.Open]; n > 0 {
		counts = append(counts, fmt.Sprintf("%d without an estimate or a measured ratio", n))
	}
	fmt.Fprintf(w, "%d changes: %s\n", len(all), strings.Join(counts, ", "))
}

func times(v float64) string {
	if v <= 0 {
		return "-"
	}
	return whatif.Times(v)
}

func between(r calibration.Ratio) string {
	if r.Low <= 0 {
		return "-"
	}
	return fmt.Sprintf("[%.2f, %.2f]", r.Low, r.High)
}

// WhatIfObject is the JSON of calibrate --what-if --json.
type WhatIfObject struct {
	Schema string      `json:"schema"`
	Steps  []Change    `json:"steps"`
	Made   stored.Made `json:"made"`
}

// Change is an estimate with what was measured, and how far it is off. Ratios are of the change over as it was.
type Change struct {
	Name       string      `json:"name"`
	Bound      string      `json:"bound"`
	AtMost     float64     `json:"at_most,omitempty"`
	WithNew    float64     `json:"at_most_with_new_code,omitempty"`
	Work       float64     `json:"work,omitempty"`
	Between    *[2]float64 `json:"work_between"`
	CPUAtLeast float64     `json:"cpu_at_least,omitempty"`
	CPU        float64     `json:"cpu,omitempty"`
	CPUBetween *[2]float64 `json:"cpu_between"`
	Mark       string      `json:"mark"`
	Off        float64     `json:"off"`
	Why        string      `json:"why,omitempty"`
}

// WhatIfJSON writes the same as one object, which docs/results can keep.
func WhatIfJSON(w io.Writer, all []calibration.Prediction, made stored.Made) error {
	out := WhatIfObject{"dyno.what-if/1", []Change{}, made}
	ends := func(r calibration.Ratio) *[2]float64 {
		if r.Low <= 0 {
			return nil
		}
		return &[2]float64{r.Low, r.High}
	}
	for _, f := range all {
		mark, by := f.Mark()
		c := Change{Name: f.Step, Bound: f.Bound, AtMost: f.Estimate.AtMost, WithNew: f.WithNew.AtMost, Work: f.Work.Times, Between: ends(f.Work),
			CPU: f.CPU.Times, CPUBetween: ends(f.CPU), Mark: mark, Off: by, Why: f.Why()}
		if c.AtMost > 0 {
			c.CPUAtLeast = f.Estimate.CPU
		}
		out.Steps = append(out.Steps, c)
	}
	return json.NewEncoder(w).Encode(out)
}
