package load

import (
	"context"
	"net"
	"net/netip"
	"slices"
)

// Loopback reports whether a host is this machine, to which load may be sent without permission.
// A name counts only if every address that it resolves to is a loopback address.
func Loopback(host string) bool {
	addrs, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip", host)
	if err != nil || len(addrs) == 0 {
		return host == "localhost"
	}
	return !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return !a.IsLoopback() })
}
