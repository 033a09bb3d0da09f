package probe

import (
	"runtime"

	"dyno/lab/probe/doctor"
	"dyno/lab/record"
)

// Machine says where the lab runs. What cannot be read stays empty. Settings are those that the doctor
// looks at, as they are now.
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
