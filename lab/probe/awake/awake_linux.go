package awake

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Keep keeps every CPU that this process may use awake until ctx is done. The process should do nothing else: it turns
// the collection of garbage off, which would have to wait for loops that have no CPU.
func Keep(ctx context.Context) error {
	var cpus unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		return fmt.Errorf("reading the CPU affinity: %w", err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cpus.Count() + 2)) // the loops never let go of theirs
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	var loops errgroup.Group
	for cpu := range maxCPUs {
		if cpus.IsSet(cpu) {
			loops.Go(func() error { return spin(cpu, &stop) })
		}
	}
	return loops.Wait()
}

// maxCPUs is how many CPUs a unix.CPUSet holds.
const maxCPUs = 1024

// spin occupies a CPU that nothing else wants.
func spin(cpu int, stop *atomic.Bool) error {
	runtime.LockOSThread() // and never unlocked: the thread ends with its goroutine, and what is set on it, too
	var only unix.CPUSet
	only.Set(cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("pinning to CPU %d: %w", cpu, err)
	}
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0); err != nil {
		return fmt.Errorf("taking the lowest priority: %w", err)
	}
	for x := 2.0; !stop.Load() && x > 0; { // always above 0, which the compiler does not know
		x = idle(x)
	}
	return nil
}

// idle takes some microseconds, and little of the core that a second hardware thread may share: one square root waits for
// another, which occupies a single unit.
func idle(x float64) float64 {
	for range 64 {
		x = math.Sqrt(math.Sqrt(math.Sqrt(math.Sqrt(x)))) + 1
	}
	return x
}
