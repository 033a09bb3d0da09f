//go:build !linux

package probe

import (
	"fmt"
	"runtime"
)

// Listener returns the process that listens on a loopback address (host:port). It works on Linux
// only.
func Listener(addr string) (pid int, err error) {
	if _, err := loopback(addr); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("%s: %w: on %s it cannot be found; give its process ID", addr, ErrNoListener, runtime.GOOS)
}

// Command returns the name of a process; empty: it works on Linux only.
func Command(pid int) string { return "" }
