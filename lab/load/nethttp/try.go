package nethttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// Try makes one connection and sends the corpus's first request over it. It sends nothing if the
// request may change the target (its method is neither GET nor HEAD) or may be sent only once.
// Try returns the answer's status and where a redirect leads, or 0 if there was no answer: a
// target that answers slowly or closes the connection still counts as reachable. An error says
// why no connection could be made, or that the target expects TLS.
func (d *Driver) Try(ctx context.Context) (status int, location string, err error) {
	made, err := d.dial.dial(ctx, "tcp", d.addr, d.dial.tls != nil)
	if err != nil {
		return 0, "", d.unreachable(err)
	}
	c := newConn(&d.dial, d.addr, d.dial.tls != nil, d.config.HTTP2)
	c.ready <- made
	defer c.Close()
	first := d.requests[0]
	if first.Method != http.MethodGet && first.Method != http.MethodHead || d.config.Corpus.Supply != nil {
		return 0, "", nil
	}
	answer, err := d.roundTrip(c, first.WithContext(ctx))
	if err != nil && d.dial.tls == nil && speaksTLS(err) {
		return 0, "", fmt.Errorf("%s answers in TLS; write https://", d.addr)
	}
	if err != nil {
		return 0, "", nil
	}
	defer answer.Body.Close()
	if d.dial.tls == nil && answer.StatusCode == http.StatusBadRequest && refusedPlain(answer.Body) {
		return 0, "", fmt.Errorf("%s says that it speaks HTTPS; write https://", d.addr)
	}
	return answer.StatusCode, answer.Header.Get("Location"), nil
}

// speaksTLS reports whether an answer began with a TLS alert (RFC 8446, section 5.1: content type
// 21, then version 3.x). TLS servers send one when they receive plain HTTP.
func speaksTLS(err error) bool {
	return strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`)
}

// refusedPlain reports whether the body of a 400 says that the port speaks HTTPS, in the words of
// Go's server, nginx or Apache.
func refusedPlain(body io.Reader) bool {
	text, _ := io.ReadAll(io.LimitReader(body, 1<<10))
	for _, said := range []string{"HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled server port"} {
		if bytes.Contains(text, []byte(said)) {
			return true
		}
	}
	return false
}

// unreachable turns a connection error into one that names the address, the cause and, if known,
// the fix.
func (d *Driver) unreachable(err error) error {
	var (
		name        *net.DNSError
		handshake   *handshakeError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		plain       tls.RecordHeaderError
	)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s: connection refused", d.addr)
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Errorf("%s: the name has no address (%s)", d.addr, name.Err)
	case errors.As(err, &authority):
		return fmt.Errorf("TLS with %s: %w; -k (load.tls.insecure) trusts any certificate, load.tls.ca names an authority", d.addr, authority)
	case errors.As(err, &certificate):
		return fmt.Errorf("TLS with %s: %w; -k (load.tls.insecure) trusts any certificate", d.addr, certificate.Err)
	case errors.As(err, &plain):
		return fmt.Errorf("TLS with %s: it does not speak TLS; write http://", d.addr)
	case errors.As(err, &handshake) && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("TLS with %s: the handshake was not answered in time; if it speaks plain HTTP, write http://", d.addr)
	case errors.As(err, &handshake):
		return fmt.Errorf("TLS with %s: %w", d.addr, handshake.error)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not accept a connection in time", d.addr)
	}
	return fmt.Errorf("connecting to %s: %w", d.addr, err)
}
