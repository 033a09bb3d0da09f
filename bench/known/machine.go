package main

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"dyno/lab/probe/host"
	"dyno/lab/probe/procfs"
)

// used is what the machine, and this process with those that it started, had used at a time.
type used struct {
	at               time.Time
	busy, steal, own float64 // seconds of CPU
	known            bool
}

// watch begins to measure what others take.
func watch() (u used) {
	u.at = time.Now()
	stat, err := os.ReadFile("/proc/stat")
	if err == nil {
		u.busy, u.steal, err = procfs.CPUTimes(stat, nil)
	}
	u.known = err == nil
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if syscall.Getrusage(who, &r) == nil {
			u.own += time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
		}
	}
	return u
}

// others returns the shares of the machine that other processes and the hypervisor took since, and
// the machine's name; nil: not known.
func (u used) others() (others, steal any, machine string) {
	now, cores := watch(), float64(runtime.NumCPU())
	if u.known && now.known {
		all := cores * now.at.Sub(u.at).Seconds()
		others, steal = max(0, now.busy-u.busy-(now.own-u.own))/all, (now.steal-u.steal)/all
	}
	return others, steal, host.Machine().String()
}
