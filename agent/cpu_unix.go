//go:build unix

package agent

import "syscall"

// processCPU returns the user and system time that the process has used, in s.
func processCPU() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0 // it fails only for a bad address or a bad who
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}
