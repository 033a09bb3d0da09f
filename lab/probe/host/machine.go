// Package host describes the machine of the lab and the processes on it: processor, memory and
// kernel; a process's program, name and CPU quota.
//
// It is not for what changes during a load (usage), nor for judging the machine (doctor). It starts
// no goroutines.
package host

import (
	"runtime"

	"dyno/lab/probe/doctor"
	"dyno/lab/record"
)

// Machine describes the machine of the lab. Values that cannot be read stay empty. Settings are
// the current ones that the doctor checks.
func Machine() record.Machine {
	m := record.Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(),
		Settings: doctor.Settings(),
	}
	var memory int64
	m.CPU, m.Kernel, memory = hardware()
	m.MemoryGiB = float64(memory>>20) / 1024
	return m
}
