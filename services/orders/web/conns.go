package web

import (
	"context"
	"fmt"
	"net"
	"sync"

	"dyno/parts/lameduck"
)

// listener knows its connections, and can cut off those that are left at the end.
type listener struct {
	net.Listener
	under *lameduck.Listener // Listener, or what is below its TLS

	mu    sync.Mutex
	conns map[*conn]struct{}
	gone  sync.Cond // len(conns) went to 0
}

// newListener bounds the connections of a listener: fasthttp's own refusal is no JSON.
func newListener(l net.Listener, under *lameduck.Listener, most int) *listener {
	out := &listener{Listener: l, under: under, conns: map[*conn]struct{}{}}
	door := under.Door
	if door.Refusal = overfull; door.Most == 0 || door.Most > most {
		door.Most = most
	}
	out.gone.L = &out.mu
	return out
}

// Accept returns the next connection to serve.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.add(c), nil
}

// overfull is the answer to a connection beyond the bound.
var overfull = func() string {
	body := errorBody("too many connections are open here; try again later")
	return fmt.Sprintf("HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
}()

func (l *listener) add(c net.Conn) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := &conn{Conn: c, under: lameduck.Of(c), owner: l}
	known.ctx, known.cancel = context.WithCancel(context.Background())
	l.conns[known] = struct{}{}
	return known
}

func (l *listener) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.conns, c); len(l.conns) == 0 {
		l.gone.Broadcast()
	}
}

// cutOff ends all connections, and says how many requests were under way on them. It returns when
// fasthttp has let go of all of them, which is when their handlers have returned.
func (l *listener) cutOff() (cut int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if c.under.Busy() {
			cut++
		}
	}
	l.mu.Unlock()
	l.under.CutOff() // before handlers hear of it, so that none has time for an answer
	l.mu.Lock()
	for c := range l.conns {
		c.cancel()
	}
	for len(l.conns) > 0 {
		l.gone.Wait()
	}
	return cut
}

// conn is a connection of which it is known whether a request is under way: from when a handler is
// called until the answer is sent. A request that has not arrived whole is not under way: nothing
// of it was done.
//
// fasthttp serves a connection in one goroutine, which calls all methods.
type conn struct {
	net.Conn
	under *lameduck.Conn // Conn, or what is below its TLS
	owner *listener
	sent  bool // since a handler was called something was sent, maybe all
	over  bool // no request follows, and half a one is not answered

	ctx    context.Context // of its requests: ends when they are cut off
	cancel context.CancelFunc
}

// begin says that a handler is about to be called.
func (c *conn) begin() {
	c.under.Begin()
	c.sent = false
}

func (c *conn) Write(p []byte) (int, error) {
	if c.over {
		return 0, net.ErrClosed
	}
	c.sent = true
	return c.Conn.Write(p)
}

// Read is called when all answers are sent, as fasthttp keeps none back while it waits for a
// request; or for the rest of one that came together with another, whose answer is not sent yet.
func (c *conn) Read(p []byte) (int, error) {
	if c.sent {
		c.sent = false
		c.under.End()
	}
	n, err := c.Conn.Read(p)
	c.over = err != nil && c.owner.under.Leaving()
	return n, err
}

// Close is called by fasthttp when it is done with the connection.
func (c *conn) Close() error {
	c.cancel()
	err := c.Conn.Close()
	c.owner.remove(c)
	return err
}
