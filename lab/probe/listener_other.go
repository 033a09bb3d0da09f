//go:build !linux

package probe

import (
	"fmt"
	"runtime"
)

// Listener returns the process that listens on a loopback address (host:port). Only Linux tells.
func Listener(addr string) (pid int, err error) {
	if _, err := loopback(addr); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("%s: %w: on %s it cannot be looked up; name the process", addr, ErrNoListener, runtime.GOOS)
}

// Command returns the name of a process; empty: only Linux tells.
func Command(pid int) string { return "" }
