package experiment

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/parts/quicktest"
)

// batches is a ladder of a job with exact counts: 400 units/s with 4 concurrent units or more,
// 1,000/s with 10 or more, and 100/s for one unit after the other.
const batches = `
name: batches
target: {build: dyno/subjects/batchjob, args: [--unit, 10ms]}
load: {kind: jobs, axis: concurrency, args: [--workers, "${concurrency}", --debug, "${debug}"]}
slo: p95=2s
variants:
  - {name: serial, args: [--roof, 400], load: {args: [--workers, 1, --debug, "${debug}"]}}
  - {name: parallel, args: [--roof, 400]}
  - {name: raised, args: [--roof, 1000]}
measure: {length: 300ms, warmup: 100ms, max_concurrency: 32, rounds: 2}
`

// onJob carries out scenarios of the fake job.
func onJob(t *testing.T, text, kind string, depth Depth) *executor {
	t.Helper()
	quicktest.Skip(t, "runs processes for seconds")
	t.Parallel()
	sc, err := scenario.Parse("batches.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if sc.Root, err = os.Getwd(); err != nil {
		t.Fatal(err)
	}
	sc.Mode = kind
	return begun(t, Options{Scenario: sc, Depth: depth})
}

func TestLadderOverAJob(t *testing.T) {
	x := onJob(t, batches, record.KindCompare, Default) // a ladder without its profiles
	if err := x.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		name string
		perS float64
		n    int
	}{{"serial", 100, 1}, {"parallel", 400, 4}, {"raised", 1000, 11}} { // 10 reach it; the search tries 8, 11 and 16
		got := capacity.Summarise(x.exp, want.name)
		if !got.Valid || math.Abs(got.CapacityPerS-want.perS) > 1e-6 || got.Concurrency != want.n {
			t.Errorf("%s carries %g/s with %d concurrent units, want %g with %d (%s)", want.name, got.CapacityPerS, got.Concurrency, want.perS, want.n, got.Reason)
		}
	}
	datum := func(role, variant string, round int) (float64, bool) {
		peak, ok, _ := capacity.PeakOf(x.runsOf(role, variant, round), x.exp.SLO)
		return peak.PerS, ok
	}
	if c := compare.Between(x.exp, compare.MetricCapacity, "serial", "raised", datum); math.Abs(c.Ratio-10) > 1e-6 || c.Samples != 2 {
		t.Errorf("ratio %g over %d pairs, want 10 over 2", c.Ratio, c.Samples)
	}
	if floor := x.runsOf(record.RoleControl, "serial", 2); len(floor) != 1 {
		t.Errorf("the baseline was measured against itself in %d runs of round 2", len(floor))
	}
	r := x.runsOf(record.RoleMeasure, "raised", 1)[0]
	if r.Axis() != record.AxisConcurrency || r.Load.Schedule != "11 concurrent units" || r.Length != 300*time.Millisecond || !r.Target.Agent {
		t.Errorf("a run's load is %+v over %v, agent seen: %v", r.Load, r.Length, r.Target.Agent)
	}
	if all := record.WaitsOf(r); len(all) != 2 || all[0].Name != "server" || all[0].Share < 0.05 {
		t.Errorf("limits %v", all)
	}
}

// What a unit costs is compared at one number of concurrent units, although the second carries more with others.
func TestCPUOfJobsIsComparedAtOneNumber(t *testing.T) {
	x := onJob(t, batches, record.KindCompare, Default)
	x.variants = x.variants[1:] // parallel carries most with 4, raised with 10
	x.opts.Metric = compare.MetricCPU
	if err := x.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"parallel", "raised"} {
		runs := x.exp.Select(func(r *record.Run) bool { return r.Spec.Role == record.RoleMeasure && r.Spec.Variant == name })
		for _, r := range runs {
			if r.Spec.Connections != 4 {
				t.Errorf("%s was measured with %d", name, r.Spec.Connections)
			}
		}
		if len(runs) == 0 {
			t.Errorf("%s was not measured", name)
		}
	}
	if searched := x.runsOf(record.RoleSearch, "raised", 0); len(searched) > 0 {
		t.Errorf("%d runs searched for the best number of raised", len(searched))
	}
}

