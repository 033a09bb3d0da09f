package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"

	"dyno/services/arena/wire"
)

const (
	maxMessage = 4096 // bytes
	maxEvents  = 256  // frames that wait for a client, beside the newest state
	perSecond  = 120  // messages of a client, and as many together
	joining    = 10 * time.Second
	writing    = 10 * time.Second
)

// client is a connection.
type client struct {
	conn   *websocket.Conn
	player uint32 // its body; 0: none
	stop   context.CancelFunc

	mu     sync.Mutex
	state  []byte   // the newest that was not written
	events [][]byte // that were not written, in order
	more   chan struct{}
}

// offer leaves frames for the writer: a state replaces one that was not written yet.
func (c *client) offer(state []byte, events ...[]byte) {
	c.mu.Lock()
	if state != nil {
		c.state = state
	}
	if len(c.events)+len(events) <= maxEvents {
		c.events = append(c.events, events...)
	}
	c.mu.Unlock()
	select {
	case c.more <- struct{}{}:
	default:
	}
}

func (h *hall) serveSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{wire.Proto}, InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // it has answered
	}
	h.tasks.Add(1)
	defer h.tasks.Done()
	h.connections.Add(1)
	defer h.connections.Add(-1)
	conn.SetReadLimit(maxMessage)
	ctx, stop := context.WithCancel(context.WithoutCancel(r.Context()))
	defer stop()
	c := &client{conn: conn, stop: stop, more: make(chan struct{}, 1)}
	var writer sync.WaitGroup
	writer.Go(func() {
		select {
		case <-h.ending:
			conn.Close(websocket.StatusGoingAway, "the server stops")
			stop()
		case <-ctx.Done():
		}
	})
	writer.Go(func() { c.write(ctx) })
	err = c.serve(ctx, h)
	stop()
	if why := (*refusal)(nil); err != nil && !errors.As(err, &why) {
		conn.CloseNow() // a write may wait for a client that is gone
	}
	writer.Wait()
	c.end(err)
}

// refusal is an error that the client receives before the end; code "": of a message in text.
type refusal struct{ code, text string }

func (e *refusal) Error() string { return e.code + ": " + e.text }

func malformed(text string) error { return &refusal{"malformed", text} }

func (c *client) send(frame []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), writing)
	defer cancel()
	return c.conn.Write(ctx, websocket.MessageBinary, frame)
}

// end closes the connection, and says why.
func (c *client) end(err error) {
	defer c.conn.CloseNow()
	var why *refusal
	switch {
	case errors.As(err, &why) && why.code == "":
		c.conn.Close(websocket.StatusUnsupportedData, why.text)
	case why != nil:
		c.send(marshal(&wire.ServerFrame{Body: &wire.ServerFrame_Error{Error: &wire.Error{Code: why.code, Message: why.text}}}))
		c.conn.Close(websocket.StatusPolicyViolation, why.code)
	case err == nil:
		c.conn.Close(websocket.StatusNormalClosure, "")
	}
}

// receive reads a frame.
func (c *client) receive(ctx context.Context) (*wire.ClientFrame, error) {
	kind, text, err := c.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	if kind != websocket.MessageBinary {
		return nil, &refusal{"", "messages are binary"}
	}
	f := new(wire.ClientFrame)
	if err := proto.Unmarshal(text, f); err != nil {
		return nil, malformed("the message is no ClientFrame")
	}
	return f, nil
}

// serve reads what the client sends until it ends; nil: it has left.
func (c *client) serve(ctx context.Context, h *hall) error {
	first, cancel := context.WithTimeout(ctx, joining)
	f, err := c.receive(first)
	cancel()
	if err != nil {
		return err
	}
	join := f.GetJoin()
	if join == nil || len(join.Name) > 32 {
		return malformed("the first message is a Join, with a name of at most 32 bytes")
	}
	r, refused := h.enter(c, join.Room, join.Resume, join.Spectate)
	if refused != nil {
		return refused
	}
	forGood := false
	defer func() { r.leave(c, forGood) }()
	limit := rate.NewLimiter(perSecond, 2*perSecond)
	for {
		f, err := c.receive(ctx)
		if err != nil {
			return err
		}
		if !limit.Allow() {
			return &refusal{"flood", "more than 120 messages a second"}
		}
		switch body := f.Body.(type) {
		case *wire.ClientFrame_Input:
			r.input(c, body.Input)
		case *wire.ClientFrame_Ping:
			c.offer(nil, r.pong(body.Ping))
		case *wire.ClientFrame_Event:
		case *wire.ClientFrame_Leave:
			forGood = true
			return nil
		default:
			return malformed("a message after the Join is an Input, Ping, GameEvent or Leave")
		}
	}
}

// write sends what waits until ctx ends.
func (c *client) write(ctx context.Context) {
	defer c.stop()
	for {
		select {
		case <-c.more:
		case <-ctx.Done():
			return
		}
		c.mu.Lock()
		state, events := c.state, c.events
		c.state, c.events = nil, nil
		c.mu.Unlock()
		if state != nil {
			events = append(events, state)
		}
		for _, frame := range events {
			// Not ctx: its end would cut the connection off before the last words.
			if err := c.send(frame); err != nil {
				return
			}
		}
	}
}
