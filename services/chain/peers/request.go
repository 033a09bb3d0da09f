package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
)

// answered is how a request came out.
type answered struct {
	body []byte
	err  error
}

// calls are the requests made to a peer.
type calls struct {
	mu      sync.Mutex
	last    uint64
	over    bool
	waiting map[uint64]chan answered // by id; of capacity 1
}

// Refusal is the error of a request that the peer answered with an error. Its text is foreign.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return fmt.Sprintf("the peer answered: %.200q", r.Text) }

// Request sends a request to a peer and returns its answer. It waits until ctx ends. Errors:
// ErrGone, ErrFull, ErrBusy, and *Refusal, which is the peer's own.
func (n *Network) Request(ctx context.Context, to ID, kind Kind, body []byte) ([]byte, error) {
	p := n.peer(to)
	if p == nil {
		return nil, ErrGone
	}
	id, wait, err := p.calls.begin()
	if err != nil {
		return nil, err
	}
	defer p.calls.forget(id)
	if err := p.send(message{form: request, kind: kind, id: id, body: body}); err != nil {
		return nil, err
	}
	select {
	case a := <-wait:
		return a.body, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *calls) begin() (uint64, chan answered, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return 0, nil, ErrGone
	case len(c.waiting) >= answering:
		return 0, nil, ErrBusy
	}
	c.last++
	wait := make(chan answered, 1)
	c.waiting[c.last] = wait
	return c.last, wait, nil
}

func (c *calls) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// answer gives an answer to the caller that waits for it. Others have given up.
func (c *calls) answer(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := c.waiting[m.id]
	if wait == nil {
		return
	}
	delete(c.waiting, m.id)
	switch {
	case m.form == answer:
		wait <- answered{body: bytes.Clone(m.body)}
	case string(m.body) == ErrBusy.Error():
		wait <- answered{err: ErrBusy}
	default:
		wait <- answered{err: &Refusal{string(m.body)}}
	}
}

// fail ends all requests: the connection has.
func (c *calls) fail() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for id, wait := range c.waiting {
		wait <- answered{err: ErrGone}
		delete(c.waiting, id)
	}
}

// serveRequest has a request answered by a goroutine, which then gives the buffer back. It never
// waits for others to end: they may wait for a later message of the same peer.
func (p *peer) serveRequest(m message, b *bytes.Buffer) error {
	do := p.n.answers[m.kind]
	if do == nil {
		p.free(b)
		return Offencef("a request of kind %d, which this node does not know", m.kind)
	}
	select {
	case p.slots <- struct{}{}:
	default:
		p.free(b)
		_ = p.send(message{form: refusal, id: m.id, body: []byte(ErrBusy.Error())}) // what is dropped is counted
		return nil
	}
	p.tasks.Go(func() {
		defer func() { <-p.slots }()
		defer p.free(b)
		body, err := do(p.ctx, p.id, m.body)
		out := message{form: answer, id: m.id, body: body}
		if offence := (*Offence)(nil); errors.As(err, &offence) {
			p.end(err)
		}
		if err != nil {
			out = message{form: refusal, id: m.id, body: []byte(err.Error())}
		}
		_ = p.send(out) // the caller's patience ends when it was dropped
	})
	return nil
}
