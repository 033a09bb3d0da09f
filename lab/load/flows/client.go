package flows

import (
	"context"
	"crypto/tls"
	"net/url"
	"sync"

	"dyno/lab/load/nethttp"
)

// prepared is the number of connections that are made before the start of a plan. If more flows
// run concurrently, more are made during the plan.
const prepared = 64

// clients lends each running flow a connection of its own. A new flow gets the connection that
// was returned last, so that no more connections are open than flows have run concurrently.
type clients struct {
	target   *url.URL // of the first step; only its scheme, host and port matter
	settings *tls.Config
	http2    bool

	mu   sync.Mutex
	free []*nethttp.Conn // guarded by mu
}

func (d *Driver) newClients() (*clients, error) {
	trust, http2 := nethttp.TLSOf(&d.spec), d.spec.Load.TLS.HTTP2
	settings, err := trust.Config("", http2)
	return &clients{target: d.steps[0].host, settings: settings, http2: http2}, err
}

func (c *clients) open() *nethttp.Conn { return nethttp.NewConn(c.target, c.settings, c.http2) }

// prepare makes a connection before the start of a plan.
func (c *clients) prepare(ctx context.Context) {
	made := c.open()
	made.Prepare(ctx)
	c.put(made)
}

func (c *clients) take() *nethttp.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.free)
	if n == 0 {
		return c.open()
	}
	last := c.free[n-1]
	c.free = c.free[:n-1]
	return last
}

func (c *clients) put(conn *nethttp.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, conn)
}

// close closes the connections; the caller makes sure that no flow runs any more.
func (c *clients) close() {
	for _, conn := range c.free {
		conn.Close()
	}
}
