// Package http1 is a client for many small HTTP/1.1 requests whose answers hardly matter beyond their status, as
// webhooks are. The goroutine that calls Do writes the request, in one write, and reads the answer itself; an
// http.Transport has two more goroutines for each connection, and passing work between them costs more than all the
// rest: it takes twice the CPU time and 61 allocations where this client takes 16, the request's own among them
// (go test -bench . ./parts/http1). fasthttp, which was measured first, allocates less and takes no less time; but it
// does not see that the server has closed a connection before it uses it again, does not stop with a context, and has no
// status where a body does not come whole.
//
// Answers are read by http.ReadResponse; nothing here parses what a server sends. It is not for proxies, cookies,
// HTTP/2, compression, or reading bodies: an answer's body is passed over. It follows no redirect.
//
// A Client owns no goroutine, and a timer while there are connections that it keeps.
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
	// MaxBody is where a request's body is too large for Do: it is written as a whole before the answer is
	// read, and what fits into a socket's buffers cannot wait for a server that does not read it.
	MaxBody = 64 << 10

	// keepFor is how long a connection is kept unused, as by http.DefaultTransport.
	keepFor = 90 * time.Second

	// maxInterim bounds the 1xx answers before the final one, as net/http does.
	maxInterim = 5
)

// ErrUnfit says that a request is not one for this client: nothing was sent, and an http.Client can take it.
var ErrUnfit = errors.New("the request needs more than http1 does")

// Client sends requests and keeps connections. Its fields must not change once it is used; its methods may be
// called by any goroutine at any time.
type Client struct {
	Dial      func(ctx context.Context, network, address string) (net.Conn, error)
	TLS       *tls.Config   // for https; nil: the default. Its ServerName and NextProtos are set here
	Timeout   time.Duration // of a request, from dialling to the end of the answer
	MaxIdle   int           // connections that are kept for later, to all servers together
	MaxHeader int64         // bytes of an answer's header; more is an error
	MaxAnswer int64         // bytes of an answer's body that are read; after more the connection is closed

	mu    sync.Mutex
	idle  map[server][]*conn // to each, the one that was used last is last
	kept  int                // connections in idle
	sweep *time.Timer        // set while there are any
}

// server is where a connection leads.
type server struct{ scheme, host string }

// Do sends a request and returns the answer's status and header; its body is empty. An answer counts from the end of
// its header on, whatever becomes of its body. A connection ends with the context of the request that it was
// opened for, so all requests of a client should have the same.
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
		if b <= ' ' || b >= 0x7f || b == '%' { // to be encoded, or a zone
			return false
		}
	}
	return req.ContentLength > 0 && req.ContentLength <= MaxBody && (req.URL.Scheme == "http" || req.URL.Scheme == "https")
}

// connect returns a connection to a request's server that was kept, or a new one.
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
		port = req.URL.Scheme // a service's name is as good as its number
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

// take returns the connection to a server that was used last, which the server is least likely to have closed.
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

// keep keeps a connection for later; if there are too many, instead of another.
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

// evict closes a connection to whichever server the map's order, which is random, yields first. The caller holds the
// mutex.
func (c *Client) evict() {
	for to, list := range c.idle {
		if len(list) > 0 {
			c.drop(to, list, 1)
			return
		}
	}
}

// drop closes the first connections of a list, which were used before the others. The caller holds the mutex.
func (c *Client) drop(to server, list []*conn, n int) {
	for _, conn := range list[:n] {
		conn.end()
	}
	c.kept -= n
	c.idle[to] = slices.Delete(list, 0, n)
}

// expire closes what was kept for too long.
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

// CloseIdleConnections closes the connections that are not in use.
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
