// Package freeport finds a port for a server whose address others must know before it listens, or
// which listens there again after a restart. Such a port is below those that systems give to
// outgoing connections (from 32768 on Linux, 49152 elsewhere): otherwise a client's connection may
// sit on it while the server is down.
//
// It is not for a server that is asked for its address once it listens: port 0 never collides.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
)

// The range of the ports; First is above those that well-known servers use, and the documentation's examples.
const (
	First = 20000
	Last  = 31999
)

// On returns a port of a host at which nothing listened a moment ago, and that Loopback has given to no
// process. The caller tries again if
// another process takes it before the server does.
func On(host netip.Addr) (netip.AddrPort, error) {
	a, socket, err := reserve(host)
	if err != nil {
		return a, err
	}
	return a, socket.Close()
}

// reserve returns a port at which nothing listens, and the UDP socket that reserves it. It listens at no
// port that another process has reserved, not even to see whether it is free: the server there may
// be about to start, and a client to connect.
func reserve(host netip.Addr) (netip.AddrPort, net.PacketConn, error) {
	for range 100 { // 1 in 12,000 ports is taken on a busy machine; a hundred misses mean something else
		a := netip.AddrPortFrom(host, uint16(First+rand.N(Last-First+1)))
		socket, err := net.ListenPacket("udp", a.String())
		if err != nil {
			continue
		}
		if Check(a) == nil {
			return a, socket, nil
		}
		socket.Close()
	}
	return netip.AddrPort{}, nil, fmt.Errorf("found no free port on %v between %d and %d", host, First, Last)
}

// held reserves the ports of Loopback until this process ends: other processes that choose by it do not
// take them, also while nothing listens there. A UDP socket is in no server's way.
var held struct {
	mu      sync.Mutex
	sockets []net.PacketConn
}

// Loopback returns n addresses of this machine's loopback interface, all different, which no other call
// returns while this process lives.
func Loopback(n int) (addresses []netip.AddrPort, err error) {
	held.mu.Lock()
	defer held.mu.Unlock()
	for range n {
		a, socket, err := reserve(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
		if err != nil {
			return nil, err
		}
		held.sockets, addresses = append(held.sockets, socket), append(addresses, a)
	}
	return addresses, nil
}

// Check returns an error when something else listens at an address.
func Check(a netip.AddrPort) error {
	l, err := net.Listen("tcp", a.String())
	if err != nil {
		return err
	}
	return l.Close()
}
