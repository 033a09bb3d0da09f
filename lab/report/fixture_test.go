package report

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

	"github.com/HdrHistogram/hdrhistogram-go"
)

// made is a service that never was: a variant's latency grows as 1/(1-load/limit), and past its limit a
// queue fills.
type made struct {
	*record.Experiment
	limits map[string]float64 // per second
	rng    *rand.Rand

	diagnoses []diagnose.Diagnosis
	cost      map[string]float64 // by turns: us of CPU per request
}

var madeMachine = record.Machine{
	OS: "linux", Arch: "amd64", CPU: "Imaginary 9000", Cores: 2, MemoryGiB: 7.75, Kernel: "6.12.0", Go: "go1.26.0",
	Settings: map[string]string{"somaxconn": "4096", "transparent_hugepage": "madvise", "autogroup": "1"},
}

// hostile is what a name must not be able to do.
const hostile = `</script><img src=x onerror=alert(1)>`

func newMade(kind string, slo string) *made {
	s, err := record.ParseSLO(slo)
	if err != nil {
		panic(err)
	}
	return &made{
		Experiment: &record.Experiment{
			Version: record.Version, Name: "notify", Kind: kind, Service: "notifyd", SLO: s, Machine: madeMachine,
			Started: time.Date(2026, 3, 4, 10, 20, 30, 0, time.UTC), Metric: compare.MetricCapacity,
			Command:  []string{"dyno", "run", "scenarios/notify.yaml", "--thorough"},
			Scenario: "name: notify\nslo: " + slo + "\n", Dir: "runs/20260304-notify",
		},
		limits: map[string]float64{}, rng: rand.New(rand.NewPCG(1, 2)),
	}
}

func (m *made) variant(name, change, why string, limit float64, args ...string) {
	m.Variants = append(m.Variants, record.Variant{Name: name, Change: change, Why: why, Args: args})
	m.limits[name] = limit
}

// times of a made-up run, in windows of 100 ms.
const (
	warmWindows    = 20
	measureWindows = 60
	drainWindows   = 5
	profileWindows = 10
)

