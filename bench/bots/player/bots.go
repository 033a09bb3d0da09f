// Package player plays arenad from outside: each bot is a client with a socket of its own, which
// joins and sends what keys it presses, and whose inputs are done when a state acknowledges them.
// It is a driver of sessions of the lab (lab/load/sessions), which keeps the times and the figures.
//
// It is not for the players that a room adds itself (game.World.Bot), nor for checking a server:
// unless Decode is set, it reads of a state only what it acknowledges. It starts no goroutines.
package player

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"dyno/lab/load/sessions"
	"dyno/lab/load/websocket"
	"dyno/services/arena/wire"
)

const (
	perSecond = 60      // commands
	longest   = 1 << 20 // bytes of a server's message
)

// Options are what bots do.
type Options struct {
	URL         string // of the server: http, https, ws or wss
	Room        string // "": any with a place
	Token       string // of Join
	Motion      string
	Subprotocol string  // the best that they offer
	Rate        float64 // packets a second, which share 60 commands
	Decode      bool    // each state, with its hash
}

// Driver opens bots.
type Driver struct {
	o         Options
	url       *url.URL
	perPacket int // commands
}

// New returns a driver of bots.
func New(o Options) (*Driver, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	scheme, ok := map[string]string{"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}[u.Scheme]
	switch {
	case !ok || u.Host == "":
		return nil, fmt.Errorf("%q is no address of a server, such as http://127.0.0.1:8080", o.URL)
	case o.Subprotocol != wire.Bits && o.Subprotocol != wire.Proto:
		return nil, fmt.Errorf("subprotocol %q is neither %s nor %s", o.Subprotocol, wire.Bits, wire.Proto)
	case o.Rate <= 0 || o.Rate > perSecond:
		return nil, fmt.Errorf("a rate of %v packets a second is not above 0 and at most %d", o.Rate, perSecond)
	}
	if _, err := NewMotion(o.Motion, o.Rate, 0); err != nil {
		return nil, err
	}
	u.Scheme = scheme
	if u.Path = strings.TrimSuffix(u.Path, "/"); u.Path == "" {
		u.Path = "/ws"
	}
	return &Driver{o: o, url: u, perPacket: max(1, int(perSecond/o.Rate+0.5))}, nil
}

var errRefused = errors.New("the server refused the Join")

// Open connects the i-th bot and returns when the server has welcomed it.
func (d *Driver) Open(ctx context.Context, i int) (sessions.Session, error) {
	motion, err := NewMotion(d.o.Motion, d.o.Rate, i)
	if err != nil {
		return nil, err
	}
	offered := wire.Proto
	if d.o.Subprotocol == wire.Bits {
		offered = wire.Bits + ", " + wire.Proto // the plain program does not speak the first
	}
	conn, err := websocket.Dial(ctx, d.url, http.Header{"Sec-WebSocket-Protocol": {offered}}, nil, longest)
	if err != nil {
		return nil, err
	}
	b := &bot{driver: d, conn: conn, motion: motion, reader: reader{bits: conn.Subprotocol == wire.Bits, decode: d.o.Decode}}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	err = b.join(&wire.Join{Name: fmt.Sprintf("bot %d", i), Room: d.o.Room, Token: d.o.Token})
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return b, nil
}

// bot is a session.
type bot struct {
	driver *Driver
	conn   *websocket.Conn
	motion *Motion
	input  wire.Input
	frame  wire.ClientFrame
	out    []byte

	reader reader
	ending bool
	bytes  int64 // received
}

func (b *bot) join(j *wire.Join) error {
	message, err := (&wire.ClientFrame{Body: &wire.ClientFrame_Join{Join: j}}).MarshalVT()
	if err != nil {
		return err
	}
	b.conn.QueueBinary(message)
	if err := b.conn.Flush(); err != nil {
		return err
	}
	for {
		message, err := b.conn.Receive()
		if err != nil {
			return err
		}
		got, err := b.reader.read(message)
		switch {
		case err != nil:
			return err
		case got.refusal != "":
			return fmt.Errorf("%w: %s", errRefused, got.refusal)
		case got.welcome:
			return nil
		}
	}
}

// Send sends a packet: its commands, and those of the packet before once more.
func (b *bot) Send(_ context.Context, number uint64) error {
	d := b.driver
	if n := len(b.input.Commands); n > d.perPacket {
		b.input.Commands = append(b.input.Commands[:0], b.input.Commands[n-d.perPacket:]...)
	}
	buttons, aim := b.motion.Next()
	seq := uint32(number-1) * uint32(d.perPacket)
	for range d.perPacket {
		seq++
		b.input.Commands = append(b.input.Commands, &wire.Command{Seq: seq, Buttons: buttons, Aim: aim})
	}
	b.input.Seq, b.input.AckTick = uint32(number), b.reader.tick.Load()
	b.frame.Body = &wire.ClientFrame_Input{Input: &b.input}
	size := b.frame.SizeVT()
	if cap(b.out) < size {
		b.out = make([]byte, size)
	}
	n, err := b.frame.MarshalToSizedBufferVT(b.out[:size])
	if err != nil {
		return err
	}
	b.conn.QueueBinary(b.out[:n])
	return b.conn.Flush()
}

// Receive returns what the next message says.
func (b *bot) Receive(ctx context.Context) (sessions.Received, error) {
	if !b.ending {
		b.ending = true
		context.AfterFunc(ctx, func() { b.conn.Close() })
	}
	message, err := b.conn.Receive()
	if err != nil {
		return sessions.Received{}, err
	}
	got, err := b.reader.read(message)
	if got.refusal != "" {
		err = fmt.Errorf("the server ended the session: %s", got.refusal)
	}
	was := b.bytes
	b.bytes = b.conn.BytesIn()
	out := sessions.Received{Bytes: int(b.bytes - was), Acked: uint64(got.acked) / uint64(b.driver.perPacket)}
	if got.state {
		out.Frames = 1
	}
	return out, err
}

// Close leaves without a word, as a browser does that is closed.
func (b *bot) Close() error { return b.conn.Close() }
