package report

import (
	"fmt"

	"dyno/lab/record"
	"dyno/lab/report/series"
)

// load reads a single load: its first run in detail.
func (r *Report) load(e *record.Experiment, a Analysis) {
	if len(e.Runs) == 0 {
		return
	}
	run := e.Runs[0]
	r.Load = &series.Load{Run: run}
	if r.SLO.Latency == nil && r.SLO.Gauges == nil {
		r.SLO = run.SLO
	}
	if v, judged := a.Verdicts[run.ID]; judged {
		r.Load.Verdict = &v
		r.Warnings = append(r.Warnings, v.Warnings...)
	}
	r.Warnings = append(r.Warnings, run.Warnings...)
	if err := r.Load.ReadTails(); err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the percentile curve is missing: %v", err))
	}
}
