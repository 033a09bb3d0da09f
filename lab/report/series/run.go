package series

import (
	"dyno/lab/capacity"
	"dyno/lab/record"
	"dyno/lab/report/figure"
	"dyno/lab/report/words"
)

// Run is one line of the list of runs.
type Run struct {
	ID        string
	Role      string
	Variant   string
	Round     int
	Offered   figure.Value // per second
	Achieved  figure.Value
	Delivered figure.Value
	P50, P99  figure.Value // ms, of the latency that the SLO bounds
	Errors    figure.Value // share of offers
	CPU       figure.Value // us per request
	Met       bool
	Judged    bool   // the run has an SLO
	Unjudged  string // why the run neither met nor missed its SLO
	Misses    []string
	Invalid   string
	Warnings  []string
}

// NewRun reads the line of a run; a nil verdict means that the run was not judged.
func NewRun(r *record.Run, verdict *capacity.Verdict) Run {
	t, q := r.Totals, r.SLO.Observed(r.Totals)
	v, judged := capacity.Verdict{}, verdict != nil
	if judged {
		v = *verdict
	}
	out := Run{
		ID: r.ID, Role: r.Step.Role, Variant: r.Step.Variant, Round: r.Step.Round,
		Offered: figure.Measured(t.OfferedPerS), Achieved: figure.Value(t.AchievedPerS), Delivered: figure.Measured(t.DeliveredPerS),
		P50: figure.Measured(q.P50), P99: figure.Measured(q.P99), Errors: figure.Value(t.ErrorShare()), CPU: figure.Unknown,
		Met: v.Met, Judged: judged, Unjudged: words.Unjudged(v), Misses: words.Missed(&v), Invalid: r.Invalid, Warnings: r.Warnings,
	}
	if t.ReceiveOnly() {
		out.Achieved = figure.Value(t.FramesPerS())
	}
	if t.Server != nil {
		out.CPU = figure.Measured(t.Server.CPUMicrosPerRequest)
	}
	if r.Step.Role == record.RoleProfile {
		out.P50, out.P99 = figure.Unknown, figure.Unknown // profiling adds latency
	}
	return out
}

// RunOf is the line of one run, judged by its own SLO.
func RunOf(r *record.Run) Run {
	if !words.Bounded(r.SLO) {
		return NewRun(r, nil)
	}
	v := capacity.Judge(r)
	return NewRun(r, &v)
}

// MostInvalid is the most frequent reason why runs do not count.
func MostInvalid(runs []Run) (most string) {
	times := map[string]int{}
	for _, r := range runs {
		times[r.Invalid]++
	}
	for _, r := range runs {
		if times[r.Invalid] > times[most] || most == "" {
			most = r.Invalid
		}
	}
	return most
}
