// Package reporttest makes up experiments for tests of the report: in memory with fixed
// analyses, and as folders like those that the lab writes.
//
// It is for tests only. It starts no goroutines.
package reporttest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/report"
	"dyno/lab/report/view"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Made is a made-up experiment: a variant's latency grows as 1/(1-load/limit), and past its limit a
// queue fills.
type Made struct {
	*record.Experiment
	Limits map[string]float64 // per second
	rng    *rand.Rand

	Diagnoses []diagnose.Diagnosis
	cost      map[string]float64 // by turns: us of CPU per request
}

var machine = record.Machine{
	OS: "linux", Arch: "amd64", CPU: "Imaginary 9000", Cores: 2, MemoryGiB: 7.75, Kernel: "6.12.0", Go: "go1.26.0",
	Settings: map[string]string{"somaxconn": "4096", "transparent_hugepage": "madvise", "autogroup": "1"},
}

// Hostile is what a name must not be able to do.
const Hostile = `</script><img src=x onerror=alert(1)>`

// New makes an experiment without variants and runs.
func New(kind string, slo string) *Made {
	s, err := record.ParseSLO(slo)
	if err != nil {
		panic(err)
	}
	return &Made{
		Experiment: &record.Experiment{
			Version: record.Version, Name: "notify", Kind: kind, Service: "notifyd", SLO: s, Machine: machine,
			Started: time.Date(2026, 3, 4, 10, 20, 30, 0, time.UTC), Metric: compare.MetricCapacity,
			Command:  []string{"dyno", "run", "scenarios/notify.yaml", "--thorough"},
			Scenario: "name: notify\nslo: " + slo + "\n", Dir: "runs/20260304-notify", Outcome: &record.Outcome{Status: record.OutcomeComplete},
		},
		Limits: map[string]float64{}, rng: rand.New(rand.NewPCG(1, 2)),
	}
}

// AddVariant adds a variant that carries up to limit requests per second.
func (m *Made) AddVariant(name, change, why string, limit float64, args ...string) {
	m.Variants = append(m.Variants, record.Variant{Name: name, Change: change, Why: why, Args: args})
	m.Limits[name] = limit
}

// times of a made-up run, in windows of 100 ms.
const (
	WarmWindows    = 20
	measureWindows = 60
	drainWindows   = 5
	profileWindows = 10
)

// AddRun adds a run under a rate.
func (m *Made) AddRun(role, variant string, round int, perSecond float64) *record.Run {
	return m.add(record.RunSpec{Role: role, Variant: variant, Round: round, Rate: perSecond}, perSecond)
}

// AddJob adds a run of a job with n units in flight, of which ten reach the variant's limit.
func (m *Made) AddJob(role, variant string, round, n int) *record.Run {
	const enough = 10
	perSecond := m.Limits[variant] * float64(n) / enough
	r := m.add(record.RunSpec{Role: role, Variant: variant, Round: round, Closed: true, Connections: n}, perSecond)
	r.Load = record.LoadInfo{Kind: record.KindJobs, Model: "closed", Engine: "job", Schedule: fmt.Sprintf("%d units in flight", n), Connections: n}
	t := &r.Totals
	t.Offered, t.Sent, t.Unfinished = t.Ended, t.Ended, 0
	t.OfferedPerS = t.ThroughputPerS
	return r
}

func (m *Made) add(step record.RunSpec, perSecond float64) *record.Run {
	variant := step.Variant
	limit := m.Limits[variant] * (1 + 0.01*m.rng.NormFloat64())
	load := perSecond / limit
	carried := min(perSecond, limit)
	p50, p99 := 2/(1-min(load, 0.9)), 9/(1-min(load, 0.9))
	if load > 1 {
		p50, p99 = p50*(1+10*(load-1)), p99*(1+20*(load-1))
	}
	seconds := float64(measureWindows) / 10
	cost := 2e6 / limit // us of two cores
	n := func(v float64) int64 { return int64(v*seconds + 0.5) }
	r := &record.Run{
		Version: record.Version, ID: m.NextID(step), Spec: step, SLO: m.SLO, Machine: m.Machine, Started: m.Started.Add(time.Duration(len(m.Runs)) * 10 * time.Second),
		Load: record.LoadInfo{Kind: "requests", Model: "open", Engine: "raw-epoll", Schedule: fmt.Sprintf("poisson %.0f/s", perSecond), URL: "http://127.0.0.1:8080/v1/notices", Connections: 64},
		Target: record.Target{Command: []string{"notifyd", "--listen", "127.0.0.1:0", "--assembly", variant},
			Assembly: []byte(`{"queue":"ring","sender":"pooled","settings":{"workers":256}}`)},
		Begin: 1e12, Length: measureWindows * record.WindowLength,
	}
	t := &r.Totals
	t.Offered, t.Sent, t.Ended, t.Delivered = n(perSecond), n(perSecond), n(carried), n(carried)
	t.Unfinished, t.Completed = t.Offered-t.Ended, t.Ended
	t.OfferedPerS, t.ThroughputPerS, t.DeliveredPerS = perSecond, carried, carried
	t.Variation = 0.012
	t.Status = map[string]int64{"202": t.Ended}
	t.Errors = map[string]int64{"timeout": 0}
	q := record.Quantiles{P50: p50, P90: p50 * 2.2, P95: p50 * 3, P99: p99, P999: p99 * 1.8, Max: p99 * 2.6, Mean: p50 * 1.2}
	t.Response, t.Delivery, t.Service = q, q, record.Quantiles{P50: 1.1, P90: 1.7, P95: 2.1, P99: 3.4, P999: 6.2, Max: 11, Mean: 1.2}
	t.Lag = record.Lag{P50: 14, P99: 160}
	t.Generator = record.Generator{CPUSeconds: 0.6, CPUPerMillion: 6.4, BusiestThread: 0.2}
	t.Server = &record.ServerTotals{CPUMicrosPerRequest: cost, AllocsPerRequest: cost / 4, BytesPerRequest: cost * 30, PeakRSS: 48 << 20, PeakGoroutines: 300, GCPauseP99Ms: 0.4}
	m.series(r, perSecond, carried, p50, p99, cost)
	m.Order, m.Runs = append(m.Order, r.ID), append(m.Runs, r)
	return r
}

