//go:build unix

package doors

import (
	"math"
	"syscall"
)

// files returns how many files and connections the process may have open; 0: unknown.
func files() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}
