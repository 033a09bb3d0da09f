package record

import "fmt"

// Bounds past which a run says nothing about its target.
const (
	// generatorBusy is the share of its core at which a sending thread counts as the limit: past it,
	// what arrives late was late to be sent.
	generatorBusy = 0.8
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

// Judge fills in Totals.Generator.Limited and Invalid from what was recorded, and adds a warning for
// what is worth knowing but does not spoil the run.
func (r *Run) Judge() {
	r.judgeGenerator()
	if r.Invalid != "" {
		return
	}
	if g := r.Totals.Generator; g.Limited {
		r.Invalid = "the load generator was the limit: " + g.Why
		return
	}
	if !r.Around.Seen || r.Machine.Cores == 0 {
		return
	}
	share := r.Around.OthersCPU / float64(r.Machine.Cores)
	switch {
	case share > neighbourShare && r.Around.TargetDelay > delayed:
		r.Invalid = fmt.Sprintf("other processes took %.0f%% of the machine (steal included) while the target waited %.2f s per second for a CPU", share*100, r.Around.TargetDelay)
		if r.Around.StealCPU > r.Around.OthersCPU/2 && !r.Machine.Awake {
			r.Invalid += "; most of it was steal: a virtual machine may need dyno awake"
		}
	case share > neighbourShare:
		r.Warnings = append(r.Warnings, fmt.Sprintf("other processes took %.0f%% of the machine", share*100))
	}
}

// judgeGenerator decides whether the generator rather than the target set the pace.
func (r *Run) judgeGenerator() {
	g := &r.Totals.Generator
	g.Limited, g.Why = false, ""
	observed := r.SLO.Observed(r.Totals).P99
	working := r.Around.TargetCPU + r.Around.CompanionCPU
	idle := r.Machine.Cores > 0 && r.Around.Seen && working/float64(r.Machine.Cores) < targetBusy
	switch lagMs := r.Totals.Lag.P99 / 1000; {
	case g.BusiestThread >= generatorBusy:
		g.Limited, g.Why = true, fmt.Sprintf("its busiest thread used %.0f%% of a core", g.BusiestThread*100)
	case r.Load.Model == "open" && observed > 0 && lagMs > lagShare*observed && lagMs > 1 && idle:
		g.Limited, g.Why = true, fmt.Sprintf("its own send-lag had a p99 of %.1f ms where the reported p99 is %.1f ms", lagMs, observed)
	}
}
