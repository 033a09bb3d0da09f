package main

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"syscall"

	"dyno/parts/hostport"
)

// checkURL says what is wrong with the address of a subscription; nil: nothing.
func (s *server) checkURL(text string) *refusal {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil {
		return refuseField("url", "give an http or https address without user and password")
	}
	if err := hostport.CheckPort(u); err != nil {
		return refuseField("url", "%v", err)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !s.allowPrivate && !public(ip) {
		return refuseField("url", "%s is not a public address; start with --allow-private to permit it", ip)
	}
	return nil
}

// guard refuses connections to addresses that are not public. It sees the address after the name was
// resolved, so that a name which points inwards does not help.
func (s *server) guard(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !s.allowPrivate && !public(at.Addr()) {
		return errNotPublic
	}
	return nil
}

var errNotPublic = errors.New("the address is not public")

// reason says why there was no answer, without the address that a name resolved to: subscribers read it.
func reason(err error) string {
	var late net.Error
	var lookup *net.DNSError
	switch {
	case errors.Is(err, errNotPublic):
		return "address not allowed: it is not public"
	case errors.As(err, &late) && late.Timeout():
		return "no answer in time"
	case errors.As(err, &lookup):
		return "name does not resolve"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	}
	return "no HTTP answer"
}

// inward are networks that lead inwards and that netip's own predicates do not know.
var inward = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),     // this network
	netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),  // protocol assignments
	netip.MustParsePrefix("198.18.0.0/15"), // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),   // reserved
	netip.MustParsePrefix("2001::/32"),     // IPv4 behind Teredo
	netip.MustParsePrefix("2002::/16"),     // IPv4 behind 6to4
}

// allocated is what there is of public IPv6. The rest holds, among other things, several ways to write an
// IPv4 address (::/96, 64:ff9b::/96, 64:ff9b:1::/48).
var allocated = netip.MustParsePrefix("2000::/3")

func public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("") // no prefix contains an address with a zone
	if ip.Is6() && !allocated.Contains(ip) {
		return false
	}
	for _, p := range inward {
		if p.Contains(ip) {
			return false
		}
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast()
}
