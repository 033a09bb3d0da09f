package std

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// TLS holds the settings of TLS. The zero TLS verifies against the system's certificates.
type TLS struct {
	CAFile   string // PEM; trusted in place of the system's certificates
	CA       []byte // the content of such a file, in place of CAFile
	Insecure bool   // accept any certificate
	Version  string // "1.2" or "1.3"; empty: the newest from 1.2 on that both sides support
}

// Config returns the settings of a client of a host, for HTTP/1.1 (as WebSockets need it) or
// HTTP/2.
func (t *TLS) Config(host string, http2 bool) (*tls.Config, error) {
	c := &tls.Config{ServerName: host, InsecureSkipVerify: t.Insecure, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if http2 {
		c.NextProtos = []string{"h2"}
	}
	switch t.Version {
	case "":
	case "1.2":
		c.MaxVersion = tls.VersionTLS12
	case "1.3":
		c.MinVersion = tls.VersionTLS13
	default:
		return nil, fmt.Errorf("TLS version %q: write 1.2 or 1.3", t.Version)
	}
	pem := t.CA
	if t.CAFile != "" {
		var err error
		if pem, err = os.ReadFile(t.CAFile); err != nil {
			return nil, fmt.Errorf("reading the certificate authority: %w", err)
		}
	}
	if pem == nil && t.CAFile == "" {
		return c, nil
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", cmp.Or(t.CAFile, "the certificate authority"))
	}
	return c, nil
}

// dialer makes connections; tls is nil for plain TCP.
type dialer struct {
	net net.Dialer
	tls *tls.Config
}

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.net.DialContext(ctx, network, addr)
	if err != nil || d.tls == nil {
		return c, err
	}
	secure := tls.Client(c, d.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, &handshakeError{err}
	}
	return secure, nil
}

// handshakeError is a TLS handshake that failed, whatever the reason.
type handshakeError struct{ error }

func (e *handshakeError) Unwrap() error { return e.error }

// conn is one connection; its transport replaces it when it is lost.
type conn struct {
	transport *http.Transport
	dial      *dialer
	addr      string
	ready     chan net.Conn // the first connection, made before the first request
}

func newConn(d *dialer, addr string, http2 bool) *conn {
	c := &conn{dial: d, addr: addr, ready: make(chan net.Conn, 1)}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2 && d.tls != nil)
	protocols.SetUnencryptedHTTP2(http2 && d.tls == nil)
	c.transport = &http.Transport{
		DialContext:            c.take,
		MaxConnsPerHost:        1,
		MaxIdleConnsPerHost:    1,
		DisableCompression:     true, // the target chooses the encoding of its answers
		MaxResponseHeaderBytes: maxHeader,
		Protocols:              protocols,
	}
	if d.tls != nil {
		c.transport.DialTLSContext = c.take
	}
	return c
}

// maxHeader bounds an answer's header.
const maxHeader = 64 << 10 // bytes

// connectLimit bounds the time of a first connection, which is made before any offer.
const connectLimit = 10 * time.Second

// prepare makes the first connection. If it fails, the first request tries again and reports the
// failure.
func (c *conn) prepare(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	if made, err := c.dial.dial(ctx, "tcp", c.addr); err == nil {
		c.ready <- made
	}
}

func (c *conn) take(ctx context.Context, network, addr string) (net.Conn, error) {
	select {
	case made := <-c.ready:
		return made, nil
	default:
		return c.dial.dial(ctx, network, addr)
	}
}

func (c *conn) close() {
	select {
	case unused := <-c.ready:
		unused.Close()
	default:
	}
	c.transport.CloseIdleConnections()
}
