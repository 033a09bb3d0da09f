package webhook

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"dyno/parts/http1"
)

// client sends requests: the seam "client". A redirect is an answer like any other. An error does
// not hold the URL's path and query, or is a *url.Error.
type client interface {
	Do(*http.Request) (*http.Response, error)
	CloseIdleConnections()
}

// newClients names the implementations of the seam "client".
var newClients = map[string]func(Options) client{
	"default": func(o Options) client {
		return &http.Client{Transport: newTransport(o), Timeout: o.Timeout, CheckRedirect: stay}
	},
	"reuse":  func(o Options) client { return newReusing(o) },
	"direct": newDirect,
}

func newReusing(o Options) *http.Client {
	t := newTransport(o)
	// The default keeps 2 idle connections per host and closes the rest, so 16 workers that come back
	// together make 14 new ones the next time.
	t.MaxIdleConnsPerHost = o.Workers
	t.MaxIdleConns = max(maxIdleConns, o.Workers)
	return &http.Client{Transport: t, Timeout: o.Timeout, CheckRedirect: stay}
}

// direct sends small webhooks by HTTP/1.1 on its worker's goroutine, and those that http1 does not
// support as reuse does.
type direct struct {
	small *http1.Client
	other *http.Client
}

func newDirect(o Options) client {
	return &direct{
		small: &http1.Client{
			Dial: newDialer(o).DialContext, Timeout: o.Timeout, MaxIdle: max(maxIdleConns, o.Workers), MaxHeader: maxAnswer, MaxAnswer: maxAnswer,
		},
		other: newReusing(o),
	}
}

func (d *direct) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.small.Do(req)
	if err == http1.ErrUnfit {
		return d.other.Do(req)
	}
	return resp, err
}

func (d *direct) CloseIdleConnections() {
	d.small.CloseIdleConnections()
	d.other.CloseIdleConnections()
}

// maxIdleConns bounds the connections kept for all receivers together: each is a file descriptor
// and some 16 KB, with net/http two goroutines, for the 90 s that it is kept unused.
const maxIdleConns = 4096

func newTransport(o Options) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil                        // a proxy would connect to any address, past the guard
	t.MaxResponseHeaderBytes = maxAnswer // the default lets every receiver send 10 MB
	t.DialContext = newDialer(o).DialContext
	return t
}

func newDialer(o Options) *net.Dialer {
	return &net.Dialer{Timeout: o.Timeout, KeepAlive: 30 * time.Second, Control: guard(o.AllowPrivate)}
}

// stay does not follow a redirect: the answer counts as a failure.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// errNotPublic is the guard's.
var errNotPublic = errors.New("the address is not public")

// guard refuses connections to addresses that are not public. It sees the address after the name
// was resolved, so that a name which resolves to a private address does not help.
func guard(allowPrivate bool) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if !allowPrivate && !Public(at.Addr()) {
			return fmt.Errorf("%w: %s", errNotPublic, at.Addr())
		}
		return nil
	}
}

// private are networks that are not public and that netip's own predicates do not know.
var private = []netip.Prefix{
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

// Public reports whether any client may make this service send to an address.
func Public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("") // no prefix contains an address with a zone
	if ip.Is6() && !allocated.Contains(ip) {
		return false
	}
	for _, p := range private {
		if p.Contains(ip) {
			return false
		}
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast()
}
