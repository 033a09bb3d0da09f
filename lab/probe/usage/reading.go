// Package usage reads from /proc what a target, the processes that work for it, the lab and the
// whole machine have used so far: CPU time, memory, waits for CPUs and disks, accept queues, cache
// misses. A Sampler takes readings at a steady interval, a Meter whenever its caller wants one.
//
// It is not for keeping the readings, nor for interpreting them (probe, record). It starts no
// goroutines.
package usage

import "dyno/lab/probe/procfs"

// Reading holds the figures of one instant. All but At, RSS and Accept are sums that never fall.
type Reading struct {
	At           int64   // ns, monotonic
	CPU          float64 // s, the target
	System       float64 // s, the part of CPU spent in the kernel
	Dependencies float64 // s, processes that work for the target
	Self         float64 // s, the lab
	Busy         float64 // s, the whole machine, without steal
	Steal        float64 // s
	Pressure     float64 // s in which some task waited for a CPU
	PressureIO   float64 // s in which some task waited for a disk
	Overflows    float64 // connections that the kernel dropped because an accept queue was full

	Scheduling              // of the target's threads
	Calls      Calls        // calls that the target makes
	RSS        int64        // bytes, the target
	Halts      Halts        // of the target's threads
	Accept     procfs.Queue // the target's longest accept queue
	Cache, TLB float64      // misses of the target
}

// Rate returns the growth of a sum per second between two instants (ns). If the sum fell, the
// process was restarted, and the rate is 0.
func Rate(before, after float64, from, to int64) float64 {
	if to <= from || after < before {
		return 0
	}
	return (after - before) / float64(to-from) * 1e9
}
