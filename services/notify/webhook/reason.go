package webhook

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"dyno/parts/hostport"
)

// reason says in a few words why an attempt got no answer. Subscribers read it: an error's own text
// would show them which address a name resolves to inside this network, which name server answered,
// and what the receiver sent that was no HTTP. The log has that text, at debug level.
func reason(err error) string {
	var late net.Error
	var lookup *net.DNSError
	var certificate *tls.CertificateVerificationError
	is := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	switch {
	case is(hostport.ErrNotPublic):
		return "address not allowed: it is not public"
	case errors.As(err, &late) && late.Timeout():
		return "no answer in time"
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "name does not resolve"
	case lookup != nil:
		return "name lookup failed"
	case is(syscall.ECONNREFUSED):
		return "connection refused"
	case is(syscall.EHOSTUNREACH, syscall.ENETUNREACH):
		return "receiver not reachable"
	case is(io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE):
		return "connection closed before the answer"
	case errors.As(err, &certificate):
		return "certificate not accepted"
	case strings.Contains(err.Error(), "tls: "): // most errors of crypto/tls have no type
		return "TLS handshake failed"
	}
	return "no HTTP answer"
}
