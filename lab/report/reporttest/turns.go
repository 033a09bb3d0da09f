package reporttest

import (
	"math"
	"time"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report"
)

// Turns is an experiment by turns: a ladder of the seven steps of the notification dispatcher,
// or the first of them.
func Turns(kind string) *Made {
	m := New(kind, "delivery,p99=100ms,errors=0.1%")
	add := m.byTurns()
	add("plain", "the program of the first day", "", 1980, 350)
	add("baseline", "the same, assembled from parts", "the same within the noise of this machine, so the seams cost nothing", 2010, 315)
	switch kind {
	case record.KindCapacity:
		m.Variants = m.Variants[:1]
	case record.KindLadder:
		add("reuse", "connections reused", "a handshake costs more than the request it carries", 2050, 294)
		add("workers", "workers sized by Little's law", "rate x service time in flight, and no more", 3900, 239)
		add("prepared", "body and signature prepared once", "the same bytes were signed for every attempt", 4300, 210)
		add("batch", "batches to subscribers that ask for them", "one request carries up to 100 notices", 7000, 142)
		add("group", "group commit", "waiting writers share one fsync", 15450, 87.1)
	}
	m.turnsOf()
	m.Slices[3].Invalid = "the target stopped answering"
	return m
}

// byTurns makes the experiment one by turns, and returns what adds a variant to it, with its peak
// work rate per second and its us of CPU per request.
func (m *Made) byTurns() (add func(name, change, why string, perSecond, cost float64)) {
	m.Budget, m.cost, m.Metric = 4*time.Minute, map[string]float64{}, ""
	return func(name, change, why string, perSecond, cost float64) {
		m.AddVariant(name, change, why, perSecond, "--assembly="+name)
		m.cost[name] = cost
	}
}

// turnsOf makes the slices of 24 rounds.
func (m *Made) turnsOf() {
	at := int64(1e12)
	for block := 1; block <= 24; block++ {
		for _, v := range m.Variants {
			at = m.turn(record.RoleMeasure, v.Name, block, at)
		}
		if m.Kind != record.KindCapacity {
			at = m.turn(record.RoleControl, m.Variants[0].Name, block, at)
		}
	}
}

// turn adds a work slice and every third round an SLO slice.
func (m *Made) turn(role, variant string, block int, at int64) int64 {
	noise := func(share float64) float64 { return math.Exp(share * m.rng.NormFloat64()) }
	s := record.Slice{Role: role, Variant: variant, Generation: 1 + (block-1)/8, Block: block, Start: at, Kind: record.SliceWork,
		Steal: 0.12 * noise(0.2), Others: 0.03 * noise(0.2)}
	per := m.Limits[variant] * noise(0.04)
	s.Length = 300 * time.Millisecond
	s.Served = int64(per * 0.3)
	s.Offered, s.TargetCPU, s.Allocs, s.AllocBytes = s.Served, m.cost[variant]*noise(0.02)/1e6*float64(s.Served), -1, -1
	m.Slices = append(m.Slices, s)
	if role == record.RoleMeasure && (block%3 == 0 || m.Kind == record.KindCapacity) {
		at += int64(s.Length)
		load := 0.92 * noise(0.05)
		s.Kind, s.Start, s.Length, s.Rate = record.SliceSLO, at, 800*time.Millisecond, m.Limits[variant]*load
		s.Latency = record.Quantiles{P50: 4, P99: 22 / max(0.05, 1.12-load) * noise(0.2)}
		s.Met = s.Latency.P99 <= 100
		s.Allocs, s.AllocBytes = m.cost[variant]/4*float64(s.Served), m.cost[variant]*30*float64(s.Served)
		m.Slices = append(m.Slices, s)
	}
	return at + int64(s.Length) + 1e8
}

// turns is what the analyses would say of the slices, fixed.
func (m *Made) turns(a *report.Results) {
	compared := func(metric, x, y string, of map[string]float64) compare.Comparison {
		ratio := of[y] / of[x]
		c := compare.Comparison{Schema: compare.Schema, Metric: metric, A: x, B: y, Ratio: ratio, Interval: &[2]float64{ratio * 0.97, ratio * 1.03}, Samples: 24, NoiseFloor: &[2]float64{0.97, 1.03}, Verdict: compare.NotDecided, TimeToDecide: "about 3 minutes more would decide 5%"}
		if more := c.Interval[0] > 1; more || c.Interval[1] < 1 {
			c.Verdict, c.TimeToDecide = compare.Slower, ""
			if more == (metric != compare.MetricCPU) {
				c.Verdict = compare.Faster
			}
		}
		if metric == compare.MetricCapacity {
			c.NoiseFloor = nil
		}
		return c
	}
	rows := func(metric string, of map[string]float64) (out []compare.Row) {
		for i, v := range m.Variants {
			row := compare.Row{Name: v.Name, ToBaseline: compared(metric, m.Variants[0].Name, v.Name, of)}
			if i > 0 {
				before := compared(metric, m.Variants[i-1].Name, v.Name, of)
				row.ToBefore = &before
			}
			out = append(out, row)
		}
		return out
	}
	a.Left = 2
	for name, c := range a.Capacities {
		safe := m.Limits[name] * 0.9
		c.CapacityPerS, c.Interval, c.Data, c.Steps = safe, &[2]float64{safe * 0.87, safe * 1.15}, nil, nil
		c.Rate50PerS, c.Rate50Interval, c.Trials = safe*1.1, &[2]float64{safe * 1.07, safe * 1.13}, 24
		c.PeakWorkPerS, c.PeakWorkInterval = m.Limits[name], &[2]float64{m.Limits[name] * 0.98, m.Limits[name] * 1.02}
		a.Capacities[name] = c
	}
	if m.Kind == record.KindCapacity {
		return
	}
	a.Rows, a.CPU = rows(compare.MetricWork, m.Limits), rows(compare.MetricCPU, m.cost)
	if m.Kind == record.KindCompare {
		x, y := m.Variants[0].Name, m.Variants[1].Name
		a.Metrics = []compare.Comparison{compared(compare.MetricCapacity, x, y, m.Limits), compared(compare.MetricWork, x, y, m.Limits), compared(compare.MetricCPU, x, y, m.cost)}
		a.Comparison = &a.Metrics[0]
	}
}

// EndedEarly is a ladder that a signal, an error or the load generator ended: two rounds of it.
func EndedEarly(status, reason string) *Made {
	m := Turns(record.KindLadder)
	m.Slices = m.Slices[:16]
	m.Outcome = &record.Outcome{Status: status, Reason: reason}
	return m
}
