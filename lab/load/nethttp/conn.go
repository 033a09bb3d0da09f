package nethttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"dyno/lab/load/corpus"
)

// TLS holds the settings of TLS. The zero TLS verifies certificates against the system's
// authorities.
type TLS struct {
	CA       []byte // PEM; authorities that replace the system's; nil: use the system's
	Insecure bool   // accept any certificate
	Version  string // "1.2" or "1.3"; empty: the newest version that both sides support, at least 1.2
}

// TLSOf returns the TLS settings of a load.
func TLSOf(s *corpus.Spec) TLS { return TLS{CA: s.CA, Insecure: s.Load.TLS.Insecure} }

// Config returns the client settings for a host; they negotiate HTTP/2, or only HTTP/1.1, which
// WebSockets need.
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
	if t.CA == nil {
		return c, nil
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(t.CA) {
		return nil, errors.New("the certificate authority holds no certificate in PEM form")
	}
	return c, nil
}

// dialer makes connections; tls holds the settings for secure ones.
type dialer struct {
	net net.Dialer
	tls *tls.Config
}

func (d *dialer) dial(ctx context.Context, network, addr string, secure bool) (net.Conn, error) {
	c, err := d.net.DialContext(ctx, network, addr)
	if err != nil || !secure {
		return c, err
	}
	settings := d.tls
	if settings.ServerName == "" {
		settings = settings.Clone()
		settings.ServerName, _, _ = net.SplitHostPort(addr)
	}
	made := tls.Client(c, settings)
	if err := made.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, &handshakeError{err}
	}
	return made, nil
}

// handshakeError is a TLS handshake that failed, whatever the reason.
type handshakeError struct{ error }

func (e *handshakeError) Unwrap() error { return e.error }

// Conn is one connection to a target; its transport reconnects when the connection is lost. If
// the target redirects to other hosts, the transport makes one connection to each of them.
type Conn struct {
	Transport *http.Transport
	dial      *dialer
	addr      string        // of the target
	secure    bool          // the target's
	ready     chan net.Conn // the first connection to the target, made before the first request
}

// NewConn returns a connection to a target, which is made when it is first needed. The settings
// apply to every host whose URL has the scheme https.
func NewConn(target *url.URL, settings *tls.Config, http2 bool) *Conn {
	return newConn(&dialer{tls: settings}, address(target), target.Scheme == "https", http2)
}

func address(u *url.URL) string { return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), u.Scheme)) }

func newConn(d *dialer, addr string, secure, http2 bool) *Conn {
	c := &Conn{dial: d, addr: addr, secure: secure, ready: make(chan net.Conn, 1)}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2 && secure)
	protocols.SetUnencryptedHTTP2(http2 && !secure)
	c.Transport = &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return c.take(ctx, network, addr, false)
		},
		DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return c.take(ctx, network, addr, true)
		},
		MaxConnsPerHost:        1,
		MaxIdleConnsPerHost:    1,
		DisableCompression:     true, // the target chooses the encoding of its answers
		MaxResponseHeaderBytes: maxHeader,
		Protocols:              protocols,
	}
	return c
}

// maxHeader bounds an answer's header.
const maxHeader = 64 << 10 // bytes

// connectLimit bounds the time for connecting before the run's start.
const connectLimit = 10 * time.Second

// Prepare connects before the run's start. If that fails, the first request connects again and
// reports the failure.
func (c *Conn) Prepare(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	if made, err := c.dial.dial(ctx, "tcp", c.addr, c.secure); err == nil {
		c.ready <- made
	}
}

func (c *Conn) take(ctx context.Context, network, addr string, secure bool) (net.Conn, error) {
	if secure == c.secure && addr == c.addr {
		select {
		case made := <-c.ready:
			return made, nil
		default:
		}
	}
	return c.dial.dial(ctx, network, addr, secure)
}

// Close closes the connections; the caller makes sure that no request is in flight.
func (c *Conn) Close() {
	select {
	case unused := <-c.ready:
		unused.Close()
	default:
	}
	c.Transport.CloseIdleConnections()
}
