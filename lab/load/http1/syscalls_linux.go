package http1

import (
	"errors"
	"net/netip"
	"time"
	"unsafe"

	"dyno/lab/load"

	"golang.org/x/sys/unix"
)

// System calls that never block use RawSyscall, which skips the Go scheduler's bookkeeping.

func read(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

func write(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// threadCPU returns the CPU time that the calling thread has used.
func threadCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// newSocket makes a non-blocking TCP socket for an address.
func newSocket(address unix.Sockaddr) (int, error) {
	family := unix.AF_INET
	switch address.(type) {
	case nil:
		return -1, errors.New("no address")
	case *unix.SockaddrInet6:
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	// Without TCP_NODELAY the last segment of a long request would wait for the acknowledgement
	// of the one before (Nagle's algorithm).
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// dial begins a handshake.
func dial(address unix.Sockaddr) (int, error) {
	fd, err := newSocket(address)
	if err != nil {
		return -1, err
	}
	if err := unix.Connect(fd, address); err != nil && err != unix.EINPROGRESS && err != unix.EINTR {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// handshake returns the result of a finished handshake. It treats a socket that is connected to
// itself as refused: when nothing listens at the target's port, the kernel may pick that same
// port for the client and connect the socket to itself. The driver would then take its own
// requests for answers.
func handshake(fd int) error {
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	switch {
	case err != nil:
		return err
	case errno != 0:
		return unix.Errno(errno)
	}
	local, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	peer, err := unix.Getpeername(fd)
	if err == nil && endpoint(local) == endpoint(peer) {
		err = unix.ECONNREFUSED
	}
	return err
}

func endpoint(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return netip.AddrPort{}
}

func connectStatus(err error) load.Status {
	if errors.Is(err, unix.ECONNREFUSED) {
		return load.Refused
	}
	return load.Connect
}

// endStatus returns the status for a broken connection.
func endStatus(errno unix.Errno) load.Status {
	if errno == unix.ECONNRESET || errno == unix.EPIPE {
		return load.Reset
	}
	return load.Other
}
