//go:build unix

package lameduck

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// readable reports whether a read or an accept would return immediately.
func readable(s syscall.Conn) (ready bool) {
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		ready = n > 0 && err == nil
	})
	return ready
}
