package postgres

import (
	"fmt"
	"net"
	"net/netip"

	"dyno/parts/freeport"
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

func freePort(host netip.Addr) (address, error) {
	ap, err := freeport.On(host)
	return address{ap, true}, err
}
