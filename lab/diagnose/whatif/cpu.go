package whatif

import (
	"math"

	"dyno/lab/diagnose/facts"
	"dyno/lab/record"
)

// CPU is the use of the machine's CPUs, in cores.
type CPU struct {
	Target  float64
	Ready   float64 // Target, and what its runnable threads would have used if no other process had had the CPUs
	Others  float64 // used by the load generator and the target's dependencies, on the same CPUs
	Limit   float64 // what the target may use: its GOMAXPROCS, or its cgroup's quota
	Machine float64 // cores for the target and Others
	Taken   float64 // share of the machine that other processes took
}

// CPUOf reads the CPU use from a run. procs is the target's GOMAXPROCS; 0: unknown.
func CPUOf(r *record.Run, procs int) CPU {
	around := r.System
	if !around.Seen || r.Machine.Cores == 0 {
		return CPU{}
	}
	c := CPU{Target: around.TargetCPU, Ready: around.TargetCPU + around.TargetDelay, Others: around.DependencyCPU, Limit: math.Inf(1), Machine: float64(r.Machine.Cores)}
	if procs > 0 {
		c.Limit = float64(procs)
	}
	if around.Elsewhere {
		c.Others, c.Machine = 0, c.Limit
		return c
	}
	c.Taken = min(1, around.OthersCPU/float64(r.Machine.Cores))
	if s := r.Length.Seconds(); s > 0 {
		c.Others += r.Totals.Generator.CPUSeconds / s
	}
	switch quota := r.Target.Quota; {
	case quota > 0 && r.Target.Shared:
		c.Machine = min(c.Machine, quota)
	case quota > 0:
		c.Limit = min(c.Limit, quota)
	}
	return c
}

// CPUUse is a throughput and the mean CPU use at it; Target, Ready and Others are as in CPU.
type CPUUse struct{ PerS, Target, Ready, Others float64 }

// CPUUseOf is the mean CPU use over slices; without slices it is zero.
func CPUUseOf(all []*record.Slice) (l CPUUse) {
	seconds := 0.0
	for _, s := range all {
		seconds += s.Length.Seconds()
		l = l.plus(CPUUse{float64(s.Served), s.TargetCPU, s.TargetCPU + s.TargetDelay, s.DependencyCPU + s.GeneratorCPU}, 1)
	}
	return l.over(seconds)
}

// CPUUseOfRuns is the mean CPU use over whole runs.
func CPUUseOfRuns(all []*record.Run) (l CPUUse) {
	seconds := 0.0
	for _, r := range all {
		c := CPUOf(r, 0)
		seconds += r.Length.Seconds()
		l = l.plus(CPUUse{facts.PerSecond(r), c.Target, c.Ready, c.Others}, r.Length.Seconds())
	}
	return l.over(seconds)
}

func (l CPUUse) plus(o CPUUse, weight float64) CPUUse {
	return CPUUse{l.PerS + weight*o.PerS, l.Target + weight*o.Target, l.Ready + weight*o.Ready, l.Others + weight*o.Others}
}

func (l CPUUse) over(seconds float64) CPUUse {
	if seconds <= 0 {
		return CPUUse{}
	}
	return CPUUse{}.plus(l, 1/seconds)
}

// Micros is the target's CPU time of a request, in us; 0: unknown.
func (l CPUUse) Micros() float64 {
	if l.PerS <= 0 {
		return 0
	}
	return 1e6 * l.Target / l.PerS
}

// At returns c with the use l, which was measured at another load of the same target. What l does
// not have stays as in c: everything if l is zero, and Ready if l does not show for how long threads
// were runnable.
func (c CPU) At(l CPUUse) CPU {
	if l.Target > 0 {
		c.Target, c.Others = l.Target, l.Others
	}
	if l.Ready > l.Target {
		c.Ready = l.Ready
	}
	return c
}

// most is the share of the CPU available to a service above which that CPU counts as used up:
// services hardly reach all of it.
const most = 0.9

// UsedUp reports whether the target and Others have no CPU left: they use all of it, or the
// target's threads are always runnable while other processes have the CPUs.
func (c CPU) UsedUp() bool { return c.Target > 0 && c.times(Removal{}) < 1/most }

// times is the throughput that the CPUs permit after a removal, as a multiple of the present one.
// The load generator and the dependencies need as much per request as before, less r.Others. Other
// processes continue: a runnable thread gets a CPU for the same share of the time as before.
func (c CPU) times(r Removal) float64 {
	ready, machine := max(c.Ready, c.Target), c.Machine
	limit := min(c.Limit, machine)
	ready = max(c.Target, min(ready, limit)) // threads in system calls may exceed GOMAXPROCS
	if ready >= most*limit {
		machine = min(machine, c.Target+c.Others) // other processes leave them no more
	}
	others := max(0, c.Others-r.Others)
	return min(limit/(ready*(1-r.CPU)), machine/(c.Target*(1-r.CPU)+others))
}

// without is the least CPU use of the same requests when none of them waits: what the target's code
// takes. Everything else may become cheaper when the waits end, by larger batches and fewer switches,
// and other processes may get less of the CPUs.
func (c CPU) without(computes float64) CPU {
	c = c.alone()
	c.Target *= min(computes, 1)
	c.Ready = c.Target
	return c
}

// alone is the same CPU use without any other process.
func (c CPU) alone() CPU {
	c.Ready, c.Others, c.Taken = c.Target, 0, 0
	return c
}
