// Package doors divides the files that a process may have open (RLIMIT_NOFILE) between the
// addresses at which it listens and everything else. A flood of connections at one address leaves
// descriptors to the others, and to what the process itself opens: segments of a log, databases,
// webhooks, files of keys.
//
// Half of the files are for the connections of the public address, and a sixteenth for those of
// each other one: the debug address, a gRPC stream, other nodes. No process has more than three of
// those, so that five sixteenths are left, of which one is for connections to other programs that
// are kept for reuse (Kept).
//
// It is not for bounds that a service has for other reasons (memory, players). It owns no
// goroutines.
package doors

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// leastOpen lets a scraper, a probe and a person reach a door however few files there are.
	leastOpen = 4

	// pause is the wait after an accept failed for want of descriptors: connections that end free
	// some.
	pause = 50 * time.Millisecond

	// quiet is the time between two lines of log of the same kind, which clients can cause.
	quiet = time.Minute
)

// Refusal answers a connection beyond the bound, unless a Door has its own.
const Refusal = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

// Door is the bound of one address. Public and Private make it.
type Door struct {
	Name    string       // of the flag that has the address
	Most    int          // connections that may be open; 0: no bound
	Refusal string       // "": Refusal
	Log     *slog.Logger // nil: slog.Default()

	open           atomic.Int64
	refuses, fails seldom
}

// Public is the door of the address that a process is there for.
func Public(name string) *Door { return &Door{Name: name, Most: share(2)} }

// Private is the door of another address.
func Private(name string, log *slog.Logger) *Door {
	return &Door{Name: name, Most: share(16), Log: log}
}

// Kept returns how many connections to other programs a client may keep for reuse, of most.
func Kept(most int) int {
	if n := share(16); n > 0 {
		return min(most, n)
	}
	return most
}

func share(part int) int {
	all := files()
	if all == 0 {
		return 0
	}
	return max(all/part, leastOpen)
}

// Accept returns the next connection that accept returns and that may be open; the caller calls
// Leave when it is closed. Others are answered and closed. An error that passes (no free
// descriptor, a client that left before) is waited out.
func Accept[C net.Conn](d *Door, accept func() (C, error)) (C, error) {
	for {
		c, err := accept()
		switch {
		case err == nil && d.enter():
			return c, nil
		case err == nil:
			d.Full()
			text := d.Refusal
			if text == "" {
				text = Refusal
			}
			io.WriteString(c, text) // fits into the socket's buffer
			c.Close()
		case passes(err):
			d.Failed(err)
			time.Sleep(pause)
		default:
			return c, err
		}
	}
}

// passes reports whether accepting can go on after an error. A deadline is its caller's.
func passes(err error) bool {
	known, ok := err.(interface{ Temporary() bool })
	return ok && known.Temporary() && !errors.Is(err, os.ErrDeadlineExceeded)
}

// enter counts a connection, if it may be open.
func (d *Door) enter() bool {
	if d.open.Add(1) <= int64(d.Most) || d.Most == 0 {
		return true
	}
	d.open.Add(-1)
	return false
}

// Leave is called once for each connection that Accept returned.
func (d *Door) Leave() { d.open.Add(-1) }

// Full is called when a connection is refused because of the bound. It logs one line a minute.
func (d *Door) Full() {
	if d.refuses.due(time.Now()) {
		d.log().Warn("connections are refused: as many as may be are open", "door", d.Name, "most", d.Most)
	}
}

// Failed is called when connections cannot be accepted or passed on for a while, for want of
// descriptors. It logs one line a minute.
func (d *Door) Failed(err error) {
	if d.fails.due(time.Now()) {
		d.log().Warn("connections cannot be accepted or passed on for a moment", "door", d.Name, "error", err)
	}
}

func (d *Door) log() *slog.Logger {
	if d.Log == nil {
		return slog.Default()
	}
	return d.Log
}

// seldom is when a line of log was last written.
type seldom struct {
	mu   sync.Mutex
	last time.Time
}

func (s *seldom) due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.IsZero() && now.Sub(s.last) < quiet {
		return false
	}
	s.last = now
	return true
}

// Limit returns a listener for the connections of l that the door lets in.
func (d *Door) Limit(l net.Listener) net.Listener { return limited{l, d} }

type limited struct {
	net.Listener
	door *Door
}

func (l limited) Accept() (net.Conn, error) {
	c, err := Accept(l.door, l.Listener.Accept)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: c, leave: sync.OnceFunc(l.door.Leave)}, nil
}

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
