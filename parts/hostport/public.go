package hostport

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// ErrNotPublic is the error of a connection to an address that is not public.
var ErrNotPublic = errors.New("the address is not public")

// Target returns the address of an HTTP receiver that a client names in its normal form, or what is
// wrong with it. A host name may still resolve to a private address: PublicOnly sees that.
func Target(text string, allowPrivate bool) (string, error) {
	normal, err := Normal(text)
	if err != nil {
		return "", err
	}
	return normal, CheckPublic(normal, allowPrivate)
}

// CheckPublic returns an error for the address of a receiver whose host is an IP address that is
// not public, unless those are allowed.
func CheckPublic(normal string, allowPrivate bool) error {
	u, err := url.Parse(normal)
	if err != nil || allowPrivate {
		return err
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !Public(ip) {
		return fmt.Errorf("%s is not a public address; start with --allow-private-targets to permit it", ip)
	}
	return nil
}

// PublicOnly is a net.Dialer's Control that refuses connections to addresses which are not public.
// It sees the address after the name was resolved.
func PublicOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err == nil && !Public(at.Addr()) {
		return fmt.Errorf("%w: %s", ErrNotPublic, at.Addr())
	}
	return err
}

// inward are networks that lead inwards and that netip's own predicates do not know.
var inward = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),     // this network
	netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),  // protocol assignments
	netip.MustParsePrefix("198.18.0.0/15"), // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),   // reserved, and broadcast
	netip.MustParsePrefix("2001::/32"),     // IPv4 behind Teredo
	netip.MustParsePrefix("2002::/16"),     // IPv4 behind 6to4
}

// allocated is the public part of IPv6. The rest holds, among other things, several ways to write
// an IPv4 address (::/96, 64:ff9b::/96, 64:ff9b:1::/48).
var allocated = netip.MustParsePrefix("2000::/3")

// Public reports whether an address leads to the public network.
func Public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("") // no prefix contains an address with a zone
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && (ip.Is4() || allocated.Contains(ip)) &&
		!slices.ContainsFunc(inward, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// Client returns a client for webhooks: to public addresses only, unless private ones are allowed,
// without redirects, and with bounds on the time of a request and on the answer's headers.
func Client(timeout time.Duration, allowPrivate bool) *http.Client {
	dialer := &net.Dialer{Timeout: timeout}
	if !allowPrivate {
		dialer.Control = PublicOnly
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // a proxy would connect to any address, past the dialer's check
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.DialContext = dialer.DialContext
	return &http.Client{
		Transport:     transport,
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
