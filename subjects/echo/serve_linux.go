package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxConns bounds the connections: the state of each is kept by its file descriptor.
const maxConns = 1 << 16

// serve answers until the process ends.
func serve(address netip.AddrPort, ready func(netip.AddrPort)) error {
	runtime.LockOSThread()
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("making a socket: %w", err)
	}
	unix.SetsockoptInt(listener, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err := unix.Bind(listener, &unix.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()}); err != nil {
		return fmt.Errorf("binding %s: %w", address, err)
	}
	if err := unix.Listen(listener, unix.SOMAXCONN); err != nil {
		return fmt.Errorf("listening on %s: %w", address, err)
	}
	bound, err := unix.Getsockname(listener)
	if err != nil {
		return fmt.Errorf("reading the port bound: %w", err)
	}
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("making an epoll: %w", err)
	}
	if err := watch(poll, listener, unix.EPOLLIN); err != nil {
		return err
	}
	ready(netip.AddrPortFrom(address.Addr(), uint16(bound.(*unix.SockaddrInet4).Port)))
	return loop(poll, listener)
}

func watch(poll, fd int, events uint32) error {
	err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
	if err != nil {
		return fmt.Errorf("watching a socket: %w", err)
	}
	return nil
}

func loop(poll, listener int) error {
	events := make([]unix.EpollEvent, 256)
	matched := make([]uint8, maxConns)
	in := make([]byte, 64<<10)
	for {
		n, err := unix.EpollWait(poll, events, -1)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("waiting for requests: %w", err)
		}
		for i := range max(n, 0) {
			switch fd := int(events[i].Fd); fd {
			case listener:
				accept(poll, listener, matched)
			default:
				reply(fd, events[i].Events&unix.EPOLLRDHUP != 0, in, &matched[fd])
			}
		}
	}
}

// accept accepts one connection; for further ones epoll reports again.
func accept(poll, listener int, matched []uint8) {
	fd, _, err := unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		return
	}
	if fd >= len(matched) || watch(poll, fd, unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLET) != nil {
		unix.Close(fd)
		return
	}
	matched[fd] = 0
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
}

// reply reads what a connection sent and answers every request that ended in it. A short read has
// emptied the socket, so reply does not read again just to find it empty.
func reply(fd int, ending bool, in []byte, matched *uint8) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&in[0])), uintptr(len(in)), unix.MSG_DONTWAIT, 0, 0)
		if errno == unix.EAGAIN {
			return
		}
		if errno != 0 || n == 0 {
			unix.Close(fd)
			return
		}
		var ended int
		ended, *matched = requests(in[:n], *matched)
		out := answer
		if ended != 1 {
			out = bytes.Repeat(answer, ended)
		}
		if len(out) > 0 {
			sent, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&out[0])), uintptr(len(out)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
			if errno != 0 || int(sent) < len(out) { // a client that does not read its answers
				unix.Close(fd)
				return
			}
		}
		if int(n) < len(in) && !ending {
			return
		}
	}
}
