package record

import "fmt"

// Bounds past which something else than the target had a part in what a run shows.
const (
	// GeneratorBusy is the share of its core at which a sending thread counts as the limit: past it,
	// what arrives late was late to be sent.
	GeneratorBusy = 0.8
	// lagShare is the part of the reported p99 that the generator's own p99 send-lag may be.
	lagShare = 0.25
	// targetBusy is the share of the machine above which the target, with the companions that work for it on
	// the same machine, is busy enough that send-lag is its doing rather than the generator's.
	targetBusy = 0.7
	// neighbourShare is the part of the machine that processes the lab did not start may use.
	neighbourShare = 0.10
	// delayed is the run-queue delay of the target, in seconds per second, below which neighbours did
	// not get in its way however much they used.
	delayed = 0.02
)

// Judge fills in Totals.Generator.Limited, Invalid and Disturbed from what was recorded. A run is invalid only when the
// load generator was the limit: then it says nothing of the target. Latency counts from the intended send time, so
// neighbours and a late generator can only make it look worse: they disturb a run, and do not undo it.
func (r *Run) Judge() {
	late := r.judgeGenerator()
	switch g := r.Totals.Generator; {
	case r.Invalid != "":
	case g.Limited:
		r.Invalid = "the load generator was the limit: " + g.Why
	default:
		r.Disturbed = r.neighbours()
		if r.Disturbed == "" {
			r.Disturbed = late
		}
	}
}

// neighbours says what other processes took while the target waited for a CPU; empty: little.
func (r *Run) neighbours() string {
	if !r.Around.Seen || r.Machine.Cores == 0 {
		return ""
	}
	cores := float64(r.Machine.Cores)
	share := r.Around.OthersCPU / cores
	if share <= neighbourShare || r.Around.TargetDelay <= delayed {
		return ""
	}
	return fmt.Sprintf("other processes took %.0f%% of the machine (%.0f%% steal)", share*100, r.Around.StealCPU/cores*100)
}

// judgeGenerator decides whether the generator rather than the target set the pace, and says when it only sent late.
func (r *Run) judgeGenerator() (late string) {
	g := &r.Totals.Generator
	g.Limited, g.Why = false, ""
	observed, lagMs := r.SLO.Observed(r.Totals).P99, r.Totals.Lag.P99/1000
	working := r.Around.TargetCPU + r.Around.CompanionCPU
	idle := r.Machine.Cores > 0 && r.Around.Seen && working/float64(r.Machine.Cores) < targetBusy
	open := r.Load.Model == "open"
	lagged := open && observed > 0 && lagMs > lagShare*observed && lagMs > 1 && idle
	if g.BusiestThread >= GeneratorBusy && (!open || lagged) {
		g.Limited, g.Why = true, fmt.Sprintf("its busiest thread used %.0f%% of a core", g.BusiestThread*100)
	}
	if lagged {
		return fmt.Sprintf("the load generator was woken late (p99 %.1f ms), so the p99 of %.1f ms is an upper bound", lagMs, observed)
	}
	return ""
}
