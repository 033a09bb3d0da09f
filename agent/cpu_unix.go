//go:build unix

package agent

import "syscall"

// ProcessCPU returns the CPU time that the process has used, in s, and the part of it spent in
// the kernel.
func ProcessCPU() (total, system float64) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, 0 // it fails only for invalid arguments
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9, float64(used.Stime.Nano()) / 1e9
}
