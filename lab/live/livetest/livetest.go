// Package livetest makes experiments that grow on disk as real ones do, for tests of what shows
// them.
//
// It is for tests only. It starts no goroutines.
package livetest

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/lab/record/folder"
)

// Made is an experiment that grows on disk like a real one.
type Made struct {
	t   *testing.T
	Exp *record.Experiment
	Dir string
}

// Hostile is a name that must be escaped.
const Hostile = `</script><img src=x onerror=alert(1)>`

// New makes the folder of an experiment in progress.
func New(t *testing.T, dir, kind string, started time.Time, variants ...string) *Made {
	t.Helper()
	slo, err := record.ParseSLO("p99=20ms,errors=0.1%")
	if err != nil {
		t.Fatal(err)
	}
	e := &record.Experiment{
		Name: "shop", Kind: kind, Service: "shop", SLO: slo, Started: started, Command: []string{"dyno", "run", "shop.yaml"},
		Scenario: "name: shop\nslo: p99=20ms\n", Metric: "capacity",
		Machine:    record.Machine{OS: "linux", Arch: "amd64", CPU: "Imaginary 9000", Cores: 2, MemoryGiB: 8, Kernel: "6.12", Go: "go1.26"},
		InProgress: &record.InProgress{PID: os.Getpid()},
	}
	for _, v := range variants {
		e.Variants = append(e.Variants, record.Variant{Name: v, Args: []string{"--assembly", v}})
	}
	if err := folder.New(dir, e); err != nil {
		t.Fatal(err)
	}
	return &Made{t: t, Exp: e, Dir: dir}
}

// Run is a run in progress.
type Run struct {
	made *Made
	w    *folder.Writer
	Run  *record.Run
	n    int     // windows so far
	rate float64 // per second
}

// Warmup is the number of windows before the measured time of a run.
const Warmup = 10

// Begin begins a run.
func (m *Made) Begin(role, variant string, round int, rate float64) *Run {
	m.t.Helper()
	step := record.RunSpec{Role: role, Variant: variant, Round: round, Rate: rate}
	r := &record.Run{ID: m.Exp.NextID(step), Spec: step, SLO: m.Exp.SLO, Machine: m.Exp.Machine, Started: time.Now(),
		Load:   record.LoadInfo{Kind: "requests", Model: "open", Engine: "std", Schedule: fmt.Sprintf("poisson %.0f/s", rate)},
		Target: record.Target{Command: []string{"shopd", "--assembly", variant}, Assembly: []byte(`{"cache":"` + variant + `"}`)}}
	return &Run{made: m, w: folder.Create(m.Exp.RunDir(r.ID)), Run: r, rate: rate}
}

// latency is the p99 in ms at a rate: it passes the SLO's 20 ms between 4,000/s and 5,000/s.
func (r *Run) latency() float64 {
	return 3 / max(0.05, 1-r.rate/5000)
}

// Grow writes a given number of windows.
func (r *Run) Grow(windows int) *Run {
	r.made.t.Helper()
	for range windows {
		phase := record.PhaseMeasure
		if r.n < Warmup {
			phase = record.PhaseWarmup
		}
		wave := 1 + 0.2*math.Sin(float64(r.n)/7)
		per := int64(r.rate / 10 * wave)
		win := record.Window{Start: int64(1000+r.n) * int64(record.WindowLength), Phase: phase,
			Client: record.Client{Offered: per, Sent: per, Ended: per, Backlog: per / 10, P50Ms: r.latency() / 3, P99Ms: r.latency() * wave, CPU: 0.1 * wave},
			Server: &record.Server{CPU: 0.7 * wave, RSS: 40 << 20, Goroutines: 70 + per/20, HeapLive: 9 << 20, HeapGoal: 18 << 20,
				Allocs: 400 * float64(per), GCPauseMs: 0.2 * wave, AgentSeen: true, Gauges: map[string]float64{"queue_depth": float64(per) / 3}}}
		if err := r.w.Window(win, nil); err != nil {
			r.made.t.Fatal(err)
		}
		r.n++
	}
	return r
}

// End finishes the run and adds it to the experiment.
func (r *Run) End() {
	r.made.t.Helper()
	measured := r.n - Warmup
	n := int64(r.rate * 10)
	q := record.Quantiles{P50: r.latency() / 3, P90: r.latency() / 2, P95: r.latency() / 1.5, P99: r.latency(), P999: r.latency() * 2, Max: r.latency() * 3, Mean: r.latency() / 3}
	r.Run.Begin, r.Run.Length = int64(1000+Warmup)*int64(record.WindowLength), time.Duration(measured)*record.WindowLength
	r.Run.Totals = record.Totals{Offered: n, Sent: n, Ended: n, Completed: n, OfferedPerS: r.rate, ThroughputPerS: r.rate, Response: q, Service: q,
		Server: &record.ServerTotals{CPUMicrosPerRequest: 120, AllocsPerRequest: 40, BytesPerRequest: 2000, PeakRSS: 40 << 20, PeakGoroutines: 90, GCPauseP99Ms: 0.3}}
	r.Run.System.Speed = 1000
	r.w.Close(r.Run)
	run, err := folder.OpenRun(r.made.Exp.RunDir(r.Run.ID))
	if err != nil {
		r.made.t.Fatal(err)
	}
	if folder.AddRun(r.made.Exp, run); r.made.Exp.Unwritten != nil {
		r.made.t.Fatal(r.made.Exp.Unwritten)
	}
}

// UnderWay records that another process runs the experiment.
func (m *Made) UnderWay(pid int) {
	m.t.Helper()
	m.Exp.InProgress = &record.InProgress{PID: pid}
	if folder.Save(m.Exp); m.Exp.Unwritten != nil {
		m.t.Fatal(m.Exp.Unwritten)
	}
}

// Finish records that the experiment has ended.
func (m *Made) Finish() {
	m.t.Helper()
	m.Exp.InProgress, m.Exp.Outcome = nil, &record.Outcome{Status: record.OutcomeComplete}
	if folder.Save(m.Exp); m.Exp.Unwritten != nil {
		m.t.Fatal(m.Exp.Unwritten)
	}
}

// Search writes runs at these rates for a variant.
func (m *Made) Search(variant string, rates ...float64) *Made {
	for _, rate := range rates {
		m.Begin(record.RoleSearch, variant, 0, rate).Grow(Warmup + 20).End()
	}
	return m
}

// Age sets the modification times of the experiment's files to that age.
func (m *Made) Age(by time.Duration) {
	m.t.Helper()
	then := time.Now().Add(-by)
	err := filepath.WalkDir(m.Dir, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(p, then, then)
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// Slice adds a slice to an experiment by turns.
func (m *Made) Slice(kind, variant string, block int) {
	m.t.Helper()
	s := record.Slice{Kind: kind, Role: record.RoleMeasure, Variant: variant, Generation: 1, Block: block, Start: int64(block) * 1e9, Length: 300 * time.Millisecond,
		Offered: 300, Served: 300, TargetCPU: 0.03, Allocs: -1, AllocBytes: -1}
	if kind == record.SliceSLO {
		s.Rate, s.Met, s.Latency = 900, true, record.Quantiles{P99: 12}
	}
	if folder.AddSlice(m.Exp, s); m.Exp.Unwritten != nil {
		m.t.Fatal(m.Exp.Unwritten)
	}
}
