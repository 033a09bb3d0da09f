package host

import "golang.org/x/sys/unix"

// hardware reads the processor's name, the kernel's release and the memory in bytes.
func hardware() (cpu, kernel string, memory int64) {
	cpu, _ = unix.Sysctl("machdep.cpu.brand_string")
	kernel, _ = unix.Sysctl("kern.osrelease")
	size, _ := unix.SysctlUint64("hw.memsize")
	return cpu, kernel, int64(size)
}
