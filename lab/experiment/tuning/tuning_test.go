package tuning

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/lab/compare"
	"dyno/lab/experiment"
	"dyno/lab/experiment/experimenttest"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/tune"
	"dyno/lab/workload"
	"dyno/parts/quicktest"
)

func TestMain(m *testing.M) { experimenttest.Main(m) }

// said collects the events that a search reports.
type said struct{ lines []string }

func (s *said) Say(text string)                 { s.lines = append(s.lines, text) }
func (*said) Step(int, int, record.RunSpec)     {}
func (*said) Window(record.Window)              {}
func (*said) Done(*record.Run)                  {}
func (*said) Slice(record.Slice, time.Duration) {}

// A candidate's variant has its changes after the start's own settings, which do not change.
func TestVariant(t *testing.T) {
	x := &tuning{start: scenario.Variant{Name: "tuned", Args: []string{"--assembly", "tuned"}, Env: map[string]string{"A": "b"}}, profile: "/tmp/cpu.pprof"}
	v := x.variant(tune.Candidate{{Kind: tune.Setting, Name: "workers", Value: "8"}, {Kind: tune.Runtime, Name: "GOGC", Value: "200"}, {Kind: tune.PGO, Name: tune.PGO}})
	if v.Name != "workers=8 GOGC=200 pgo" || !slices.Equal(v.Args, []string{"--assembly", "tuned", "--set", "workers=8"}) || v.Env["GOGC"] != "200" || v.Env["A"] != "b" || v.PGO != x.profile {
		t.Errorf("%+v", v)
	}
	if len(x.start.Args) != 2 || len(x.start.Env) != 1 {
		t.Errorf("the start became %+v", x.start)
	}
}

func TestMetric(t *testing.T) {
	slo := record.SLO{Latency: map[string]float64{"p99": 20}}
	requests := scenario.Scenario{SLO: slo}
	jobs := scenario.Scenario{SLO: slo, Load: scenario.Load{Kind: workload.Jobs, Job: &workload.Job{Axis: workload.AxisConcurrency}}}
	fixed := scenario.Scenario{SLO: slo, Load: scenario.Load{Kind: workload.Sessions, Sessions: &workload.Session{Numbers: []int{400}}}}
	for _, c := range []struct {
		scenario    scenario.Scenario
		asked, want string // "": refused
	}{
		{requests, "", compare.MetricWork}, {requests, "cpu", compare.MetricCPU}, {requests, "p99", compare.MetricP99},
		{jobs, "", compare.MetricCapacity}, {jobs, "work", compare.MetricCapacity}, {jobs, "cpu", compare.MetricCPU},
		{fixed, "", compare.MetricCPU}, {fixed, "p99", compare.MetricP99}, {fixed, "work", ""},
		{scenario.Scenario{}, "p99", ""},
		{scenario.Scenario{Load: scenario.Load{MaxRate: 100}}, "", compare.MetricCPU}, {scenario.Scenario{Load: scenario.Load{MaxRate: 100}}, "work", ""},
	} {
		x := &tuning{base: experiment.Options{Scenario: &c.scenario, Metric: c.asked}}
		if got, err := x.metric(); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q of %s: %q, %v; want %q", c.asked, c.scenario.Load.Kind, got, err, c.want)
		}
	}
}

// What cannot be tuned is refused before anything is started or written.
func TestRefused(t *testing.T) {
	for says, sc := range map[string]*scenario.Scenario{
		"needs target.build":  {Target: scenario.Target{URL: "http://127.0.0.1:1"}},
		"jobs by rate":        {Load: scenario.Load{Kind: workload.Jobs, Job: &workload.Job{}}, Target: scenario.Target{Process: scenario.Process{Command: []string{"x"}}}},
		`no variant "newest"`: {Variants: []scenario.Variant{{Name: "new"}}},
	} {
		out := filepath.Join(t.TempDir(), "out")
		o := Options{Experiment: experiment.Options{Scenario: sc, Out: out, Progress: &said{}}}
		if len(sc.Variants) > 0 {
			o.Variant = "newest"
		}
		_, err := Run(t.Context(), o)
		if fault := new(scenario.Fault); !errors.As(err, &fault) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a folder was made", says)
		}
	}
}

// A setting that the load's arguments set has no candidates.
func TestSetByLoad(t *testing.T) {
	x := &tuning{base: experiment.Options{Scenario: &scenario.Scenario{Load: scenario.Load{Job: &workload.Job{Args: []string{"--set", "fetches=${concurrency}"}}}}}}
	if !x.setByLoad("fetches") || x.setByLoad("fetch") {
		t.Error("fetches is set by the load, fetch is not")
	}
}

// A whole search over an unmodified program: it measures the start, measures the changes in
// groups together with the start, keeps the profile, leaves nothing running, and reports a change
// with which the program cannot start.
func TestSearch(t *testing.T) {
	quicktest.Skip(t, "loads processes for a quarter of a minute")
	binary, err := experimenttest.Build("burn")
	if err != nil {
		t.Fatal(err)
	}
	sc := &scenario.Scenario{Name: "burn"}
	sc.Target.Command = []string{binary, "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--iterations", "200"}
	fed := filepath.Join(t.TempDir(), "fed")
	sc.Load.URL, sc.Load.Connections = "http://${target.listen}/?n=${row.n}", 4
	sc.Load.Feeder = &workload.Feeder{Program: workload.Program{Command: []string{"sh", "-c", `echo ran >> "$0"; echo '{"n":"1"}'`, fed}}}
	progress := &said{}
	o := Options{Experiment: experiment.Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), Budget: 12 * time.Second, NoPMQoS: true, Progress: progress},
		Settings: []string{"gogc", "gomaxprocs", "gomemlimit"}, pace: pace{start: time.Second, profile: time.Second, group: 2 * time.Second, alone: 2 * time.Second}}
	found, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err, progress.lines)
	}
	tried := map[string]string{}
	for _, trial := range found.Trials {
		if trial.Rounds > 0 && trial.Memory <= 0 {
			t.Errorf("%s: the memory is not known", trial.Candidate)
		}
		tried[trial.Candidate.String()] = trial.Verdict
	}
	if v, ok := tried["GOGC=200"]; !ok || v == tune.Failed || len(tried) < 5 {
		t.Errorf("tried %v", tried)
	}
	if ran, err := os.ReadFile(fed); err != nil || string(ran) != "ran\n" {
		t.Errorf("the feeder ran %q, %v; want once", ran, err)
	}
	if found.Metric != compare.MetricWork || found.Look == nil || (found.Chosen == nil) != (found.Proof == nil) {
		t.Errorf("metric %s, chosen %v, proof %v", found.Metric, found.Chosen, found.Proof != nil)
	}
}
