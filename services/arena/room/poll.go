package room

import (
	"slices"
	"sync"
)

// Reader reads what a client sends, in the room's goroutine.
type Reader interface {
	// Poll reads what has come, without waiting. An error ends the client.
	Poll(buf []byte) error
	// End ends the client for the error, and takes it out of the room. It may wait, in a goroutine
	// of its own.
	End(err error)
}

// pollSize bounds what is read of a client in a tick, in bytes: a message fits four times.
const pollSize = 16 << 10

// poller is what a room reads with.
type poller struct {
	buf    [pollSize]byte
	now    []*Client
	ending sync.WaitGroup
}

func (p *poller) end(reader Reader, err error) { p.ending.Go(func() { reader.End(err) }) }

// Adopt has the room read a client in each tick from now on: its inputs are due in the tick anyway,
// and no goroutine has to be woken for them. False: the room has ended.
func (r *Room) Adopt(c *Client, reader Reader) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	c.reader = reader
	r.polled = append(r.polled, c)
	return true
}

// poll reads what has come from the clients, whose messages may take the room's lock.
func (r *Room) poll() {
	p := &r.poller
	r.mu.Lock()
	p.now = append(p.now[:0], r.polled...)
	r.mu.Unlock()
	for _, c := range p.now {
		err := c.reader.Poll(p.buf[:])
		if err == nil {
			continue
		}
		r.mu.Lock()
		r.polled = slices.DeleteFunc(r.polled, func(other *Client) bool { return other == c })
		r.mu.Unlock()
		p.end(c.reader, err)
	}
	clear(p.now)
}
