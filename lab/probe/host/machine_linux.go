package host

import (
	"os"
	"strings"

	"dyno/lab/probe/procfs"
)

// hardware reads the processor's name, the kernel's release and the memory in bytes.
func hardware() (cpu, kernel string, memory int64) {
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		cpu = procfs.CPUModel(b)
	}
	if cpu == "" { // many ARM boards have a name only in the device tree
		b, _ := os.ReadFile("/proc/device-tree/model")
		cpu = strings.TrimRight(string(b), "\x00\n")
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		memory, _ = procfs.MemTotal(b)
	}
	return cpu, kernel, memory
}
