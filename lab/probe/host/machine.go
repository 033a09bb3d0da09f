// Package host describes the machine of the lab and the processes on it: processor, memory and
// kernel; a process's program, name and CPU quota. Examine checks whether the machine is fit to
// measure on, with what each fault means for a measurement and its fix; a figure that cannot be
// read is a check that says so, never an error. Hold keeps its virtual CPUs from halting.
//
// It is not for what changes during a load (usage), nor for judging a run. It starts no goroutines
// but Examine's measurements, one locked thread at a time, which have ended when it returns.
package host

import (
	"runtime"

	"dyno/lab/record"
)

// Machine describes the machine of the lab. Values that cannot be read stay empty. Settings are
// the current ones that Examine checks.
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
