package http1

import (
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// handshake reports a socket as refused if it is connected to itself, which the kernel can cause
// when nothing listens at the target; it accepts any other connected socket.
func TestConnectedToItselfIsRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, itself := range []bool{true, false} {
		loopback := unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
		fd, err := newSocket(&loopback)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := unix.Bind(fd, &loopback); err != nil {
			t.Fatal(err)
		}
		target, err := unix.Getsockname(fd)
		if err != nil {
			t.Fatal(err)
		}
		if !itself {
			target = &unix.SockaddrInet4{Addr: loopback.Addr, Port: int(netip.MustParseAddrPort(l.Addr().String()).Port())}
		}
		if err := unix.Connect(fd, target); err != nil && err != unix.EINPROGRESS {
			t.Fatal(err)
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1); err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
		if err := handshake(fd); (err == unix.ECONNREFUSED) != itself || !itself && err != nil {
			t.Errorf("connected to itself: %t, the handshake ended with %v", itself, err)
		}
	}
}
