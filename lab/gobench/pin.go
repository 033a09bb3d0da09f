package gobench

import (
	"runtime"

	"dyno/parts/process"
)

// The CPUs of a machine differ in speed from one moment to the next: on a shared one by what others do on
// the same core. Where slices run on any of them, that is most of what two slices of a block differ by. So
// a benchmark that one CPU suffices for has both on the same one, each block on another.
const (
	// mostCPU is the CPU time by elapsed time up to which one CPU suffices: the collector may run beside
	// the benchmark now and then.
	mostCPU = 1.05
	// mostWaits is the rate of waits, per second, up to which a benchmark is not one of goroutines that
	// hand over to each other: how long those take depends on how many CPUs there are. The runtime alone
	// waits up to 2,500 times.
	mostWaits = 3000
)

// usesSeveral reports whether what a slice measured would change on one CPU.
func usesSeveral(o outcome) bool {
	return float64(o.cpu) > mostCPU*float64(o.wall) || float64(o.waits) > mostWaits*o.wall.Seconds()
}

// single reports whether one CPU suffices for the benchmark: its first generation, which runs on
// any, showed nothing else.
func (b *benchmark) single() bool { return len(b.rounds) > 0 && !b.several }

// oneCPU chooses the CPU on which both slices of a block run; nil: all.
func (r *run) oneCPU(b *benchmark) []int {
	if !b.single() || len(r.allowed) < 2 {
		return nil
	}
	return []int{r.allowed[r.random.IntN(len(r.allowed))]}
}

// pinnable lists the CPUs on which slices may be held.
func pinnable() []int {
	if runtime.GOOS != "linux" {
		return nil
	}
	return process.AllowedCPUs()
}
