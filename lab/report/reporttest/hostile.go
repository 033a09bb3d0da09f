package reporttest

import (
	"encoding/json"
	"math"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
	"dyno/lab/report"
)

// HostileCause has a hostile name wherever a diagnosis or a profile can hold one.
func HostileCause() *report.Report {
	m := New(record.KindDiagnose, "p99=60ms")
	m.Name, m.Service = Hostile, Hostile
	m.AddVariant(Hostile, "", "", 9800)
	m.AddCause(Hostile, "", 1)
	bad := Hostile + "\x1b[31m\u202e"
	place := []stacks.Site{{Function: bad, File: "/" + bad + "/" + bad, Line: 1, Share: math.NaN()}}
	figures := []findings.Evidence{{Signal: bad, Value: 1, Unit: bad, Means: bad}, {Signal: bad, Value: math.Inf(1)}}
	m.Diagnoses[0] = diagnose.Diagnosis{Variant: Hostile, Valid: true, Bottleneck: rules.Bottleneck(bad), Kind: bad, Also: []rules.Bottleneck{rules.Bottleneck(bad)}, Sites: place,
		Text: bad, Moved: bad, Evidence: figures, Interventions: []diagnose.Intervention{{Changed: bad, Predicted: bad, Saw: bad}},
		Findings: []findings.Finding{{Kind: bad, Text: bad, Evidence: figures, Sites: place, Next: "dyno " + bad + "`", Profile: bad}},
		Unseen:   []string{bad}, Warnings: []string{bad}, CapacityPerS: math.NaN(), Signals: rules.Signals{rules.Utilisation: 7, rules.Waiting: -3, bad: math.NaN()}}
	for _, p := range m.Runs[3].FixtureProfiles {
		p.Stacks = append(p.Stacks, record.Stack{Value: p.Total(), Frames: []record.Frame{{Function: bad, File: bad}}})
	}
	for _, r := range m.Runs {
		for i := range r.Stages {
			r.Stages[i].Name, r.Stages[i].Transaction = bad, bad
		}
	}
	return m.Report()
}

// HostileReport has a hostile name wherever a name can come from outside.
func HostileReport() *report.Report {
	m := New(record.KindLadder, "p99=100ms")
	m.Name, m.Service, m.Scenario = Hostile, Hostile, "name: "+Hostile
	m.Command = []string{"dyno", "run", Hostile}
	m.Warnings = []string{Hostile + "\x1b[31m\u202e"}
	m.Machine.CPU, m.Machine.Settings = Hostile, map[string]string{Hostile: Hostile}
	m.AddVariant("baseline", Hostile, Hostile, 3000, Hostile)
	m.AddVariant(Hostile, Hostile+"\x1b]0;owned\a", Hostile, 4000)
	for _, v := range m.Variants {
		r := m.AddRun(record.RoleMeasure, v.Name, 1, 2000)
		r.ID, r.Warnings = "001-"+v.Name, []string{Hostile}
		r.Target.Assembly = json.RawMessage(`{"queue":"</script><img src=x onerror=alert(1)>"}`)
		for i := range r.Series {
			r.Series[i].Server.Gauges = map[string]float64{Hostile: 1}
		}
	}
	m.Runs[1].Invalid = ""
	return m.Report()
}

// HostileLoad is a single load with a hostile name wherever one can come from outside.
func HostileLoad() *report.Report {
	m := Load("open")
	run := m.Runs[0]
	m.Name, run.Load.URL, run.Load.Engine, run.Load.Schedule = Hostile, Hostile, Hostile, Hostile
	run.Totals.Errors, run.Totals.Status = map[string]int64{Hostile: 1}, map[string]int64{Hostile + "\x1b[2J": 1}
	run.Totals.Classes = map[string]record.Quantiles{Hostile: {P50: 1}}
	return m.Report()
}
