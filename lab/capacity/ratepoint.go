package capacity

import "dyno/lab/record"

// RatePoint is one measured rate of a capacity curve.
type RatePoint struct {
	Run     string `json:"run,omitempty"`
	Role    string `json:"role,omitempty"`
	Round   int    `json:"round,omitempty"`
	Confirm bool   `json:"hold,omitempty"`
	// units in flight, of jobs driven by concurrency
	Concurrency    int              `json:"concurrency,omitempty"`
	Sessions       *record.Sessions `json:"sessions,omitempty"`
	OfferedPerS    float64          `json:"offered_per_s"`
	ThroughputPerS float64          `json:"achieved_per_s"`
	DeliveredPerS  float64          `json:"delivered_per_s,omitempty"`
	P50Ms          float64          `json:"p50_ms"`           // of the latency that the SLO bounds
	P95Ms          float64          `json:"p95_ms,omitempty"` // of jobs driven by concurrency
	P99Ms          float64          `json:"p99_ms"`
	P999Ms         float64          `json:"p999_ms"`
	Errors         float64          `json:"errors"`                       // share of requests
	CPU            float64          `json:"cpu"`                          // cores the target used
	CPUPerRequest  float64          `json:"cpu_us_per_request,omitempty"` // us
	GCShare        float64          `json:"gc_share,omitempty"`           // of the target's CPU
	GCPauseP99Ms   float64          `json:"gc_pause_p99_ms,omitempty"`
	PeakGoroutines int64            `json:"peak_goroutines,omitempty"`
	// each gauge's maximum, such as a queue depth
	Gauges    map[string]float64 `json:"gauges,omitempty"`
	Variation float64            `json:"variation"` // coefficient of variation of the achieved rate
	// time shares that a job reported per limit
	Limits  []record.WaitLimit `json:"limits,omitempty"`
	Met     bool               `json:"met"`
	Misses  []string           `json:"misses,omitempty"`
	Invalid string             `json:"invalid,omitempty"`
}

// ratePointOf reads a run as a point of the curve. A run with too few completions is judged by its
// bounds too; Summarise warns about it.
func ratePointOf(r *record.Run, slo record.SLO) RatePoint {
	t := r.Totals
	seen := slo.Observed(t)
	s := RatePoint{
		Run: r.ID, Role: r.Spec.Role, Round: r.Spec.Round, Confirm: r.Spec.Confirm,
		OfferedPerS: t.OfferedPerS, ThroughputPerS: t.ThroughputPerS, DeliveredPerS: t.DeliveredPerS,
		P50Ms: seen.P50, P99Ms: seen.P99, P999Ms: seen.P999,
		Sessions: t.Sessions, Errors: errorShare(t, slo), Variation: t.Variation, Invalid: r.Invalid,
	}
	if r.Axis() == record.AxisConcurrency {
		s.Concurrency, s.P95Ms, s.Limits = r.Spec.Connections, seen.P95, record.WaitsOf(r)
	}
	if r.System.Seen {
		s.CPU = r.System.TargetCPU
	}
	if server := t.Server; server != nil {
		s.CPUPerRequest, s.GCShare, s.GCPauseP99Ms = server.CPUMicrosPerRequest, server.GCShare, server.GCPauseP99Ms
		s.PeakGoroutines, s.Gauges = server.PeakGoroutines, server.Gauges
	}
	if r.Invalid == "" {
		v := checkSLO(r, slo, 0)
		s.Met, s.Misses = v.Met, v.Misses
	}
	return s
}
