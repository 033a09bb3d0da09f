// Package usage reads from /proc what a target, the processes that work for it, the lab and the
// whole machine have used so far: CPU time, memory, waiting for CPUs and disks, accept queues,
// cache misses. A Sampler takes readings at a steady interval, a Meter at any time.
//
// It is not for keeping the readings, nor for what they mean (probe, record). It starts no
// goroutines.
package usage

import "dyno/lab/probe/procfs"

// Reading holds the figures of one instant. Figures in seconds are sums.
type Reading struct {
	At           int64   // ns, monotonic
	CPU          float64 // s, the target
	System       float64 // s of CPU spent in the kernel
	Dependencies float64 // s, of processes that work for the target
	Self         float64 // s, the lab
	Busy         float64 // s, the whole machine, without steal
	Steal        float64 // s
	Pressure     float64 // s in which some task waited for a CPU
	PressureIO   float64 // s in which some task waited for a disk
	Overflows    float64 // connections refused because their accept queue was full

	Scheduling              // of the target's threads
	Calls      Calls        // that the target makes
	RSS        int64        // bytes, the target
	Halts      Halts        // of the target's threads
	Accept     procfs.Queue // the target's longest
	Cache, TLB float64      // misses of the target
}

// Rate returns the growth of a sum per second between two instants (ns). A sum that fell belongs
// to a restarted process; its rate is 0.
func Rate(before, after float64, from, to int64) float64 {
	if to <= from || after < before {
		return 0
	}
	return (after - before) / float64(to-from) * 1e9
}
