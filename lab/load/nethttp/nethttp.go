// Package nethttp drives a target with Go's own HTTP client: HTTP/1.1 and HTTP/2, plain and over
// TLS, on every system that Go runs on. It costs about five times the CPU per request of package
// http1, so use http1 for plain HTTP/1.1 on Linux.
//
// It is not for other protocols: their packages give the pool.Driver a Doer of their own, as this
// package does. Drive owns the pool's goroutines and those of the client's connections; all have
// ended when it returns.
package nethttp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/pool"

	"golang.org/x/net/http/httpguts"
)

// Config says what to send and where. Plan.Connections is the number of connections; each carries
// one request at a time.
type Config struct {
	// Target is the scheme, host and port: https://127.0.0.1:8443. A path is ignored; the corpus
	// has its own.
	Target string
	Corpus *corpus.Corpus
	HTTP2  bool // use HTTP/2: by ALPN over TLS, by prior knowledge without TLS
	TLS    TLS
	Think  time.Duration // closed model: each connection's pause after an answer
	// Follow is the number of redirects within the target that a request follows; the request's
	// latency then covers all its answers.
	Follow int
}

// Driver is a load.Driver. It can drive several plans, one after the other.
type Driver struct {
	config   Config
	requests []*http.Request
	addr     string // host:port
	dial     dialer
	refused  corpus.Refusals
	// unconnected notes why connections failed: no status says, for example, that a certificate
	// is not trusted.
	unconnected load.Notes
	negotiated  Negotiated
}

var _ load.Driver = (*Driver)(nil)

// New checks the configuration and prepares the requests. It does not connect yet.
func New(c Config) (*Driver, error) {
	u, err := url.Parse(c.Target)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("target %q: write http://HOST:PORT or https://HOST:PORT", c.Target)
	}
	if err := c.Corpus.Prepare(); err != nil {
		return nil, err
	}
	d := &Driver{config: c, addr: address(u)}
	if u.Scheme == "https" {
		if d.dial.tls, err = c.TLS.Config(u.Hostname(), c.HTTP2); err != nil {
			return nil, err
		}
	}
	for i := range c.Corpus.Requests {
		r, err := prepare(&c.Corpus.Requests[i], u)
		if err != nil {
			return nil, fmt.Errorf("request %d of the corpus: %w", i+1, err)
		}
		d.requests = append(d.requests, r)
	}
	return d, nil
}

// prepare builds the part of a request that does not change from one send to the next.
func prepare(r *corpus.Request, target *url.URL) (*http.Request, error) {
	out, err := http.NewRequest(r.Method, target.Scheme+"://"+target.Host+r.Path, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range r.Header {
		for _, value := range values {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return nil, fmt.Errorf("header %q: %q cannot be sent", name, value)
			}
		}
	}
	out.ContentLength = int64(len(r.Body))
	if r.Header != nil {
		out.Header = r.Header.Clone()
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header["User-Agent"] = nil // the transport then sends none, so that both engines send the same bytes
	}
	out.Host = r.Header.Get("Host")
	return out, nil
}

// Engine returns the driver's name.
func (d *Driver) Engine() string { return "std" }

// Notes returns why connections failed, how many answers failed, and the first of those.
func (d *Driver) Notes() []string { return append(d.unconnected.Notes(), d.refused.Notes()...) }

// Protocol returns what the connections negotiated; see load.Negotiating.
func (d *Driver) Protocol() string { return d.negotiated.String() }

// Drive carries out the plan; see load.Driver.
func (d *Driver) Drive(ctx context.Context, p *load.Plan, rec *load.Recorder) error {
	c := &client{driver: d, conns: make([]*Conn, max(p.Connections, 1))}
	for i := range c.conns {
		c.conns[i] = newConn(&d.dial, d.addr, d.dial.tls != nil, d.config.HTTP2)
	}
	defer c.close()
	workers := &pool.Driver{Name: d.Engine(), Doer: c, Think: d.config.Think, Next: d.config.Corpus.Take}
	return workers.Drive(ctx, p, rec)
}