// run adds a run under a rate.
func (m *made) run(role, variant string, round int, perSecond float64) *record.Run {
	limit := m.limits[variant] * (1 + 0.01*m.rng.NormFloat64())
	load := perSecond / limit
	carried := min(perSecond, limit)
	p50, p99 := 2/(1-min(load, 0.9)), 9/(1-min(load, 0.9))
	if load > 1 {
		p50, p99 = p50*(1+10*(load-1)), p99*(1+20*(load-1))
	}
	seconds := float64(measureWindows) / 10
	cost := 2e6 / limit // us of two cores
	step := record.Step{Role: role, Variant: variant, Round: round, Rate: perSecond}
	n := func(v float64) int64 { return int64(v*seconds + 0.5) }
	r := &record.Run{
		Version: record.Version, ID: m.NextID(step), Step: step, SLO: m.SLO, Machine: m.Machine, Started: m.Started.Add(time.Duration(len(m.Runs)) * 10 * time.Second),
		Load: record.Load{Kind: "requests", Model: "open", Engine: "raw-epoll", Schedule: fmt.Sprintf("poisson %.0f/s", perSecond), URL: "http://127.0.0.1:8080/v1/notices", Connections: 64},
		Target: record.Target{Command: []string{"notifyd", "--listen", "127.0.0.1:0", "--assembly", variant},
			Assembly: []byte(`{"queue":"ring","sender":"pooled","settings":{"workers":256}}`)},
		Begin: 1e12, Length: measureWindows * record.WindowLength,
	}
	t := &r.Totals
	t.Offered, t.Sent, t.Ended, t.Delivered = n(perSecond), n(perSecond), n(carried), n(carried)
	t.Unfinished, t.Completed = t.Offered-t.Ended, t.Ended
	t.OfferedPerS, t.AchievedPerS, t.DeliveredPerS = perSecond, carried, carried
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
func (m *made) series(r *record.Run, offered, carried, p50, p99, cost float64) {
	backlog := 0.0
	for i := -warmWindows; i < measureWindows+drainWindows+profileWindows; i++ {
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
				Offered: int64(in), Sent: int64(in), Completed: int64(out), Delivered: int64(out), Backlog: int64(backlog),
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

// madeLadder is six variants over six rounds, with some runs that do not count.
func madeLadder() *made {
	m := newMade(record.KindLadder, "delivery,p99=100ms,errors=0.1%")
	m.variant("baseline", "the plain program", "what a good engineer writes on the first day", 3100)
	m.variant("reuse", "connections reused", "a handshake costs more than the request it carries", 5200, "--assembly=reuse")
	m.variant("workers", "workers sized by Little's law", "rate x service time in flight, and no more", 6100, "--assembly=workers")
	m.variant("prepared", "body and signature prepared once", "the same bytes were signed for every attempt", 6200, "--assembly=prepared")
	m.variant("batch", "batches to subscribers that ask for them", "one request carries up to 100 notices", 9800, "--assembly=batch")
	m.variant("commit", "group commit", "waiting writers share one fsync", 12400, "--assembly=commit")
	for _, v := range m.Variants {
		for _, share := range []float64{0.25, 0.5, 0.7, 0.85, 0.95, 1.1, 1.3} {
			m.run(record.RoleSearch, v.Name, 0, m.limits[v.Name]*share)
		}
	}
	for round := 1; round <= 6; round++ {
		for _, v := range m.Variants {
			m.run(record.RoleMeasure, v.Name, round, m.limits[v.Name]*0.9)
			m.run(record.RoleMeasure, v.Name, round, m.limits[v.Name]*1.02)
		}
		m.run(record.RoleFloor, "baseline", round, m.limits["baseline"]*0.9)
		m.run(record.RoleFloor, "baseline", round, m.limits["baseline"]*1.02)
	}
	m.Runs[3].Invalid = "other processes took 31% of the machine (steal included) while the target waited 0.40 s per second for a CPU"
	m.Runs[60].Warnings = []string{"other processes took 12% of the machine"}
	m.Warnings = []string{"the machine has 2 cores: generator and service shared them"}
	return m
}

// madeSweep is three queues under a list of rates; the last one gives way.
func madeSweep() *made {
	m := newMade(record.KindSweep, "p99=60ms,errors=5%")
	m.Name, m.Service = "notify-queues", "notifyd"
	m.variant("unbuffered", "a channel without a buffer", "", 7000, "--buffer=0")
	m.variant("buffered-1024", "a channel of 1,024", "", 7800, "--buffer=1024")
	m.variant("sharded-8x512", "8 shards of 512", "", 8000, "--buffer=8x512")
	rooms := map[string]float64{"unbuffered": 9, "buffered-1024": 1032, "sharded-8x512": 4104}
	for _, rate := range []float64{1000, 2000, 4000, 6000, 8000, 10000} {
		for _, v := range m.Variants {
			for round := 1; round <= 2; round++ {
				r := m.run(record.RoleSweep, v.Name, round, rate)
				refused := max(0, rate-m.limits[v.Name])
				r.Totals.Failed = int64(refused * 6)
				r.Totals.Unfinished = 0
				r.Totals.Ended, r.Totals.Completed = r.Totals.Offered, r.Totals.Offered
				r.Totals.AchievedPerS = rate
				r.Totals.Response.P99 *= 0.2 + math.Log10(rooms[v.Name])/4
				for i := range r.Series {
					r.Series[i].Client.Refused = int64(refused / 10)
				}
				r.Totals.Server.Gauges = map[string]float64{GaugeRoom: rooms[v.Name], GaugeServers: 8, GaugeService: 1000}
			}
		}
	}
	return m
}

// madeLoad is a single load.
func madeLoad(model string) *made {
	m := newMade(record.KindLoad, "p99=60ms,errors=0.1%")
	m.Name, m.Service, m.Scenario, m.Variants = "load", "load", "", nil
	m.limits[""] = 9000
	m.Command = []string{"dyno", "load", "http://127.0.0.1:8080/submit", "-r", "5000", "-H", "X-Team: it's us"}
	r := m.run(record.RoleSingle, "", 0, 5000)
	r.Step.Variant, r.Load.Model = "", model
	r.Totals.Errors = map[string]int64{"timeout": 12, "reset": 3, "refused": 0}
	r.Totals.Status = map[string]int64{"202": 29900, "503": 85}
	r.Totals.Failed = 100
	r.Totals.Classes = map[string]record.Quantiles{"read": r.Totals.Service, "write": r.Totals.Response}
	return m
}

// madeCompare is two variants in pairs.
func madeCompare() *made {
	m := newMade(record.KindCompare, "p99=60ms,errors=0.1%")
	m.variant("baseline", "", "", 3000)
	m.variant("tuned", "a larger GOGC", "", 4200, "--set", "gogc=400")
	for round := 1; round <= 7; round++ {
		for _, v := range m.Variants {
			m.run(record.RoleMeasure, v.Name, round, m.limits[v.Name]*0.85)
			m.run(record.RoleMeasure, v.Name, round, m.limits[v.Name]*1.02)
		}
	}
	return m
}

// analysis is what the analyses would say, fixed, so that golden files hold this package and no other.
func (m *made) analysis() analysis {
	a := analysis{verdicts: map[string]capacity.Verdict{}, errors: map[string]float64{}, capacities: map[string]capacity.Result{}, diagnoses: m.diagnoses}
	for _, r := range m.Runs {
		if r.Step.Diagnostic() {
			continue
		}
		met := r.Step.Rate <= m.limits[r.Step.Variant]*0.96
		v := capacity.Verdict{Met: met}
		if !met {
			v.Misses = []string{"p99 was over its bound"}
		}
		a.verdicts[r.ID] = v
	}
	a.sample = func(role, variant string, round int) (float64, bool) {
		return m.limits[variant] * (1 + 0.004*float64(round%3-1)), true
	}
	for _, v := range m.Variants {
		c := m.limits[v.Name]
		res := capacity.Result{Variant: v.Name, SLO: m.SLO, CapacityPerS: c, Interval: &[2]float64{c * 0.97, c * 1.03}, Data: make([]float64, 6), Valid: true}
		for _, r := range m.Runs {
			if r.Step.Variant == v.Name && !r.Step.Diagnostic() {
				q := r.SLO.Observed(r.Totals)
				res.Steps = append(res.Steps, capacity.Step{OfferedPerS: r.Totals.OfferedPerS, AchievedPerS: r.Totals.AchievedPerS, P50Ms: q.P50, P99Ms: q.P99, P999Ms: q.P999, CPU: 1.2, Variation: 0.02, Met: a.verdicts[r.ID].Met, Invalid: r.Invalid})
			}
		}
		a.capacities[v.Name] = res
	}
	compared := func(x, y string) compare.Comparison {
		ratio := m.limits[y] / m.limits[x]
		c := compare.Comparison{Metric: compare.MetricCapacity, A: x, B: y, Ratio: ratio, Interval: &[2]float64{ratio * 0.96, ratio * 1.05}, Pairs: 6, Verdict: compare.Faster}
		if ratio*0.96 <= 1 {
			c.Verdict = compare.NotDecided
		}
		return c
	}
	switch {
	case len(m.Slices) > 0:
		m.turns(&a)
	case m.Kind == record.KindLadder:
		a.floor = &[2]float64{0.981, 1.022}
		for i, v := range m.Variants {
			row := compare.Row{Name: v.Name, Change: v.Change, ToBaseline: compared(m.Variants[0].Name, v.Name), Median: m.limits[v.Name]}
			if i > 0 {
				before := compared(m.Variants[i-1].Name, v.Name)
				row.ToBefore = &before
			}
			a.rows = append(a.rows, row)
		}
	case m.Kind == record.KindSweep:
		a.inflected = []Inflection{
			{Run: "unbuffered, sweep, round 1, 10,000/s", AtS: 2.1, Joint: true, InWords: "the rate fell by 45%, p99 rose to 820 ms and GC paused for 240 ms"},
			{Run: "sharded-8x512, sweep, round 2, 10,000/s", AtS: 4, InWords: "p99 rose to 640 ms"},
		}
	case m.Kind == record.KindCompare:
		c := compared(m.Variants[0].Name, m.Variants[1].Name)
		c.Floor = &[2]float64{0.97, 1.04}
		a.comparison, a.floor = &c, c.Floor
	}
	return a
}

// report builds the view model from the fixed analysis.
func (m *made) report() *Report { return build(m.Experiment, m.analysis()) }

// write puts the experiment into a folder, as a producer would, and reads it back.
func (m *made) write(t testing.TB) *record.Experiment {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "experiment")
	order := m.Order
	m.Order = nil
	if err := record.NewExperiment(dir, m.Experiment); err != nil {
		t.Fatal(err)
	}
	for i, r := range m.Runs {
		w, err := record.Create(m.RunDir(r.ID))
		if err != nil {
			t.Fatal(err)
		}
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
		if err := w.Close(r); err != nil {
			t.Fatal(err)
		}
	}
	m.Order = order
	if err := m.Save(); err != nil {
		t.Fatal(err)
	}
	e, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
