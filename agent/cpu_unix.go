//go:build unix

package agent

import "syscall"

// ProcessCPU returns the time that the process has used, in s, and what of it was spent in the kernel.
func ProcessCPU() (total, system float64) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, 0 // it fails only for a bad address or a bad who
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9, float64(used.Stime.Nano()) / 1e9
}
