package whatif

import (
	"math"

	"dyno/lab/record"
)

// CPU is the use of the machine's CPUs, in cores.
type CPU struct {
	Target  float64
	Beside  float64 // used by the load generator and the target's companions, on the same CPUs
	Limit   float64 // what the target may use: its GOMAXPROCS, or its cgroup's quota
	Machine float64 // cores for all of these: other processes may get less when these need more
	Taken   float64 // share of the machine that other processes took
}

// CPUOf reads the CPU use in a run of a target with that GOMAXPROCS (0: unknown).
func CPUOf(r *record.Run, procs int) CPU {
	around := r.Environment
	if !around.Seen || r.Machine.Cores == 0 {
		return CPU{}
	}
	c := CPU{Target: around.TargetCPU, Beside: around.CompanionCPU, Limit: math.Inf(1), Machine: float64(r.Machine.Cores)}
	if procs > 0 {
		c.Limit = float64(procs)
	}
	if around.Elsewhere {
		c.Beside, c.Machine = 0, c.Limit
		return c
	}
	c.Taken = around.NoiseCPU / float64(r.Machine.Cores)
	if s := r.Length.Seconds(); s > 0 {
		c.Beside += r.Totals.Generator.CPUSeconds / s
	}
	switch quota := r.Target.Quota; {
	case quota > 0 && r.Target.Shared:
		c.Machine = min(c.Machine, quota)
	case quota > 0:
		c.Limit = min(c.Limit, quota)
	}
	return c
}

// At is the CPU use in slices of peak work, of the same target on the same machine; without slices
// it stays as it is. It leaves out what other processes take.
func (c CPU) At(peak []*record.Slice) CPU {
	target, beside, seconds := 0.0, 0.0, 0.0
	for _, s := range peak {
		target, beside, seconds = target+s.TargetCPU, beside+s.CompanionCPU+s.GeneratorCPU, seconds+s.Length.Seconds()
	}
	if target > 0 && seconds > 0 {
		c.Target, c.Beside = target/seconds, beside/seconds
	}
	return c
}

// times is how many times the present throughput the CPUs permit after a removal. The load
// generator and the companions need as much per request as before, unless they are removed.
func (c CPU) times(r Removal) float64 {
	target := c.Target * (1 - r.CPU)
	beside := max(0, c.Beside-r.Beside)
	return min(c.Limit/target, c.Machine/(target+beside))
}
