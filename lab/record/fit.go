package record

import "fmt"

// Thresholds above which a run shows something other than the target.
const (
	// GeneratorBusy is the share of a core above which a sending thread counts as the limit: it
	// sends requests late.
	GeneratorBusy = 0.8
	// lagShare is the share of the reported p99 that the generator's own p99 send-lag may reach.
	lagShare = 0.25
	// targetBusy is the share of the machine that the target and its dependencies must use together
	// for send-lag to count as their doing rather than the generator's.
	targetBusy = 0.7
	// neighbourShare is the share of the machine that processes which the lab did not start may
	// use.
	neighbourShare = 0.10
	// delayed is the run-queue delay of the target, in seconds per second, below which other
	// processes did not slow it down, however much CPU they used.
	delayed = 0.02
)

// Validate fills in Totals.Generator.Limited, Invalid and Disturbed from the recorded figures. A
// run is invalid only if the load generator failed or was the limit: it then says nothing about the
// target. Latency counts from the intended send time, so other processes and a late generator can
// only make it look worse: they disturb a run and do not invalidate it.
func (r *Run) Validate() {
	late := r.validateGenerator()
	switch g := r.Totals.Generator; {
	case r.Invalid != "":
	case g.Failed != "":
		r.Invalid = g.Failed
	case g.Limited:
		r.Invalid = "the load generator was the limit: " + g.Why
	default:
		r.Disturbed = r.neighbours()
		if r.Disturbed == "" {
			r.Disturbed = late
		}
	}
}

// neighbours describes the CPU time that other processes took while the target waited for a CPU;
// empty: they took little.
func (r *Run) neighbours() string {
	if !r.System.Seen || r.Machine.Cores == 0 {
		return ""
	}
	cores := float64(r.Machine.Cores)
	share := r.System.OthersCPU / cores
	if share <= neighbourShare || r.System.TargetDelay <= delayed {
		return ""
	}
	return fmt.Sprintf("other processes took %.0f%% of the machine (%.0f%% steal)", share*100, r.System.StealCPU/cores*100)
}

// validateGenerator decides whether the generator rather than the target set the pace. If it did
// not, but its send-lag was high, it returns a description of that.
func (r *Run) validateGenerator() (disturbed string) {
	g := &r.Totals.Generator
	g.Limited, g.Why = false, ""
	observed := r.SLO.Observed(r.Totals).P99
	lagMs, late := r.Totals.Lateness()
	working := r.System.TargetCPU + r.System.DependencyCPU
	idle := r.Machine.Cores > 0 && r.System.Seen && working/float64(r.Machine.Cores) < targetBusy
	open := r.Load.Model == "open"
	lagged := open && observed > 0 && lagMs > lagShare*observed && lagMs > 1 && idle
	if g.BusiestThread >= GeneratorBusy && (!open || lagged) {
		g.Limited, g.Why = true, fmt.Sprintf("its busiest thread used %.0f%% of a core", g.BusiestThread*100)
	}
	if lagged {
		return fmt.Sprintf("%s was woken late (p99 %.1f ms), so the p99 of %.1f ms is an upper bound", late, lagMs, observed)
	}
	return ""
}
