package html

import (
	"fmt"
	"html/template"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/rules"
	"dyno/lab/report"
	"dyno/lab/report/format"
)

// quadrantCross is where the quadrants meet, by the thresholds of diagnose: a service above this
// use of its CPU computes, and one whose requests wait for more than this share of their time
// waits. In percent.
func quadrantCross() (use, waiting float64) {
	return rules.Defaults["busy_cpu"].Value * 100, rules.Defaults["waiting"].Value * 100
}

// quadrant plots every variant by its CPU use and the share of its requests' time spent waiting;
// empty when neither is known of any. Left are the variants that could not be placed.
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
			title: fmt.Sprintf("%s: CPU use %s, waiting %s of the requests' time; bound by %s", name, format.Percent(format.Value(format.Significant(x, 3))), format.Percent(format.Value(format.Significant(y, 3))), format.Verdict(d))})
	}
	if len(p.dots) > 0 {
		p.join()
		out.SVG = p.SVG()
	}
	return out
}

// waitingOf is the share of the requests' time spent waiting, by the trace; without one, only waits
// for locks. If the work is done after the response, it is the time of the goroutines that do it.
func waitingOf(d *diagnose.Diagnosis) (float64, bool) {
	if v, seen := d.Signals[rules.Waiting]; seen {
		return max(v, d.Signals[rules.WorkersWait]), true
	}
	v, seen := d.Signals[rules.LockWait]
	return v, seen
}
