package httploop

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// None of the system calls below blocks, so they skip the scheduler's bookkeeping. They are not for
// waiting: that would keep a processor from other goroutines.

// poll returns the number of events that an epoll has now.
func poll(epoll int, events []unix.EpollEvent) (n int) {
	got, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(got)
}

// pending reports whether a socket has unread bytes.
func pending(fd int) bool {
	var b [1]byte
	n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err == nil && n > 0
}

// signal increments an eventfd's counter, which ends a wait for it. The counter is never read:
// events are edge-triggered, so each increment causes one.
func signal(fd int) {
	one := uint64(1)
	unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
}
