//go:build unix

// Package cputime reads the CPU time that this process has used, where the system reports it.
//
// It is not for other processes (probe reads those). It starts no goroutines.
package cputime

import (
	"time"

	"golang.org/x/sys/unix"
)

// OfProcess returns the CPU time, user and system, that this process has used.
func OfProcess() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
