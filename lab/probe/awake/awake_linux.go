package awake

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Keep keeps every CPU that this process may use awake until stop is called, which returns when the loops have ended. The
// process should do little else meanwhile: its garbage is not collected, which would have to wait for loops that have no CPU.
func Keep() (stop func(), err error) {
	var cpus unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		return nil, fmt.Errorf("reading the CPU affinity: %w", err)
	}
	procs := runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + cpus.Count()) // the loops never let go of theirs
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(math.MaxInt64)
	var over atomic.Bool
	var running sync.WaitGroup
	stop = func() {
		over.Store(true)
		running.Wait()
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
		runtime.GOMAXPROCS(procs)
	}
	began := make(chan error, cpus.Count())
	for cpu, left := 0, cpus.Count(); left > 0; cpu++ {
		if !cpus.IsSet(cpu) {
			continue
		}
		left--
		running.Go(func() {
			onOwnThread(func() {
				err := settle(cpu)
				began <- err
				for x := 2.0; err == nil && !over.Load() && x > 0; { // always above 0, which the compiler does not know
					x = idle(x)
				}
			})
		})
	}
	for range cpus.Count() {
		err = errors.Join(err, <-began)
	}
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// onOwnThread runs f on a thread that ends with it, and with what f set on it. The process's first thread, which never ends,
// is held while f runs on another.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return // without unlocking it
	}
	var other sync.WaitGroup
	other.Go(func() { onOwnThread(f) })
	other.Wait()
	runtime.UnlockOSThread()
}

// settle puts the calling thread on a CPU, where it runs when nothing else wants to. It takes no signals, by which Go's
// scheduler would wake others a hundred times a second to have it make room for them.
func settle(cpu int) error {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil); err != nil {
		return fmt.Errorf("blocking signals: %w", err)
	}
	var only unix.CPUSet
	only.Set(cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("pinning to CPU %d: %w", cpu, err)
	}
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0); err != nil {
		return fmt.Errorf("taking the lowest priority: %w", err)
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

// loops counts the threads of a process that run where nothing else wants to.
func loops(pid int) (n int) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		if attr, err := unix.SchedGetAttr(tid, 0); err == nil && attr.Policy == unix.SCHED_IDLE {
			n++
		}
	}
	return n
}
