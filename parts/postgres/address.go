package postgres

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
)

// address is where PostgreSQL listens.
type address struct {
	netip.AddrPort
	chosen bool // the port was not asked for: another will do
}

// CheckAddress returns an error unless a PostgreSQL can be started on an address.
func CheckAddress(text string) error {
	_, err := chooseAddress(text)
	return err
}

// chooseAddress reads a loopback address and finds a free port where none is given.
func chooseAddress(text string) (address, error) {
	if text == "" {
		text = "127.0.0.1:0"
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return address{}, fmt.Errorf("address %q: %w; it looks like 127.0.0.1:5432", text, err)
	}
	if host == "localhost" || host == "" {
		host = "127.0.0.1"
	}
	ap, err := netip.ParseAddrPort(net.JoinHostPort(host, port))
	if err != nil || !ap.Addr().IsLoopback() {
		return address{}, fmt.Errorf("address %q: PostgreSQL started from here listens on loopback only, such as 127.0.0.1:5432", text)
	}
	if ap.Port() != 0 {
		return address{AddrPort: ap}, nil
	}
	return freePort(ap.Addr())
}

// Ports are taken from below those that systems give to outgoing connections (from 32768 on Linux,
// 49152 elsewhere): otherwise a client's connection may sit on the port while PostgreSQL restarts.
const (
	firstPort = 15000
	lastPort  = 31999
)

func freePort(host netip.Addr) (address, error) {
	for range 100 { // 1 in 17,000 ports is taken on a busy machine; a hundred misses mean something else
		a := address{netip.AddrPortFrom(host, uint16(firstPort+rand.N(lastPort-firstPort+1))), true}
		if a.free() == nil {
			return a, nil
		}
	}
	return address{}, errors.New("found no free port on " + host.String() + " between " + strconv.Itoa(firstPort) + " and " + strconv.Itoa(lastPort))
}

// free returns an error when something else listens there.
func (a address) free() error {
	l, err := net.Listen("tcp", a.String())
	if err != nil {
		return err
	}
	return l.Close()
}
