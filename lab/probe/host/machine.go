// Package host describes the machine of the lab and the processes on it: processor, memory and
// kernel; the program, name and CPU quota of a process. Examine checks whether the machine is fit
// to measure on. Each check says what it means for a measurement, and how to fix it; one whose
// figure cannot be read says so, and is not an error. Hold keeps a machine's virtual CPUs from
// halting.
//
// The package is not for what changes during a load (usage), nor for judging a run. The
// measurements of Examine and Settings run on goroutines with a thread of their own, one at a time;
// they have ended when these return. Nothing else here starts a goroutine.
package host

import (
	"runtime"

	"dyno/lab/record"
)

// Machine describes the machine of the lab. Values that cannot be read stay empty. Settings are the
// present ones, as Examine checks them.
func Machine() record.Machine {
	m := record.Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(),
		Settings: Settings(),
	}
	var memory int64
	m.CPU, m.Kernel, memory = hardware()
	m.MemoryGiB = float64(memory>>20) / 1024
	return m
}
