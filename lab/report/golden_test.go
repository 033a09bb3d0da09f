package report

import (
	"io"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
)

// madeReports is one report of each kind, and what can go wrong with them.
func madeReports() map[string]*Report {
	single := newMade(record.KindCapacity, "p99=60ms,errors=0.1%")
	single.variant("only", "", "", 4000)
	for _, share := range []float64{0.25, 0.5, 0.9, 1.1} {
		single.run(record.RoleSearch, "only", 0, 4000*share)
	}

	return map[string]*Report{
		"ladder":           madeLadder().report(),
		"ladder-bare":      bareLadder(),
		"ladder-invalid":   invalidLadder(),
		"capacity":         single.report(),
		"compare":          madeCompare().report(),
		"compare-few":      fewPairs(),
		"sweep":            madeSweep().report(),
		"ladder-why":       madeWhy().report(),
		"diagnose":         madeDiagnose().report(),
		"diagnose-invalid": undiagnosed().report(),
		"load":             madeLoad("open").report(),
		"load-closed":      madeLoad("closed").report(),
		"load-database":    madeDatabase().report(),
		"ladder-job":       Build(madeJobLadder()),
		"sweep-job":        Build(madeSpans()),
		"load-interrupted": newMade(record.KindLoad, "p99=60ms").report(),
		"turns":            madeTurns(record.KindLadder).report(),
		"turns-compare":    madeTurns(record.KindCompare).report(),
		"turns-capacity":   madeTurns(record.KindCapacity).report(),
	}
}

// bareLadder is a ladder of services without an agent, with too few rounds for an interval, and one step
// that could not be measured.
func bareLadder() *Report {
	m := newMade(record.KindLadder, "p99=60ms,errors=0.1%,async_oldest_age_seconds<0.5")
	m.variant("baseline", "", "", 3000)
	m.variant("broken", "a step that never came up", "", 3000)
	m.variant("tuned", "everything", "", 4500)
	for _, v := range m.Variants {
		r := m.run(record.RoleMeasure, v.Name, 1, m.limits[v.Name]*0.9)
		r.Totals.Server.AllocsPerRequest, r.Totals.Server.BytesPerRequest, r.Totals.Server.PeakGoroutines = -1, -1, 0
		if v.Name == "broken" {
			r.Invalid, r.Totals.Server = "the target ended before it was ready", nil
		}
	}
	a := m.analysis()
	for name, c := range a.capacities {
		c.Interval, c.Data, c.Warnings = nil, c.Data[:1], []string{"1 datum: there is no interval under 6"}
		a.capacities[name] = c
	}
	a.capacities["broken"] = capacity.Result{Variant: "broken", Reason: "the target ended before it was ready"}
	a.floor = nil
	for i := range a.rows {
		row := &a.rows[i]
		row.ToBaseline.Interval, row.ToBaseline.Verdict = nil, compare.NotDecided
		if row.Name == "broken" {
			row.ToBaseline = compare.Comparison{A: "baseline", B: "broken", Verdict: compare.Invalid}
			row.ToBefore = &row.ToBaseline
		} else if row.ToBefore != nil {
			row.ToBefore = &compare.Comparison{A: "broken", B: row.Name, Verdict: compare.Invalid}
		}
	}
	return build(m.Experiment, a)
}

// invalidLadder is a ladder none of whose runs count.
func invalidLadder() *Report {
	m := madeLadder()
	for i, r := range m.Runs {
		r.Invalid = "the load generator was the limit: its busiest thread used 93% of a core"
		if i%5 == 0 {
			r.Invalid = "the target stopped"
		}
	}
	a := m.analysis()
	a.floor = nil
	for i := range a.rows {
		invalid := compare.Comparison{Verdict: compare.Invalid}
		a.rows[i].ToBaseline, a.rows[i].ToBefore = invalid, &invalid
	}
	for name, c := range a.capacities {
		c.Valid, c.Reason, c.Interval = false, "the generator was the limit", nil
		a.capacities[name] = c
	}
	return build(m.Experiment, a)
}

// fewPairs is a comparison that shows nothing.
func fewPairs() *Report {
	m := madeCompare()
	a := m.analysis()
	a.comparison.Ratio, a.comparison.Interval, a.comparison.Floor, a.floor = 1.01, nil, nil, nil
	a.comparison.Verdict, a.comparison.Pairs = compare.NotDecided, 3
	a.comparison.Warnings = []string{"3 pairs: there is no interval under 6"}
	return build(m.Experiment, a)
}

// renderers are the forms of a report, by the ending of their golden file.
var renderers = map[string]func(io.Writer, *Report) error{
	".md":       Markdown,
	".json":     JSON,
	".txt":      func(w io.Writer, r *Report) error { return Terminal(w, r, Style{}) },
	".ansi.txt": onTerminal,
}

func onTerminal(w io.Writer, r *Report) error { return Terminal(w, r, Style{Color: true, Width: 100}) }
