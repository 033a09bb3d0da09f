package http1

import (
	"dyno/lab/load"
	"dyno/lab/load/http1/wire"
)

type connState uint8

const (
	down       connState = iota // no socket; sender.reconnect makes one
	connecting                  // the handshake is in progress
	up
)

// conn is one connection of a sender; when its socket is lost, the sender opens another for it.
type conn struct {
	index int32
	gen   int32 // number of its current socket; events of earlier sockets are ignored
	fd    int
	state connState
	idle  bool // queued in sender.idle

	since    int64 // the instant the handshake began
	retry    int64 // earliest instant of the next attempt to connect
	failures int   // failed attempts in a row
	pending  int   // closed model: requests to make as soon as it is connected again

	flights []flight // a ring buffer of the requests that were sent and not yet answered
	first   int
	count   int
	freeAt  int64 // the instant since which it could have taken a request
	parser  wire.Parser

	out       []byte // request bytes that the socket has not accepted
	broken    bool   // a write has failed; nothing more is written
	brokenWhy load.Status
}

// due is a request whose intended time has come.
type due struct {
	seq      uint64
	intended int64
	index    int // of its request in the corpus
}

// flight is a request that was sent.
type flight struct {
	due
	sent int64
	req  *wire.Request
}

func (c *conn) oldest() *flight { return &c.flights[c.first] }

func (c *conn) push(f flight) {
	at := c.first + c.count
	if at >= len(c.flights) {
		at -= len(c.flights)
	}
	c.flights[at] = f
	if c.count++; c.count == 1 {
		c.parser.Begin(f.req.ToHead, f.req.Content)
	}
}

func (c *conn) pop() {
	if c.first++; c.first == len(c.flights) {
		c.first = 0
	}
	if c.count--; c.count > 0 {
		next := c.oldest()
		c.parser.Begin(next.req.ToHead, next.req.Content)
	}
}

// connected resets the state that belongs to one socket.
func (c *conn) connected(at int64) {
	c.state, c.freeAt = up, at
	c.out, c.broken = c.out[:0], false
}

// socket identifies one of the sockets that a conn has over time.
type socket struct{ index, gen int32 }

// failedTry is a handshake that failed in the very call that began it.
type failedTry struct {
	socket
	status load.Status
}
