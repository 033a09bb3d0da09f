package live

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/lab/report"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// made is an experiment that grows on disk like a real one.
type made struct {
	t    *testing.T
	exp  *record.Experiment
	dir  string
	slow map[string]float64 // a variant's latency, as a factor
}

// hostile is a name that must be escaped.
const hostile = `</script><img src=x onerror=alert(1)>`

func newMade(t *testing.T, dir, kind string, started time.Time, variants ...string) *made {
	t.Helper()
	slo, err := record.ParseSLO("p99=20ms,errors=0.1%")
	if err != nil {
		t.Fatal(err)
	}
	e := &record.Experiment{
		Name: "shop", Kind: kind, Service: "shop", SLO: slo, Started: started, Command: []string{"dyno", "run", "shop.yaml"},
		Scenario: "name: shop\nslo: p99=20ms\n", Metric: "capacity",
		Machine: record.Machine{OS: "linux", Arch: "amd64", CPU: "Imaginary 9000", Cores: 2, MemoryGiB: 8, Kernel: "6.12", Go: "go1.26"},
	}
	for _, v := range variants {
		e.Variants = append(e.Variants, record.Variant{Name: v, Args: []string{"--assembly", v}})
	}
	if err := record.NewExperiment(dir, e); err != nil {
		t.Fatal(err)
	}
	return &made{t: t, exp: e, dir: dir, slow: map[string]float64{}}
}

// madeRun is a run in progress.
type madeRun struct {
	*made
	w    *record.Writer
	run  *record.Run
	n    int     // windows so far
	rate float64 // per second
}

// windows before the measured time of a run.
const madeWarmup = 10

func (m *made) begin(role, variant string, round int, rate float64) *madeRun {
	m.t.Helper()
	step := record.Step{Role: role, Variant: variant, Round: round, Rate: rate}
	r := &record.Run{ID: m.exp.NextID(step), Step: step, SLO: m.exp.SLO, Machine: m.exp.Machine, Started: time.Now(),
		Load:   record.Load{Kind: "requests", Model: "open", Engine: "std", Schedule: fmt.Sprintf("poisson %.0f/s", rate)},
		Target: record.Target{Command: []string{"shopd", "--assembly", variant}, Assembly: []byte(`{"cache":"` + variant + `"}`)}}
	w, err := record.Create(m.exp.RunDir(r.ID))
	if err != nil {
		m.t.Fatal(err)
	}
	return &madeRun{made: m, w: w, run: r, rate: rate}
}

// latency is the p99 in ms at a rate: it passes the SLO's 20 ms between 4,000/s and 5,000/s.
func (r *madeRun) latency() float64 {
	slow := r.slow[r.run.Step.Variant]
	if slow == 0 {
		slow = 1
	}
	return slow * 3 / max(0.05, 1-r.rate/5000)
}

// grow writes a given number of windows.
func (r *madeRun) grow(windows int) *madeRun {
	r.t.Helper()
	for range windows {
		phase := record.PhaseMeasure
		if r.n < madeWarmup {
			phase = record.PhaseWarmup
		}
		wave := 1 + 0.2*math.Sin(float64(r.n)/7)
		per := int64(r.rate / 10 * wave)
		win := record.Window{Start: int64(1000+r.n) * int64(record.WindowLength), Phase: phase,
			Client: record.Client{Offered: per, Sent: per, Completed: per, Backlog: per / 10, P50Ms: r.latency() / 3, P99Ms: r.latency() * wave, CPU: 0.1 * wave},
			Server: &record.Server{CPU: 0.7 * wave, RSS: 40 << 20, Goroutines: 70 + per/20, HeapLive: 9 << 20, HeapGoal: 18 << 20,
				Allocs: 400 * float64(per), GCPauseMs: 0.2 * wave, AgentSeen: true, Gauges: map[string]float64{"queue_depth": float64(per) / 3}}}
		if err := r.w.Window(win, nil); err != nil {
			r.t.Fatal(err)
		}
		r.n++
	}
	return r
}

// end finishes the run and adds it to the experiment.
func (r *madeRun) end() {
	r.t.Helper()
	measured := r.n - madeWarmup
	n := int64(r.rate * 10)
	q := record.Quantiles{P50: r.latency() / 3, P90: r.latency() / 2, P95: r.latency() / 1.5, P99: r.latency(), P999: r.latency() * 2, Max: r.latency() * 3, Mean: r.latency() / 3}
	r.run.Begin, r.run.Length = int64(1000+madeWarmup)*int64(record.WindowLength), time.Duration(measured)*record.WindowLength
	r.run.Totals = record.Totals{Offered: n, Sent: n, Ended: n, Completed: n, OfferedPerS: r.rate, AchievedPerS: r.rate, Response: q, Service: q,
		Server: &record.ServerTotals{CPUMicrosPerRequest: 120, AllocsPerRequest: 40, BytesPerRequest: 2000, PeakRSS: 40 << 20, PeakGoroutines: 90, GCPauseP99Ms: 0.3}}
	r.run.Environment.Speed = 1000
	if err := r.w.Close(r.run); err != nil {
		r.t.Fatal(err)
	}
	run, err := record.OpenRun(r.exp.RunDir(r.run.ID))
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.exp.Add(run); err != nil {
		r.t.Fatal(err)
	}
}

// underWay records which process runs the experiment.
func (m *made) underWay(pid int) {
	m.t.Helper()
	m.exp.InProgress = &record.InProgress{PID: pid}
	if err := m.exp.Save(); err != nil {
		m.t.Fatal(err)
	}
}

// finish writes the report's file, which dyno writes last.
func (m *made) finish() {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, report.PageFile), []byte("written by the process that measured"), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// age sets the modification times of an experiment's files to that age.
func age(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(p, then, then)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// search writes runs at these rates for a variant.
func (m *made) search(variant string, rates ...float64) *made {
	for _, rate := range rates {
		m.begin(record.RoleSearch, variant, 0, rate).grow(madeWarmup + 20).end()
	}
	return m
}
