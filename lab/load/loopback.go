package load

import (
	"net"
	"net/netip"
	"slices"
)

// Loopback reports whether a host is this machine, which may be loaded without permission. A name
// counts only if every address it resolves to is a loopback address.
func Loopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback()
	}
	addrs, err := net.LookupHost(host)
	if err != nil || len(addrs) == 0 {
		return host == "localhost"
	}
	return !slices.ContainsFunc(addrs, func(a string) bool {
		addr, err := netip.ParseAddr(a)
		return err != nil || !addr.IsLoopback()
	})
}