// series makes the windows of a run: warm-up, measured, drain, and a profile at the end.
func (m *Made) series(r *record.Run, offered, carried, p50, p99, cost float64) {
	backlog := 0.0
	for i := -WarmWindows; i < measureWindows+drainWindows+profileWindows; i++ {
		phase := record.PhaseMeasure
		switch {
		case i < 0:
			phase = record.PhaseWarmup
		case i >= measureWindows+drainWindows:
			phase = record.PhaseProfile
		case i >= measureWindows:
			phase = record.PhaseDrain
		}
		noise := 1 + 0.08*m.rng.NormFloat64()
		in, out := offered/10*noise, min(carried, offered)/10*(1+0.05*m.rng.NormFloat64())
		if phase == record.PhaseDrain {
			in, out = 0, backlog/2
		}
		backlog = max(0, backlog+in-out)
		wave := 1 + 0.25*math.Sin(float64(i)/9)
		gc := 0.0
		if i%7 == 0 {
			gc = 0.3 * noise
		}
		w := record.Window{
			Start: r.Begin + int64(i)*int64(record.WindowLength), Phase: phase,
			Client: record.Client{
				Offered: int64(in), Sent: int64(in), Ended: int64(out), Delivered: int64(out), Backlog: int64(backlog),
				P50Ms: p50 * noise, P99Ms: p99 * noise * wave, MaxMs: p99 * 2, DeliveryP99Ms: p99 * 1.2 * noise, LagP99Us: 150, CPU: 0.12 * noise,
			},
			Server: &record.Server{
				CPU: min(2, out*10*cost/1e6), RSS: 40<<20 + int64(i)<<16, Delay: 0.05 * noise, Goroutines: 200 + int64(backlog)/10,
				HeapLive: 9 << 20, HeapGoal: 20 << 20, Allocs: out * 10 * cost / 4, GCPauseMs: gc, MutexWait: 0.2 * noise, AgentSeen: true,
				Gauges: map[string]float64{"async_queue_depth": backlog, "async_oldest_age_seconds": backlog / carried},
			},
		}
		if phase == record.PhaseProfile {
			w.Server.Profiling = true
			w.Client.P99Ms = 777777 // must never be seen
			w.Client.P50Ms = 777777
			w.Client.DeliveryP99Ms = 777777
		}
		r.Series = append(r.Series, w)
	}
}

// Ladder is six variants of a job over six rounds, with some runs that do not count.
func Ladder() *Made {
	m := New(record.KindLadder, "p99=100ms,errors=0.1%")
	m.AddVariant("baseline", "the plain program", "what a good engineer writes on the first day", 3100)
	m.AddVariant("reuse", "connections reused", "a handshake costs more than the request it carries", 5200, "--assembly=reuse")
	m.AddVariant("workers", "workers sized by Little's law", "rate x service time in flight, and no more", 6100, "--assembly=workers")
	m.AddVariant("prepared", "body and signature prepared once", "the same bytes were signed for every attempt", 6200, "--assembly=prepared")
	m.AddVariant("batch", "batches to subscribers that ask for them", "one request carries up to 100 notices", 9800, "--assembly=batch")
	m.AddVariant("commit", "group commit", "waiting writers share one fsync", 12400, "--assembly=commit")
	for _, v := range m.Variants {
		for _, n := range []int{1, 2, 4, 8, 9, 16} {
			m.AddJob(record.RoleSearch, v.Name, 0, n)
		}
	}
	for round := 1; round <= 6; round++ {
		for _, v := range m.Variants {
			m.AddJob(record.RoleMeasure, v.Name, round, 9)
		}
		m.AddJob(record.RoleControl, "baseline", round, 9)
	}
	m.Runs[3].Invalid = "other processes took 31% of the machine (steal included) while the target waited 0.40 s per second for a CPU"
	m.Runs[60].Warnings = []string{"other processes took 12% of the machine"}
	m.Warnings = []string{"the machine has 2 cores: generator and service shared them"}
	return m
}

