package findings

import (
	"testing"
	"time"

	"dyno/lab/record"
)

// minute is a run of a minute of a process that may use both of its machine's cores.
func minute(cpu float64, gauges func(i int) map[string]float64) *record.Run {
	r := series(600, func(i int) *record.Server {
		s := &record.Server{CPU: cpu}
		if gauges != nil {
			s.Gauges = gauges(i)
		}
		return s
	})
	r.Target.Procs = 2
	return r
}

func TestAutoscaler(t *testing.T) {
	aging := func(i int) map[string]float64 { return map[string]float64{"oldest_age_seconds": float64(i) / 60} }
	fresh := func(i int) map[string]float64 { return map[string]float64{"oldest_age_seconds": 0.01} }
	spun := func(busy float64, of stacksOf) func(*testing.T) Subject {
		return func(t *testing.T) Subject {
			s := withCPU(t, of)
			s.Other = []*record.Run{minute(busy, nil)}
			return s
		}
	}
	waits := stacksOf{"internal/sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < main.put" + handler: sampled(1.2), "main.work" + handler: sampled(0.8)}
	works := stacksOf{"main.work" + handler: sampled(2)}
	missing := func(cpu float64) func(*testing.T) Subject {
		return func(t *testing.T) Subject {
			r := minute(cpu, nil)
			r.SLO.Latency = map[string]float64{"p99": 20}
			return others(r)
		}
	}
	// The oldest work is 2 s old from the start, and the CPU is busy only after this many seconds.
	later := func(seconds int) func(*testing.T) Subject {
		return func(t *testing.T) Subject {
			r := minute(0.2, func(int) map[string]float64 { return map[string]float64{"oldest_age_seconds": 2} })
			for i := seconds * 10; i < len(r.Series); i++ {
				r.Series[i].Server.CPU = 2
			}
			return others(r)
		}
	}
	closed := minute(0.6, aging)
	closed.Load.Model = "closed"
	// Slices of 1 s in which the process used cpu cores. ages are those of its oldest work, one per
	// slice; all slices but the first missed the SLO.
	inTurns := func(cpu float64, ages ...float64) func(*testing.T) Subject {
		return func(t *testing.T) Subject {
			e := &record.Experiment{SLO: record.SLO{Gauges: map[string]float64{"oldest_age_seconds": 0.5}}}
			for i, age := range ages {
				e.Slices = append(e.Slices, record.Slice{Kind: record.SliceSLO, Role: record.RoleMeasure, Variant: "v", Length: time.Second,
					Served: 700, TargetCPU: cpu, Met: i == 0, Gauges: map[string]float64{"oldest_age_seconds": age}})
			}
			limited, other := e.Slices[1], e.Slices[1]
			limited.Limited, other.Variant = "the generator", "w"
			e.Slices = append(e.Slices, limited, other)
			return Subject{Experiment: e, Variant: "v", Saturated: []*record.Run{closed}}
		}
	}
	check(t, []expectation{
		{name: "never, in most slices", kind: KindAutoscaler, fires: true, subject: inTurns(0.6, 9, 2, 0.1, 1.4),
			evidence: map[string]float64{"replicas_by_cpu": 1, "replicas_by_oldest_age_seconds": 3, "cpu_highest": 0.3}, words: []string{"At 700/s", "would never have scaled"}},
		{name: "in half of the slices", kind: KindAutoscaler, subject: inTurns(0.6, 9, 2, 0.1)},
		{name: "in a single slice", kind: KindAutoscaler, subject: inTurns(0.6, 9, 2)},
		{name: "slices for want of CPU", kind: KindAutoscaler, subject: inTurns(2, 9, 1, 1, 1)},
		{name: "slices that missed it for another reason", kind: KindAutoscaler, subject: inTurns(0.6, 9, 0.1, 0.1)},
		{name: "never", kind: KindAutoscaler, fires: true, subject: func(t *testing.T) Subject { return others(minute(0.6, fresh), minute(0.6, aging)) },
			evidence: map[string]float64{"replicas_by_cpu": 1, "replicas_by_oldest_age_seconds": 9, "cpu_highest": 0.3}, words: []string{"would never have scaled", "oldest_age_seconds asked for 9"}},
		{name: "late", kind: KindAutoscaler, fires: true, subject: later(45), words: []string{"would have scaled 45 s later"}},
		{name: "one period late", kind: KindAutoscaler, subject: later(15)},
		{name: "in time", kind: KindAutoscaler, subject: func(t *testing.T) Subject { return others(minute(2, aging)) }},
		{name: "nothing grows old", kind: KindAutoscaler, subject: func(t *testing.T) Subject { return others(minute(0.6, fresh)) }},
		{name: "a closed loop", kind: KindAutoscaler, subject: func(t *testing.T) Subject { return others(closed) }},
		{name: "the SLO is missed all the same", kind: KindAutoscaler, fires: true, subject: missing(0.6), evidence: map[string]float64{"p99": 40}, words: []string{"p99 was 40 ms and not 20 ms"}},
		{name: "the SLO is missed for want of CPU", kind: KindAutoscaler, subject: missing(1.6)},
		{name: "for nothing", kind: KindAutoscaler, fires: true, subject: spun(1.9, waits), evidence: map[string]float64{"waiting_share": 0.6, "cpu_computing": 0.38}, words: []string{"2 replicas for nothing"}},
		{name: "for something", kind: KindAutoscaler, subject: spun(1.9, works)},
		{name: "would not have scaled", kind: KindAutoscaler, subject: spun(1, waits)},
	})
}

func TestConnectionLimit(t *testing.T) {
	run := func(cpu, pool, limit float64) func(*testing.T) Subject {
		return func(t *testing.T) Subject {
			r := minute(cpu, nil)
			r.Totals.Server.Gauges = map[string]float64{"db_max_open": pool, "other_max_open_files": 1e6}
			if limit > 0 {
				r.Totals.Server.Gauges["db_max_connections"] = limit
			}
			return others(r)
		}
	}
	check(t, []expectation{
		{name: "two pools are too many", kind: KindConnectLimit, fires: true, subject: run(2, 60, 0), evidence: map[string]float64{"connection_limit": 100, "replicas": 2}, words: []string{"PostgreSQL's default", "from replica 2 on"}},
		{name: "the database takes them", kind: KindConnectLimit, subject: run(2, 60, 500)},
		{name: "small pools", kind: KindConnectLimit, subject: run(2, 20, 0)},
		{name: "one replica", kind: KindConnectLimit, subject: run(0.5, 60, 0)},
		{name: "one replica's pool already", kind: KindConnectLimit, fires: true, subject: run(0.5, 60, 50), words: []string{"One replica's pool", "db_max_connections"}},
	})
}
