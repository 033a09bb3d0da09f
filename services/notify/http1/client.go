// Package http1 is an HTTP/1.1 client for many small requests of which only the response status
// matters, such as webhooks. The goroutine that calls Do writes the request with one write and
// reads the response itself. An http.Transport has two more goroutines per connection, and passing
// work between them costs more than all the rest: it takes twice the CPU time and 61 allocations
// where this client takes 16, those of the request included (go test -bench .
// ./services/notify/http1). fasthttp, which was measured first, allocates less and takes no less
// time; but it does not notice that the server has closed a connection before it reuses it, does
// not stop with a context, and returns no status when a body does not arrive in full.
//
// http.ReadResponse reads the responses; nothing here parses what a server sends. The package is
// not for proxies, cookies, HTTP/2, compression or reading bodies: a response's body is skipped. It
// follows no redirects.
//
// A Client owns no goroutine, and one timer while it keeps idle connections.
package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// MaxBody is the size from which a request's body is too large for Do: Do writes all of it before
	// it reads the response, so what exceeds a socket's buffers would wait for a server that does not
	// read.
	MaxBody = 64 << 10

	// keepFor is how long an unused connection is kept, as in http.DefaultTransport.
	keepFor = 90 * time.Second

	// maxInterim bounds the 1xx answers before the final one, as net/http does.
	maxInterim = 5
)

// ErrUnfit means that this client cannot send the request. Nothing was sent; an http.Client can
// send it.
var ErrUnfit = errors.New("the request needs more than http1 does")

// Client sends requests and keeps connections. Its fields must not change after the first use; its
// methods are safe for concurrent use.
type Client struct {
	Dial      func(ctx context.Context, network, address string) (net.Conn, error)
	TLS       *tls.Config   // for https; nil means the default. Client sets ServerName and NextProtos
	Timeout   time.Duration // of a request, from dialling to the end of the response
	MaxIdle   int           // idle connections kept for reuse, to all servers together
	MaxHeader int64         // limit of a response's header, in bytes; a larger one is an error
	MaxAnswer int64         // limit of a response's body, in bytes; after more the connection is closed

	mu    sync.Mutex
	idle  map[server][]*conn // per server; the most recently used is last
	kept  int                // connections in idle
	sweep *time.Timer        // set while there are idle connections
}

// server is the address that a connection leads to.
type server struct{ scheme, host string }

// Do sends a request and returns the status and header of the response; its body is empty. A
// response is valid from the end of its header on, even if reading its body fails. A connection
// ends with the context of the request that it was opened for, so all requests of a client should
// use the same context.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	if !fit(req) {
		return nil, ErrUnfit
	}
	deadline := time.Now().Add(c.Timeout)
	for {
		conn, reused, err := c.connect(req, deadline)
		if err != nil {
			return nil, err
		}
		resp, untouched, err := conn.exchange(req, c)
		switch {
		case err == nil && !resp.Close:
			c.keep(conn)
		case err != nil && untouched && reused && req.GetBody != nil:
			conn.end()
			body, err := req.GetBody()
			if err != nil {
				return nil, err
			}
			again := *req
			again.Body, req = body, &again
			continue
		default:
			conn.end()
		}
		return resp, err
	}
}

// fit reports whether Do can send a request.
func fit(req *http.Request) bool {
	for _, b := range []byte(req.URL.Host) {
		if b <= ' ' || b >= 0x7f || b == '%' { // needs encoding, or is an IPv6 zone
			return false
		}
	}
	return req.ContentLength > 0 && req.ContentLength <= MaxBody && (req.URL.Scheme == "http" || req.URL.Scheme == "https")
}

// connect returns a kept connection to the request's server, or a new one.
func (c *Client) connect(req *http.Request, deadline time.Time) (_ *conn, reused bool, err error) {
	to := server{req.URL.Scheme, req.URL.Host}
	for kept := c.take(to); kept != nil; kept = c.take(to) {
		if kept.SetDeadline(deadline) == nil && kept.quiet() {
			return kept, true, nil
		}
		kept.end()
	}
	ctx, cancel := context.WithDeadline(req.Context(), deadline)
	defer cancel()
	port := req.URL.Port()
	if port == "" {
		port = req.URL.Scheme // net.Dial takes a service name like a port number
	}
	raw, err := c.Dial(ctx, "tcp", net.JoinHostPort(req.URL.Hostname(), port))
	if err != nil {
		return nil, false, err
	}
	if to.scheme == "https" {
		secured := tls.Client(raw, c.tls(req.URL.Hostname()))
		if err := secured.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, false, err
		}
		return newConn(req.Context(), to, raw, secured, deadline), false, nil
	}
	return newConn(req.Context(), to, raw, raw, deadline), false, nil
}

func (c *Client) tls(name string) *tls.Config {
	config := c.TLS.Clone()
	if config == nil {
		config = new(tls.Config)
	}
	config.ServerName, config.NextProtos = name, []string{"http/1.1"}
	return config
}

// take returns the most recently used connection to a server, which the server is least likely to
// have closed.
func (c *Client) take(to server) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.idle[to]
	if len(list) == 0 {
		return nil
	}
	last := list[len(list)-1]
	list[len(list)-1] = nil
	c.idle[to] = list[:len(list)-1]
	c.kept--
	return last
}

// keep stores a connection for reuse. When MaxIdle is reached, it replaces another one.
func (c *Client) keep(used *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle == nil {
		c.idle = map[server][]*conn{}
	}
	used.since = time.Now()
	c.idle[used.to] = append(c.idle[used.to], used)
	c.kept++
	if c.kept > c.MaxIdle {
		c.evict()
	}
	if c.sweep == nil {
		c.sweep = time.AfterFunc(keepFor/2, c.expire)
	}
}

// evict closes a connection to a random server: the first one in map order. The caller holds the
// mutex.
func (c *Client) evict() {
	for to, list := range c.idle {
		if len(list) > 0 {
			c.drop(to, list, 1)
			return
		}
	}
}

// drop closes the n oldest connections of a list. The caller holds the mutex.
func (c *Client) drop(to server, list []*conn, n int) {
	for _, conn := range list[:n] {
		conn.end()
	}
	c.kept -= n
	c.idle[to] = slices.Delete(list, 0, n)
}

// expire closes connections that were idle for longer than keepFor.
func (c *Client) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for to, list := range c.idle {
		n := 0
		for n < len(list) && time.Since(list[n].since) >= keepFor {
			n++
		}
		c.drop(to, list, n)
		if n == len(list) {
			delete(c.idle, to)
		}
	}
	c.sweep = nil
	if c.kept > 0 {
		c.sweep = time.AfterFunc(keepFor/2, c.expire)
	}
}

// CloseIdleConnections closes the idle connections.
func (c *Client) CloseIdleConnections() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for to, list := range c.idle {
		c.drop(to, list, len(list))
	}
	clear(c.idle)
	if c.sweep != nil {
		c.sweep.Stop()
		c.sweep = nil
	}
}