// Jobs that are compared share a dependency and read the feeder's rows; a job that cannot be
// measured is left out.
func TestSeveralJobsAreCompared(t *testing.T) {
	x := onJob(t, `
name: peers
mode: compare
target: {build: dyno/subjects/batchjob, args: [--unit, 10ms]}
companions: [{name: shared, shared: true, command: [sh, -c, "echo '{\"unit\":\"10ms\"}'; exec sleep 600"]}]
load: {kind: jobs, axis: concurrency, args: [--workers, "${concurrency}"], feeder: {command: [printf, 'name\na\n'], format: csv}}
slo: p95=2s
variants:
  - {name: four}
  - {name: missing, command: [sh, -c, "echo there is no rival here >&2; exit 1"]}
  - {name: two, args: [--unit, "${shared.unit}"], load: {concurrency: [2], args: [--workers, "${concurrency}"]}}
  - {name: rows, command: [sh, -c, "test \"$(cat $0)\" = \"$(printf 'name\\na')\" && exit 7", ], load: {args: ["${rows}"]}}
measure: {length: 300ms, warmup: 100ms, concurrency: [4], rounds: 2, cpu: all}
`, record.KindCompare, Default)
	if err := x.gen.Feed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := x.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct{ runs, n int }{"four": {5, 4}, "two": {3, 2}, "missing": {0, 0}, "rows": {0, 0}} { // the first has a control
		runs := x.exp.Select(func(r *record.Run) bool { return r.Spec.Variant == name && r.Invalid == "" })
		if len(runs) != want.runs || want.runs > 0 && runs[0].Spec.Connections != want.n {
			t.Errorf("%s: %d runs, want %+v", name, len(runs), want)
		}
	}
	r := x.exp.Runs[0]
	if of := r.System; of.Seen && math.Abs(r.Totals.Server.CPUMicrosPerRequest-(of.TargetCPU+of.DependencyCPU)/r.Totals.ThroughputPerS*1e6) > 1e-6 {
		t.Errorf("CPU per unit %g us, of %g and %g cores", r.Totals.Server.CPUMicrosPerRequest, of.TargetCPU, of.DependencyCPU)
	}
	said := strings.Join(x.exp.Warnings, "\n")
	if !strings.Contains(said, "missing is left out: ") || !strings.Contains(said, "there is no rival here") || !strings.Contains(said, "exit code 7") {
		t.Errorf("%q", said)
	}
	if shared, _ := filepath.Glob(filepath.Join(x.exp.Dir, "turns", "*", "logs", "shared.log")); len(shared) != 1 {
		t.Errorf("the shared dependency started %d times", len(shared))
	}
}

func TestSweepOfAJobWithAnEnd(t *testing.T) {
	x := onJob(t, `
name: ends
mode: sweep
target: {build: dyno/subjects/batchjob, args: [--unit, 10ms, --roof, 400]}
load: {kind: jobs, axis: concurrency, units: 80, args: [--workers, "${concurrency}", --units, "${units}"]}
variants: [{name: short, load: {units: 40, concurrency: [8]}}, {name: long}]
measure: {concurrency: [2, 4]}
`, record.KindSweep, Default)
	if err := x.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []struct{ n, done int64 }{{8, 40}, {2, 80}, {4, 80}}
	if len(x.exp.Runs) != len(want) {
		t.Fatalf("%d runs", len(x.exp.Runs))
	}
	for i, r := range x.exp.Runs {
		got := r.Totals
		if int64(r.Spec.Connections) != want[i].n || got.Completed != want[i].done || got.Offered != want[i].done || r.Invalid != "" {
			t.Errorf("%s with %d concurrent units did %d of %d units, want %v (%s)", r.Spec.Variant, r.Spec.Connections, got.Completed, got.Offered, want[i], r.Invalid)
		}
	}
	if x.exp.Variants[0].Units != 40 || x.exp.Variants[1].Units != 80 {
		t.Errorf("recorded as %+v", x.exp.Variants)
	}
}

func TestDiagnoseAJob(t *testing.T) {
	x := onJob(t, `
name: bounded
mode: capacity
target: {build: dyno/subjects/batchjob, args: [--unit, 10ms, --roof, 100]}
load: {kind: jobs, axis: concurrency, args: [--workers, "${concurrency}", --debug, "${debug}"]}
slo: p95=5s
measure: {length: 300ms, warmup: 100ms, max_concurrency: 64}
`, record.KindDiagnose, Quick)
	if err := x.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := diagnose.Diagnose(x.exp)
	if len(d) != 1 || math.Abs(d[0].PeakPerS-100) > 1e-6 {
		t.Fatalf("diagnosed %+v", d)
	}
	found := false
	for _, f := range d[0].Findings {
		found = found || f.Kind == "limit" && f.Evidence[0].Value > 0.9
	}
	if !found {
		t.Errorf("the server's budget is not found to be the limit: bound by %s, findings %+v", d[0].Bottleneck, d[0].Findings)
	}
}