// Sweep is three queues under a list of rates; the last one gives way.
func Sweep() *Made {
	m := New(record.KindSweep, "p99=60ms,errors=5%")
	m.Name, m.Service = "notify-queues", "notifyd"
	m.AddVariant("unbuffered", "a channel without a buffer", "", 7000, "--buffer=0")
	m.AddVariant("buffered-1024", "a channel of 1,024", "", 7800, "--buffer=1024")
	m.AddVariant("sharded-8x512", "8 shards of 512", "", 8000, "--buffer=8x512")
	rooms := map[string]float64{"unbuffered": 9, "buffered-1024": 1032, "sharded-8x512": 4104}
	for _, rate := range []float64{1000, 2000, 4000, 6000, 8000, 10000} {
		for _, v := range m.Variants {
			for round := 1; round <= 2; round++ {
				r := m.AddRun(record.RoleSweep, v.Name, round, rate)
				refused := max(0, rate-m.Limits[v.Name])
				r.Totals.Failed = int64(refused * 6)
				r.Totals.Unfinished = 0
				r.Totals.Ended, r.Totals.Completed = r.Totals.Offered, r.Totals.Offered
				r.Totals.ThroughputPerS = rate
				r.Totals.Response.P99 *= 0.2 + math.Log10(rooms[v.Name])/4
				for i := range r.Series {
					r.Series[i].Client.Refused = int64(refused / 10)
				}
			}
		}
	}
	return m
}

// Load is a single load.
func Load(model string) *Made {
	m := New(record.KindLoad, "p99=60ms,errors=0.1%")
	m.Name, m.Service, m.Scenario, m.Variants = "load", "load", "", nil
	m.Limits[""] = 9000
	m.Command = []string{"dyno", "load", "http://127.0.0.1:8080/submit", "-r", "5000", "-H", "X-Team: it's us"}
	r := m.AddRun(record.RoleSingle, "", 0, 5000)
	r.Spec.Variant, r.Load.Model = "", model
	r.Totals.Errors = map[string]int64{"timeout": 12, "reset": 3, "refused": 0}
	r.Totals.Status = map[string]int64{"202": 29900, "503": 85}
	r.Totals.Failed = 100
	r.Totals.Classes = map[string]record.Quantiles{"read": r.Totals.Service, "write": r.Totals.Response}
	return m
}

// Receiving is a load of sessions that only receive.
func Receiving() *Made {
	m := New(record.KindLoad, "errors=1%,frames>=9")
	m.Name, m.Service, m.Scenario, m.Variants = "ticks", "ticks", "", nil
	m.Command = []string{"dyno", "run", "ticks.yaml"}
	r := m.AddRun(record.RoleSingle, "", 0, 0)
	r.Spec.Variant, r.Load = "", record.LoadInfo{Kind: "sessions", Engine: "events", URL: "http://127.0.0.1:8080/"}
	r.Totals = record.Totals{Sessions: &record.Sessions{Planned: 300, Opened: 299, Lost: 1, FramesMean: 9.5, FramesMin: 0, FramesP1: 9.2, BytesPerS: 114,
		Opening: record.Quantiles{P50: 2, P90: 3, P95: 3, P99: 4, P999: 5, Max: 5, Mean: 2}}, Generator: r.Totals.Generator}
	for i := range r.Series {
		r.Series[i].Client = record.Client{Frames: 285, Bytes: 3420, CPU: 0.1}
	}
	return m
}

// Compare is two variants of a job in pairs.
func Compare() *Made {
	m := New(record.KindCompare, "p99=60ms,errors=0.1%")
	m.AddVariant("baseline", "", "", 3000)
	m.AddVariant("tuned", "a larger GOGC", "", 4200, "--set", "gogc=400")
	for round := 1; round <= 7; round++ {
		for _, v := range m.Variants {
			m.AddJob(record.RoleMeasure, v.Name, round, 8)
		}
	}
	return m
}

