package reporttest

import (
	"fmt"
	"math"
	"time"

	"dyno/lab/record"
)

// Job is an experiment of a job over concurrency.
type Job struct{ *record.Experiment }

// NewJob is an experiment without runs.
func NewJob(kind string) Job {
	slo, err := record.ParseSLO("p95=200ms,errors=0.1%")
	if err != nil {
		panic(err)
	}
	e := New(kind, "p95=200ms,errors=0.1%").Experiment
	e.Name, e.Service, e.SLO, e.Command, e.Scenario, e.Variants = "batches", "batches", slo, []string{"dyno", "run", "scenarios/batches.yaml"}, "name: batches\n", nil
	return Job{e}
}

// AddJobRun adds a run with x units per second at concurrency n.
func (m Job) AddJobRun(role, variant string, round, n int, x float64, bound map[string]float64) *record.Run {
	r := &record.Run{Version: record.Version, SLO: m.SLO, Machine: m.Machine, Length: 4 * time.Second,
		Spec: record.RunSpec{Role: role, Variant: variant, Round: round, Closed: true, Connections: n, Length: 4 * time.Second},
		Load: record.LoadInfo{Kind: record.KindJobs, Model: "closed", Engine: "job", Connections: n, Schedule: fmt.Sprintf("%d units in flight", n)}}
	r.ID = fmt.Sprintf("%s-%s-%d-%d", role, variant, round, n)
	ms := float64(n) / x * 1000
	done := int64(4 * x)
	r.Totals = record.Totals{Offered: done, Ended: done, Completed: done, OfferedPerS: x, ThroughputPerS: x,
		Response: record.Quantiles{P50: 0.8 * ms, P90: 1.1 * ms, P95: 1.3 * ms, P99: 1.9 * ms, P999: 2 * ms, Max: 2 * ms, Mean: ms},
		Server:   &record.ServerTotals{CPUMicrosPerRequest: 1800, AllocsPerRequest: 120, BytesPerRequest: 40000, PeakRSS: 90 << 20}}
	for k := range 40 {
		r.Series = append(r.Series, record.Window{Start: int64(k) * int64(record.WindowLength), Phase: record.PhaseMeasure,
			Client: record.Client{Offered: done / 40, Ended: done / 40, P50Ms: 0.8 * ms, P99Ms: 1.9 * ms}, Server: &record.Server{Gauges: bound}})
	}
	m.Runs, m.Order = append(m.Runs, r), append(m.Order, r.ID)
	return r
}

// JobLadder is three steps: one after the other, in parallel up to a server's budget, and with a
// larger one.
func JobLadder() *record.Experiment {
	m := NewJob(record.KindLadder)
	for _, v := range []struct {
		name, change string
		roof         float64
		best         int
	}{{"plain", "the plain program", 40, 1}, {"shards", "ranges are fetched side by side", 240, 6}, {"scan", "answers are scanned, not decoded", 420, 11}} {
		m.Variants = append(m.Variants, record.Variant{Name: v.name, Change: v.change})
		bound := map[string]float64{"bound_server": 0.85, "bound_cpu": 0.1}
		for _, n := range []int{1, 2, 4, 6, 8, 11, 16, 32} {
			if v.name == "plain" && n > 1 {
				break
			}
			m.AddJobRun(record.RoleSearch, v.name, 0, n, min(40*float64(n), v.roof)*(1+0.01*math.Sin(float64(n))), bound)
		}
		for round := 1; round <= 6; round++ {
			m.AddJobRun(record.RoleMeasure, v.name, round, v.best, min(40*float64(v.best), v.roof)*(1+0.004*float64(round%3)), bound)
		}
	}
	for round := 1; round <= 6; round++ {
		m.AddJobRun(record.RoleControl, "plain", round, 1, 40*(1+0.004*float64((round+1)%3)), nil)
	}
	return m.Experiment
}

// Spans is a sweep over three loads per job, by a model with a peak.
func Spans() *record.Experiment {
	m := NewJob(record.KindSweep)
	for _, span := range []struct {
		units int
		at    []int
	}{{100, []int{16, 32, 64, 96, 128}}, {1000, []int{32, 64, 128, 256, 384}}, {5000, []int{64, 128, 256, 512, 768}}} {
		name := fmt.Sprintf("span-%d", span.units)
		m.Variants = append(m.Variants, record.Variant{Name: name, Units: span.units})
		for _, n := range span.at {
			x := 85 * math.Log2(float64(n)) * math.Exp(-0.0032*float64(span.units)/float64(n))
			m.AddJobRun(record.RoleSweep, name, 1, n, x*(1+0.01*math.Cos(float64(n))), nil)
		}
	}
	return m.Experiment
}
