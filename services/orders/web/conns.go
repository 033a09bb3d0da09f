package web

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// listener knows its connections: it refuses those beyond its bound, and it can tell those with a request under way
// from those without. fasthttp's own shutdown waits for both alike, and its own refusal is no JSON.
type listener struct {
	net.Listener
	max int
	log *slog.Logger

	draining atomic.Bool

	mu    sync.Mutex
	conns map[*conn]struct{}
	empty chan struct{} // closed when the last one is gone, once draining
}

func newListener(l net.Listener, most int, log *slog.Logger) *listener {
	return &listener{Listener: l, max: most, log: log, conns: map[*conn]struct{}{}, empty: make(chan struct{})}
}

// acceptPause is how long to wait when the process has no file descriptors left: connections that end give some back.
const acceptPause = 50 * time.Millisecond

// Accept returns the next connection that is to be served. What passes (no file descriptor is left, a client was
// gone before it was accepted) does not end it, as it does not end net/http's loop; fasthttp's it would.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if passing, ok := err.(interface{ Temporary() bool }); ok && passing.Temporary() {
				l.log.Warn("a connection could not be accepted", "error", err)
				time.Sleep(acceptPause)
				continue
			}
			return nil, err
		}
		if known := l.add(c); known != nil {
			return known, nil
		}
		c.SetWriteDeadline(time.Now().Add(time.Second)) // nothing was sent yet: what fits the socket's buffer does not wait
		io.WriteString(c, overfull)
		c.Close()
	}
}

// overfull is what a connection beyond the bound is told.
var overfull = func() string {
	body := errorBody("too many connections are open here; try again later")
	return fmt.Sprintf("HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
}()

func (l *listener) add(c net.Conn) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.conns) >= l.max {
		return nil
	}
	known := &conn{Conn: c, owner: l}
	known.ctx, known.cancel = context.WithCancel(context.Background())
	l.conns[known] = struct{}{}
	return known
}

func (l *listener) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	if l.draining.Load() && len(l.conns) == 0 {
		close(l.empty)
	}
}

// drain ends all connections: those without a request under way at once, each other when its request is answered,
// or when patience ends. It returns when fasthttp has let go of all of them, which is when their handlers have
// returned, and says how many requests were cut off. It is called once, when nothing more is accepted.
func (l *listener) drain(patience context.Context) (cut int) {
	l.mu.Lock()
	l.draining.Store(true)
	for c := range l.conns {
		c.endWaiting()
	}
	if len(l.conns) == 0 {
		close(l.empty)
	}
	l.mu.Unlock()
	select {
	case <-l.empty:
		return 0
	case <-patience.Done():
	}
	l.mu.Lock()
	for c := range l.conns {
		if c.cutOff() {
			cut++
		}
	}
	l.mu.Unlock()
	<-l.empty
	return cut
}

// conn is a connection that knows whether a request is under way on it: from when a handler is called until the
// answer is sent. A request that has not arrived whole is not under way: nothing of it was done.
//
// fasthttp serves a connection in one goroutine, which calls all methods but endWaiting and cutOff.
type conn struct {
	net.Conn
	owner *listener
	state atomic.Int32 // waiting...

	ctx    context.Context // of its requests: ends when they are cut off
	cancel context.CancelFunc
}

const (
	waiting   = int32(iota) // for a request, or for the rest of one
	answering               // a handler was called, or its answer is in fasthttp's buffer
	sending                 // of the answer something is sent, maybe all
	ended                   // by drain
)

// begin says that a handler is about to be called, and reports whether it may.
func (c *conn) begin() bool {
	if c.state.CompareAndSwap(waiting, answering) {
		return true
	}
	if c.state.Load() == ended {
		return false
	}
	c.state.Store(answering) // pipelined: it came together with the one before
	return true
}

func (c *conn) Write(p []byte) (int, error) {
	if c.state.Load() == answering {
		c.state.Store(sending)
	}
	return c.Conn.Write(p)
}

// Read is called when all answers are sent, as fasthttp keeps none back while it waits for a request.
func (c *conn) Read(p []byte) (int, error) {
	if c.state.Load() == sending {
		c.state.Store(waiting)
		if c.owner.draining.Load() { // drain may have looked a moment too early
			return 0, io.EOF
		}
	}
	return c.Conn.Read(p)
}

// Close is called by fasthttp when it is done with the connection.
func (c *conn) Close() error {
	c.cancel()
	err := c.Conn.Close()
	c.owner.remove(c)
	return err
}

func (c *conn) endWaiting() {
	if c.state.CompareAndSwap(waiting, ended) {
		c.Conn.Close()
	}
}

// cutOff ends it whatever is under way, and reports whether something was.
func (c *conn) cutOff() bool {
	c.cancel()
	c.Conn.Close()
	state := c.state.Load()
	return state == answering || state == sending
}