// Analysis is what the analyses would say, fixed, so that golden files hold this package and no
// other.
func (m *Made) Analysis() report.Results {
	a := report.Results{Verdicts: map[string]capacity.Verdict{}, Errors: map[string]float64{}, Capacities: map[string]capacity.Result{}, Diagnoses: m.Diagnoses}
	for _, r := range m.Runs {
		if r.Spec.Diagnostic() {
			continue
		}
		met := r.Totals.OfferedPerS <= m.Limits[r.Spec.Variant]*0.96
		v := capacity.Verdict{Met: met}
		if !met {
			v.Misses = []string{"p99 was over its bound"}
		}
		a.Verdicts[r.ID] = v
	}
	a.Sample = func(role, variant string, round int) (float64, bool) {
		return m.Limits[variant] * (1 + 0.004*float64(round%3-1)), true
	}
	for _, v := range m.Variants {
		c := m.Limits[v.Name]
		res := capacity.Result{Variant: v.Name, SLO: m.SLO, CapacityPerS: c, Interval: &[2]float64{c * 0.97, c * 1.03}, Data: make([]float64, 6), Valid: true}
		for _, r := range m.Runs {
			if r.Spec.Variant == v.Name && !r.Spec.Diagnostic() {
				q, concurrency := r.SLO.Observed(r.Totals), 0
				if r.Axis() == record.AxisConcurrency {
					concurrency, res.Concurrency = r.Spec.Connections, 9
				}
				res.Steps = append(res.Steps, capacity.RatePoint{Concurrency: concurrency, OfferedPerS: r.Totals.OfferedPerS, ThroughputPerS: r.Totals.ThroughputPerS, P50Ms: q.P50, P99Ms: q.P99, P999Ms: q.P999, CPU: 1.2, Variation: 0.02, Met: a.Verdicts[r.ID].Met, Invalid: r.Invalid})
			}
		}
		a.Capacities[v.Name] = res
	}
	compared := func(x, y string) compare.Comparison {
		ratio := m.Limits[y] / m.Limits[x]
		c := compare.Comparison{Metric: compare.MetricCapacity, A: x, B: y, Ratio: ratio, Interval: &[2]float64{ratio * 0.96, ratio * 1.05}, Samples: 6, Verdict: compare.Faster}
		if ratio*0.96 <= 1 {
			c.Verdict = compare.NotDecided
		}
		return c
	}
	switch {
	case len(m.Slices) > 0:
		m.turns(&a)
	case m.Kind == record.KindLadder:
		a.NoiseFloor = &[2]float64{0.981, 1.022}
		for i, v := range m.Variants {
			row := compare.Row{Name: v.Name, Change: v.Change, ToBaseline: compared(m.Variants[0].Name, v.Name), Median: m.Limits[v.Name]}
			if i > 0 {
				before := compared(m.Variants[i-1].Name, v.Name)
				row.ToBefore = &before
			}
			a.Rows = append(a.Rows, row)
		}
	case m.Kind == record.KindSweep:
		a.Inflected = []view.Inflection{
			{Run: "unbuffered, sweep, round 1, 10,000/s", AtS: 2.1, Joint: true, Text: "the rate fell by 45%, p99 rose to 820 ms and GC paused for 240 ms"},
			{Run: "sharded-8x512, sweep, round 2, 10,000/s", AtS: 4, Text: "p99 rose to 640 ms"},
		}
	case m.Kind == record.KindCompare:
		c := compared(m.Variants[0].Name, m.Variants[1].Name)
		c.NoiseFloor = &[2]float64{0.97, 1.04}
		a.Comparison, a.NoiseFloor = &c, c.NoiseFloor
	}
	return a
}

// Report builds the view model from the fixed analysis.
func (m *Made) Report() *report.Report { return report.Assemble(m.Experiment, m.Analysis()) }

// Write puts the experiment into a folder, as a producer would, and reads it back.
func (m *Made) Write(t testing.TB) *record.Experiment {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "experiment")
	order := m.Order
	m.Order = nil
	if err := folder.New(dir, m.Experiment); err != nil {
		t.Fatal(err)
	}
	for i, r := range m.Runs {
		w := folder.Create(m.RunDir(r.ID))
		for j, win := range r.Series {
			hists := map[string]*hdrhistogram.Histogram{}
			if i == 0 && j%10 == 0 { // enough for a percentile curve, and quick
				response, service := record.NewHistogram(), record.NewHistogram()
				for k := range 400 {
					at := float64(k) / 400
					response.RecordValue(int64(2e6 / (1.02 - at)))
					service.RecordValue(int64(1e6 / (1.1 - at)))
				}
				hists[record.HistResponse+".202"], hists[record.HistService] = response, service
			}
			if err := w.Window(win, hists); err != nil {
				t.Fatal(err)
			}
		}
		if w.Close(r); r.Unwritten != nil {
			t.Fatal(r.Unwritten)
		}
	}
	m.Order = order
	if folder.Save(m.Experiment); m.Unwritten != nil {
		t.Fatal(m.Unwritten)
	}
	e, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
