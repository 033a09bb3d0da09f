// Package sockets is the system calls of an event loop. None of them blocks, so they skip the
// scheduler's bookkeeping.
//
// It is not for waiting: that would keep a processor from other goroutines. It starts no
// goroutines.
package sockets

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Poll returns the number of events that an epoll has now.
func Poll(epoll int, events []unix.EpollEvent) (n int) {
	got, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(got)
}

// Pending reports whether a socket has unread bytes.
func Pending(fd int) bool {
	var b [1]byte
	n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err == nil && n > 0
}

// Signal increments an eventfd's counter, which ends a wait for it. The counter is never read:
// events are edge-triggered, so each increment causes one.
func Signal(fd int) {
	one := uint64(1)
	unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
}
