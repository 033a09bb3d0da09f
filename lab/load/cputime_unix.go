//go:build unix

package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// processCPU returns the CPU time, user and system, that this process has used.
func processCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
