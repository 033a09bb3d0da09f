package html

import (
	"fmt"
	"html/template"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/rules"
	"dyno/lab/report"
	"dyno/lab/report/format"
)

// quadrantCross returns where the quadrants meet, in percent: the thresholds of package diagnose.
// A service whose CPU use is above the first is bound by its CPU; one whose requests spend a
// larger share of their time waiting than the second is bound by waits.
func quadrantCross() (use, waiting float64) {
	return rules.Defaults["busy_cpu"].Value * 100, rules.Defaults["waiting"].Value * 100
}

// quadrant plots every variant by its CPU use and the share of its requests' time spent waiting.
// SVG is empty if no variant has both. Left lists the variants that lack one of them.
func quadrant(r *report.Report) (out struct {
	SVG  template.HTML
	Left []string
}) {
	use, waiting := quadrantCross()
	p := plot{
		title:  "CPU use against the share of the requests' time spent waiting",
		xLabel: "CPU use, %", yLabel: "requests' time spent waiting, %",
		x: axis{lo: 0, hi: 100}, y: axis{lo: 0, hi: 100},
		lines: []polyline{
			{class: "cross", xs: []float64{use, use}, ys: []float64{0, 100}},
			{class: "cross", xs: []float64{0, 100}, ys: []float64{waiting, waiting}},
		},
		notes: []note{{0, 100, "waiting"}, {100, 100, "both"}, {0, 0, "idle"}, {100, 0, "CPU-bound"}},
	}
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		name := r.NameOf(d)
		x, seen := d.Signals[rules.Utilisation]
		y, seenToo := waitingOf(d)
		if !seen || !seenToo {
			out.Left = append(out.Left, name)
			continue
		}
		p.dots = append(p.dots, dot{x: x * 100, y: y * 100, class: "verdict", label: name,
			title: fmt.Sprintf("%s: CPU %s, waiting %s of the requests' time; bound by %s", name, diagnose.UseText(x), format.Percent(format.Value(format.Significant(y, 3))), format.Verdict(d))})
	}
	if len(p.dots) > 0 {
		p.join()
		out.SVG = p.SVG()
	}
	return out
}

// waitingOf returns the share of the requests' time spent waiting, from the trace; without a
// trace, the share of waits for locks. If goroutines work on after the answer, it is the share
// that these wait, if that is larger.
func waitingOf(d *diagnose.Diagnosis) (float64, bool) {
	if v, seen := d.Signals[rules.Waiting]; seen {
		return max(v, d.Signals[rules.WorkersWait]), true
	}
	v, seen := d.Signals[rules.LockWait]
	return v, seen
}
