package reporttest

import (
	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report"
)

// Reports is one report of each kind, and what can go wrong with them.
func Reports() map[string]*report.Report {
	single := New(record.KindCapacity, "p99=60ms,errors=0.1%")
	single.AddVariant("only", "", "", 4000)
	for _, n := range []int{1, 2, 4, 9, 16} {
		single.AddJob(record.RoleSearch, "only", 0, n)
	}

	return map[string]*report.Report{
		"ladder":           Ladder().Report(),
		"ladder-bare":      bareLadder(),
		"ladder-invalid":   InvalidLadder(),
		"capacity":         single.Report(),
		"compare":          Compare().Report(),
		"compare-few":      fewPairs(),
		"sweep":            Sweep().Report(),
		"ladder-why":       Why().Report(),
		"diagnose":         Diagnose().Report(),
		"diagnose-invalid": Undiagnosed().Report(),
		"load":             Load("open").Report(),
		"load-closed":      Load("closed").Report(),
		"load-database":    Database().Report(),
		"load-receiving":   Receiving().Report(),
		"ladder-job":       report.Build(JobLadder()),
		"sweep-job":        report.Build(Spans()),
		"load-interrupted": nothing(),
		"turns":            Turns(record.KindLadder).Report(),
		"turns-compare":    Turns(record.KindCompare).Report(),
		"turns-capacity":   Turns(record.KindCapacity).Report(),
		"turns-held":       held(),
		"turns-stolen":     Stolen(record.KindLadder),
		"turns-stolen-one": Stolen(record.KindCapacity),
		"turns-worse":      Worse(),
	}
}

// bareLadder is a ladder of jobs without an agent, with too few rounds for an interval, and
// one step that could not be measured.
func bareLadder() *report.Report {
	m := New(record.KindLadder, "p99=60ms,errors=0.1%,async_oldest_age_seconds<0.5")
	m.AddVariant("baseline", "", "", 3000)
	m.AddVariant("broken", "a step that never came up", "", 3000)
	m.AddVariant("tuned", "everything", "", 4500)
	for _, v := range m.Variants {
		r := m.AddJob(record.RoleMeasure, v.Name, 1, 9)
		r.Totals.Server.AllocsPerRequest, r.Totals.Server.BytesPerRequest, r.Totals.Server.PeakGoroutines = -1, -1, 0
		if v.Name == "broken" {
			r.Invalid, r.Totals.Server = "the target ended before it was ready", nil
		}
	}
	a := m.Analysis()
	for name, c := range a.Capacities {
		c.Interval, c.Data, c.Warnings = nil, c.Data[:1], []string{"1 datum: there is no interval under 6"}
		a.Capacities[name] = c
	}
	a.Capacities["broken"] = capacity.Result{Variant: "broken", Reason: "the target ended before it was ready"}
	a.NoiseFloor = nil
	for i := range a.Rows {
		row := &a.Rows[i]
		row.ToBaseline.Interval, row.ToBaseline.Verdict = nil, compare.NotDecided
		if row.Name == "broken" {
			row.ToBaseline = compare.Comparison{A: "baseline", B: "broken", Verdict: compare.Invalid}
			row.ToBefore = &row.ToBaseline
		} else if row.ToBefore != nil {
			row.ToBefore = &compare.Comparison{A: "broken", B: row.Name, Verdict: compare.Invalid}
		}
	}
	return report.Assemble(m.Experiment, a)
}

// InvalidLadder is a ladder none of whose runs count.
func InvalidLadder() *report.Report {
	m := Ladder()
	for i, r := range m.Runs {
		r.Invalid = "the load generator was the limit: its busiest thread used 93% of a core"
		if i%5 == 0 {
			r.Invalid = "the target stopped"
		}
	}
	m.Outcome = &record.Outcome{Status: record.OutcomeInvalid, Reason: m.Runs[1].Invalid}
	a := m.Analysis()
	a.NoiseFloor = nil
	for i := range a.Rows {
		invalid := compare.Comparison{Verdict: compare.Invalid}
		a.Rows[i].ToBaseline, a.Rows[i].ToBefore = invalid, &invalid
	}
	for name, c := range a.Capacities {
		c.Valid, c.Reason, c.Interval = false, "the generator was the limit", nil
		a.Capacities[name] = c
	}
	return report.Assemble(m.Experiment, a)
}

// fewPairs is a comparison that shows nothing.
func fewPairs() *report.Report {
	m := Compare()
	a := m.Analysis()
	a.Comparison.Ratio, a.Comparison.Interval, a.Comparison.NoiseFloor, a.NoiseFloor = 1.01, nil, nil, nil
	a.Comparison.Verdict, a.Comparison.Samples = compare.NotDecided, 3
	a.Comparison.Warnings = []string{"3 pairs: there is no interval under 6"}
	return report.Assemble(m.Experiment, a)
}

// held is a capacity by turns that was then held for longer than a slice.
func held() *report.Report {
	m := Turns(record.KindCapacity)
	r := m.AddRun(record.RoleMeasure, "plain", 0, m.Limits["plain"]*0.9)
	r.Spec.Confirm = true
	a := m.Analysis()
	c := a.Capacities["plain"]
	c.Steps = []capacity.RatePoint{{Run: r.ID, Role: r.Spec.Role, Confirm: true, OfferedPerS: r.Totals.OfferedPerS, ThroughputPerS: r.Totals.ThroughputPerS, P50Ms: 4, P99Ms: 92, P999Ms: 150, Met: true}}
	a.Capacities["plain"] = c
	return report.Assemble(m.Experiment, a)
}

// Stolen is an experiment by turns on a machine of which the hypervisor took a part: no step has a
// capacity, and none has an interval.
func Stolen(kind string) *report.Report {
	m := Turns(kind)
	a := m.Analysis()
	for name, c := range a.Capacities {
		c.Valid, c.CapacityPerS, c.Interval, c.PeakWorkInterval = false, 0, nil, nil
		c.Reason = "no rate could be judged (lowest tried 450/s): the hypervisor took 5% of the machine"
		a.Capacities[name] = c
	}
	for _, rows := range [][]compare.Row{a.Rows, a.CPU} {
		for i := range rows {
			for _, c := range []*compare.Comparison{&rows[i].ToBaseline, rows[i].ToBefore} {
				if c != nil {
					c.Interval, c.NoiseFloor, c.Verdict = nil, nil, compare.NotDecided
				}
			}
		}
	}
	if kind == record.KindLadder { // one of them has only a lower bound
		c := a.Capacities["group"]
		c.AtLeast, c.CapacityPerS, c.Reason = true, 14000, "the load generator was the limit in 31 of 40 slices"
		a.Capacities["group"] = c
	}
	return report.Assemble(m.Experiment, a)
}

// Worse is a comparison by turns whose second variant carries less.
func Worse() *report.Report {
	m := Turns(record.KindCompare)
	for i := range m.Variants {
		m.Variants[i].Why = ""
	}
	m.Limits[m.Variants[1].Name] *= 0.8
	return m.Report()
}

// nothing is a load that ended before anything was measured.
func nothing() *report.Report {
	m := New(record.KindLoad, "p99=60ms")
	m.Outcome = &record.Outcome{Status: record.OutcomeInvalid, Reason: "nothing was measured"}
	return m.Report()
}
