package view

import (
	"dyno/lab/capacity"
	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Run is one line of the list of runs.
type Run struct {
	ID           string
	Role         string
	Variant      string
	Round        int
	Offered      format.Value // per second
	Throughput   format.Value // per second; of sessions to which nothing is sent: frames
	Delivered    format.Value // per second
	P50, P99     format.Value // ms, of the latency that the SLO bounds
	Errors       format.Value // share of the requests
	CPU          format.Value // us per request
	Met          bool
	Judged       bool   // the run has an SLO
	Inconclusive string // why the run neither met nor missed its SLO
	Misses       []string
	Invalid      string
	Warnings     []string
}

// NewRun reads the line of a run; a nil verdict means that the run was not judged.
func NewRun(r *record.Run, verdict *capacity.Verdict) Run {
	t, q := r.Totals, r.SLO.Observed(r.Totals)
	v, judged := capacity.Verdict{}, verdict != nil
	if judged {
		v = *verdict
	}
	out := Run{
		ID: r.ID, Role: r.Spec.Role, Variant: r.Spec.Variant, Round: r.Spec.Round,
		Offered: format.Measured(t.OfferedPerS), Throughput: format.Value(t.ThroughputPerS), Delivered: format.Measured(t.DeliveredPerS),
		P50: format.Measured(q.P50), P99: format.Measured(q.P99), Errors: format.Value(t.ErrorShare()), CPU: format.Unknown,
		Met: v.Met, Judged: judged, Inconclusive: format.Inconclusive(v), Misses: format.Missed(&v), Invalid: r.Invalid, Warnings: r.Warnings,
	}
	if t.ReceiveOnly() {
		out.Throughput = format.Value(t.FramesPerS())
	}
	if t.Server != nil {
		out.CPU = format.Measured(t.Server.CPUMicrosPerRequest)
	}
	if r.Spec.Role == record.RoleProfile {
		out.P50, out.P99 = format.Unknown, format.Unknown // profiling adds latency
	}
	return out
}

// RunOf is the line of one run, judged by its own SLO.
func RunOf(r *record.Run) Run {
	if !r.SLO.Bounded() {
		return NewRun(r, nil)
	}
	v := capacity.CheckSLO(r)
	return NewRun(r, &v)
}
