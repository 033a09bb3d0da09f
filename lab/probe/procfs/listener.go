package procfs

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
)

// ErrNoListener is returned for an address at which no process listens that the lab can see.
var ErrNoListener = errors.New("no visible process listens there")

// Listener returns the process that listens on a loopback address (host:port), so that a running
// service can be watched from outside. It finds only processes whose open files it may read, which
// are usually those of the same user. If there is none, the error wraps ErrNoListener.
func Listener(addr string) (pid int, err error) { return listener("/", addr) }

func listener(root, addr string) (int, error) {
	wanted, err := loopback(addr)
	if err != nil {
		return 0, err
	}
	if runtime.GOOS != "linux" {
		return 0, fmt.Errorf("%s: %w: on %s it cannot be found; give its process ID", addr, ErrNoListener, runtime.GOOS)
	}
	inodes, all := listening(table(root, "self"), wanted)
	if len(inodes) == 0 {
		inodes = all
	}
	if len(inodes) == 0 {
		return 0, fmt.Errorf("%s: %w", addr, ErrNoListener)
	}
	pid := Holder(root, inodes...)
	if pid == 0 {
		return 0, fmt.Errorf("%s: %w: the listener belongs to another user, or is in another container", addr, ErrNoListener)
	}
	return pid, nil
}

// loopback parses an address host:port. The name localhost stands for both loopback addresses.
func loopback(addr string) ([]netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%q is not an address, as in 127.0.0.1:8080", addr)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return nil, fmt.Errorf("%q has no port by number, as in 127.0.0.1:8080", addr)
	}
	ips := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	if !strings.EqualFold(host, "localhost") {
		ip, err := netip.ParseAddr(host)
		if err != nil || !ip.Unmap().IsLoopback() {
			return nil, fmt.Errorf("%q is not on loopback, and only processes on this machine can be found", addr)
		}
		ips = []netip.Addr{ip.Unmap()}
	}
	var out []netip.AddrPort
	for _, ip := range ips {
		out = append(out, netip.AddrPortFrom(ip, uint16(number)))
	}
	return out, nil
}

// listening returns the inodes of the sockets that accept connections to one of the addresses:
// exact has those bound to it, all those bound to all addresses.
func listening(sockets []tcpSocket, wanted []netip.AddrPort) (exact, all []uint64) {
	for _, s := range sockets {
		if s.state != listenHex || s.inode == 0 {
			continue
		}
		for _, w := range wanted {
			switch {
			case s.local == w:
				exact = append(exact, s.inode)
			case s.local.Port() == w.Port() && s.local.Addr().IsUnspecified() && (s.local.Addr().Is6() || w.Addr().Is4()):
				all = append(all, s.inode)
			}
		}
	}
	return exact, all
}
