package httploop

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Calls that never block bypass the scheduler's bookkeeping.

func poll(epoll int, events []unix.EpollEvent) (n int) {
	got, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(got)
}

// pending reports whether a socket has bytes that were not read.
func pending(fd int) bool {
	var b [1]byte
	n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err == nil && n > 0
}

// signal makes an eventfd's counter grow, which ends a wait for it. It is never read: each signal is an event by itself.
func signal(fd int) {
	one := uint64(1)
	unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
}
